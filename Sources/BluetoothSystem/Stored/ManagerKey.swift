import AppLink
import FoundationEssentials

/// A manager's lasting identity: its restore identifier if it has one, else its number in its app's process.
package struct ManagerKey: Sendable, Hashable, Comparable {
  package var app: String
  package var role: Role
  package var restoreIdentifier: String?
  /// 0 if there is a restore identifier.
  package var number: UInt32

  package init(app: String, role: Role, restoreIdentifier: String?, number: UInt32 = 0) {
    self.app = app
    self.role = role
    self.restoreIdentifier = restoreIdentifier
    self.number = number
  }

  /// As it appears in the names of records.
  var text: String {
    "\(app)\u{1F}\(RoleOnDisk(role).rawValue)\u{1F}\(restoreIdentifier.map { "=" + $0 } ?? "#\(number)")"
  }

  /// Managers without a restore identifier come before those with one.
  package static func < (left: Self, right: Self) -> Bool {
    if left.app != right.app { return left.app < right.app }
    if left.role != right.role { return left.role.rawValue < right.role.rawValue }
    switch (left.restoreIdentifier, right.restoreIdentifier) {
    case (let left?, let right?): return left < right
    case (nil, nil): return left.number < right.number
    case (let left, _): return left == nil
    }
  }
}

extension ManagerKey {
  struct OnDisk: DiskForm {
    var app: String
    var role: RoleOnDisk
    /// Missing: the manager has none, and `number` identifies it.
    var restoreIdentifier: String?
    /// Missing: 0.
    var number: UInt32?

    enum CodingKeys: String, CodingKey {
      case app = "app"
      case role = "role"
      case restoreIdentifier = "restoreIdentifier"
      case number = "number"
    }

    init(_ key: ManagerKey) {
      app = key.app
      role = RoleOnDisk(key.role)
      restoreIdentifier = key.restoreIdentifier
      number = key.number == 0 ? nil : key.number
    }

    var value: ManagerKey {
      ManagerKey(app: app, role: role.value, restoreIdentifier: restoreIdentifier, number: number ?? 0)
    }
  }
}
