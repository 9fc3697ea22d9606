/// A machine of the world.
package struct MachineDescription: Sendable, Equatable {
  package var name: String
  package var position: Place
  package var apps: [InstalledApp]
  /// Its addresses on the air are resolvable private addresses (`Privacy = device`).
  package var hasPrivateAddresses: Bool
  /// Its agent and the locks know each other when the story begins.
  package var isEnrolled: Bool
  /// The machines with the locks at which it is enrolled when the story begins, or `nil` for all locks.
  package var enrolledAt: [String]?

  package init(
    name: String, position: Place, apps: [InstalledApp], hasPrivateAddresses: Bool = false, isEnrolled: Bool = true,
    enrolledAt: [String]? = nil
  ) {
    self.name = name
    self.position = position
    self.apps = apps
    self.hasPrivateAddresses = hasPrivateAddresses
    self.isEnrolled = isEnrolled
    self.enrolledAt = enrolledAt
  }

  /// Whether its agent may ever have a key of this door. A phone without a list may, because it can be introduced or
  /// invited later.
  package func mayKnow(_ door: String) -> Bool { enrolledAt?.contains(door) ?? true }
}

/// A place in the world, in metres.
package struct Place: Sendable, Equatable, CustomStringConvertible {
  package var x: Double
  package var y: Double
  package init(x: Double, y: Double) {
    self.x = x
    self.y = y
  }
  package var description: String { "\(x) m, \(y) m" }
}

/// Why a machine moves, if promises must know.
package enum Occasion: String, Sendable, CaseIterable {
  case departure
  case arrival
}
