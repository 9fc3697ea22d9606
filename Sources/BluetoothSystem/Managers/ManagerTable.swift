import AppLink

/// All managers, and their keys in order. Those that a process has, that scan, that watch connections or that publish services
/// are found without looking at the others.
struct ManagerTable: Sendable {
  private var all: [ManagerKey: Manager] = [:]
  /// All keys, in order.
  private(set) var keys: [ManagerKey] = []
  private var central: [ManagerKey] = []
  private var peripheral: [ManagerKey] = []

  /// The managers that have a number in their app's process, in order.
  private(set) var numbered: [ManagerKey] = []
  /// In order.
  private(set) var scanning: [ManagerKey] = []
  /// The managers that watch the connections of peripherals, in order.
  private(set) var watching: [ManagerKey] = []
  /// The managers that publish services, in order.
  private(set) var serving: [ManagerKey] = []

  /// What the lists above say about a manager.
  private struct Mark: Equatable {
    var isThere = false
    var isNumbered = false
    var isScanning = false
    var isWatching = false
    var isServing = false

    init(_ manager: Manager?) {
      guard let manager else { return }
      isThere = true
      isNumbered = manager.number != nil
      isScanning = manager.scan != nil
      isWatching = manager.watched != nil
      isServing = !manager.services.isEmpty
    }
  }

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
      let before = Mark(all[key])
      defer { note(key, before) }
      yield &all[key]
    }
  }

  private mutating func note(_ key: ManagerKey, _ before: Mark) {
    let after = Mark(all[key])
    guard after != before else { return }
    if after.isThere != before.isThere { sortKeys() }
    Self.list(key, in: &numbered, after.isNumbered)
    Self.list(key, in: &scanning, after.isScanning)
    Self.list(key, in: &watching, after.isWatching)
    Self.list(key, in: &serving, after.isServing)
  }

  private static func list(_ key: ManagerKey, in list: inout [ManagerKey], _ belongs: Bool) {
    let index = list.firstIndex { $0 >= key } ?? list.endIndex
    let isListed = index < list.endIndex && list[index] == key
    if belongs, !isListed { list.insert(key, at: index) }
    if !belongs, isListed { list.remove(at: index) }
  }

  private mutating func sortKeys() {
    keys = all.keys.sorted()
    central = keys.filter { $0.role == .central }
    peripheral = keys.filter { $0.role == .peripheral }
  }
}
