import SystemBus

public enum MachineName: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  case lock, phone
  var peer: MachineName { self == .lock ? .phone : .lock }
  public var description: String { rawValue }
}

/// How a case's world begins.
public struct WorldSetup: Sendable, Hashable {
  /// Machines whose main.conf says `Privacy = device`.
  public var privateMachines: Set<MachineName>
  /// Machines whose main.conf says `Experimental = true`.
  public var experimentalMachines: Set<MachineName>
  public init(privateMachines: Set<MachineName> = [], experimentalMachines: Set<MachineName> = []) {
    self.privateMachines = privateMachines
    self.experimentalMachines = experimentalMachines
  }
}

/// What happens to machines from outside of their buses.
public enum WorldFault: Sendable, Hashable {
  /// The two hear each other, or do not.
  case range(Bool)
  /// By SIGTERM, or killed by SIGKILL. It stays away until it is started.
  case stopBluetoothd(MachineName, killed: Bool)
  /// Nothing where it runs.
  case startBluetoothd(MachineName)
  /// rfkill.
  case block(MachineName, Bool)
  /// The controller leaves its socket (false) or comes back.
  case plug(MachineName, Bool)
  /// A clean shutdown and a boot; returns when the bus can be had again.
  case reboot(MachineName)
}

/// Two machines with org.bluez on their buses, a lock and a phone, and power over what is around them.
public protocol ConformanceWorld: Sendable {
  /// Who serves org.bluez, for the transcript's head.
  var subject: String { get }
  /// How long nothing must happen for a step to be over.
  var quiet: Duration { get }
  /// Makes all new. Throws where it can't.
  func begin(_ setup: WorldSetup) async throws
  func busAddress(of machine: MachineName) -> BusAddress
  /// Returns when it is done.
  func perform(_ fault: WorldFault) async throws
  func end() async
}

/// A world that does not do what it was told.
public struct WorldFailure: Error, Sendable, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}
