import BluetoothTypes

/// One Bluetooth controller in the world, identified by its machine's name.
public struct ControllerIdentifier: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  public let name: String
  public init(_ name: String) { self.name = name }
  public var description: String { name }
  public static func < (left: Self, right: Self) -> Bool { left.name < right.name }
}

/// A place in the world, in metres.
public struct Position: Sendable, Hashable, Codable {
  public var x: Double
  public var y: Double
  public init(x: Double, y: Double) {
    self.x = x
    self.y = y
  }
}

/// One link between two controllers. The identifier is never reused.
public struct LinkIdentifier: Sendable, Hashable, Comparable, Codable {
  public let rawValue: UInt64
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// What happens to the radio: inputs from the world, and from each controller's host. Invalid input (an unknown
/// controller or link, an advertisement that is too long) is answered by `RadioOutput.Event.refused` and changes
/// nothing.
public enum RadioInput: Sendable, Hashable {
  // The world
  case addController(ControllerIdentifier, at: Position)
  /// Unplugged. Its links drop, and the peers notice by their supervision timeouts.
  case removeController(ControllerIdentifier)
  /// Puts it there in an instant. This ends a walk.
  case move(ControllerIdentifier, to: Position)
  /// Carries it there on foot: a straight line at constant speed from where it is now, for at least a nanosecond. The
  /// walk continues under a shield and without power. A `move` ends it, and another walk begins at the place reached.
  case walk(ControllerIdentifier, to: Position, over: Duration)
  /// Shielded: it neither receives nor is received.
  case setShielded(ControllerIdentifier, Bool)
  /// Off: advertising, scanning, initiating and links end. They do not resume when it is on again.
  case setPower(ControllerIdentifier, Bool)

  // A host's commands to its controller
  case setAdvertising(ControllerIdentifier, set: UInt8, AdvertisingParameters?)
  case setScan(ControllerIdentifier, ScanParameters?)
  /// Connects to the first connectable advertiser heard that matches one of the targets. `nil` or an empty set stops.
  case setInitiator(ControllerIdentifier, InitiatorParameters?)
  case disconnect(ControllerIdentifier, LinkIdentifier, DisconnectReason)
  case send(ControllerIdentifier, LinkIdentifier, Frame)

  /// Only time has passed: handles what is due by now.
  case timePassed
}

/// An L2CAP frame on a fixed channel (Bluetooth Core, Vol 3, Part A, 2.1): 0x0004 is ATT, 0x0006 the Security Manager.
/// Channel 0 stands in for link layer control, which real hosts reach by HCI (encryption start and change).
public struct Frame: Sendable, Hashable {
  public var channel: UInt16
  public var payload: [UInt8]
  public init(channel: UInt16, payload: [UInt8]) {
    self.channel = channel
    self.payload = payload
  }
}

/// The address that an advertiser uses.
public enum OwnAddress: Sendable, Hashable {
  case fixed(DeviceAddress)
  /// A resolvable private address that changes every `ResolvableAddress.rotation`.
  case resolvable(IdentityResolvingKey)
}

public struct AdvertisingParameters: Sendable, Hashable {
  public var ownAddress: OwnAddress
  /// AD structures, at most 31 bytes each.
  public var data: [UInt8]
  public var scanResponse: [UInt8]
  /// 20 ms to 10.24 s. Each event comes up to 10 ms later, at random (Vol 6, Part B, 4.4.2.2.1).
  public var interval: Duration
  public var isConnectable: Bool
  public init(
    ownAddress: OwnAddress, data: [UInt8], scanResponse: [UInt8] = [], interval: Duration, isConnectable: Bool = true
  ) {
    self.ownAddress = ownAddress
    self.data = data
    self.scanResponse = scanResponse
    self.interval = interval
    self.isConnectable = isConnectable
  }
}

public struct ScanParameters: Sendable, Hashable {
  public var interval: Duration
  public var window: Duration
  /// Requests scan responses.
  public var isActive: Bool
  /// Reports each advertiser and content once during this scan.
  public var filtersDuplicates: Bool
  public init(interval: Duration, window: Duration, isActive: Bool, filtersDuplicates: Bool) {
    self.interval = interval
    self.window = window
    self.isActive = isActive
    self.filtersDuplicates = filtersDuplicates
  }
}

/// The devices that an initiator looks for.
public enum InitiatorTarget: Sendable, Hashable {
  case address(DeviceAddress)
  /// Any resolvable private address of this key.
  case identity(IdentityResolvingKey)
}

public struct InitiatorParameters: Sendable, Hashable {
  public var targets: Set<InitiatorTarget>
  public var ownAddress: OwnAddress
  public var scanInterval: Duration
  public var scanWindow: Duration
  public var connectionInterval: Duration
  public var supervisionTimeout: Duration
  public init(
    targets: Set<InitiatorTarget>, ownAddress: OwnAddress, scanInterval: Duration = .milliseconds(60),
    scanWindow: Duration = .milliseconds(30), connectionInterval: Duration = .milliseconds(50),
    supervisionTimeout: Duration = .milliseconds(420)
  ) {
    self.targets = targets
    self.ownAddress = ownAddress
    self.scanInterval = scanInterval
    self.scanWindow = scanWindow
    self.connectionInterval = connectionInterval
    self.supervisionTimeout = supervisionTimeout
  }
}
