import AppLink

/// All managers, and their keys in order.
struct ManagerTable: Sendable {
  private var all: [ManagerKey: Manager] = [:]
  /// All keys, in order.
  private(set) var keys: [ManagerKey] = []
  private var central: [ManagerKey] = []
  private var peripheral: [ManagerKey] = []

  var count: Int { all.count }
  var values: some Collection<Manager> { all.values }

  /// The keys of the managers of one role, in order.
  func keys(_ role: Role) -> [ManagerKey] {
    switch role {
    case .central: central
    case .peripheral: peripheral
    }
  }

  subscript(key: ManagerKey) -> Manager? {
    get { all[key] }
    _modify {
      let wasThere = all[key] != nil
      defer { if wasThere != (all[key] != nil) { sortKeys() } }
      yield &all[key]
    }
  }

  private mutating func sortKeys() {
    keys = all.keys.sorted()
    central = keys.filter { $0.role == .central }
    peripheral = keys.filter { $0.role == .peripheral }
  }
}
