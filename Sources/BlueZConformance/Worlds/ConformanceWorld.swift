import SystemBus

package enum MachineName: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  case lock, phone
  var peer: MachineName { self == .lock ? .phone : .lock }
  package var description: String { rawValue }
}

/// The setup of a case's world.
package struct WorldSetup: Sendable, Hashable {
  /// Machines with `Privacy = device` in main.conf.
  package var privateMachines: Set<MachineName>
  /// Machines with `Experimental = true` in main.conf.
  package var experimentalMachines: Set<MachineName>
  /// Machines with a second controller. It is not plugged in at the beginning.
  package var twoControllers: Set<MachineName>
  package init(
    privateMachines: Set<MachineName> = [], experimentalMachines: Set<MachineName> = [],
    twoControllers: Set<MachineName> = []
  ) {
    self.privateMachines = privateMachines
    self.experimentalMachines = experimentalMachines
    self.twoControllers = twoControllers
  }
}

/// What happens to machines from outside their buses.
package enum WorldFault: Sendable, Hashable {
  /// Whether the two machines hear each other.
  case range(Bool)
  /// By SIGTERM or, if `killed`, by SIGKILL. bluetoothd stays away until it is started.
  case stopBluetoothd(MachineName, killed: Bool)
  /// No effect if it is running.
  case startBluetoothd(MachineName)
  /// rfkill, of all the machine's controllers.
  case block(MachineName, Bool)
  /// The controller is unplugged (false) or plugged in.
  case plug(MachineName, Bool)
  /// The same for the second controller of a machine that has one.
  case plugSecond(MachineName, Bool)
  /// A clean shutdown and a boot. Returns when the bus is available again.
  case reboot(MachineName)
}

/// Two machines with org.bluez on their buses, a lock and a phone, and control over their surroundings.
package protocol ConformanceWorld: Sendable {
  /// The implementation of org.bluez, for the transcript's heading.
  var subject: String { get }
  /// How long nothing must happen for a step to be over.
  var quiet: Duration { get }
  /// Makes everything new. Throws if it can't.
  func begin(_ setup: WorldSetup) async throws
  func busAddress(of machine: MachineName) -> BusAddress
  /// Returns when it is done.
  func perform(_ fault: WorldFault) async throws
  func end() async
}

/// A world that does not do what it was told.
package struct WorldFailure: Error, Sendable, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}
