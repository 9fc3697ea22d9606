import BluetoothTypes

/// One Bluetooth controller in the world, identified by its machine's name.
package struct ControllerIdentifier: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  package let name: String
  package init(_ name: String) { self.name = name }
  package var description: String { name }
  package static func < (left: Self, right: Self) -> Bool { left.name < right.name }
}

/// A place in the world, in metres.
package struct Position: Sendable, Hashable, Codable {
  package var x: Double
  package var y: Double
  package init(x: Double, y: Double) {
    self.x = x
    self.y = y
  }
}

/// One link between two controllers. The identifier is never reused.
package struct LinkIdentifier: Sendable, Hashable, Comparable, Codable {
  package let rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// What happens to the radio: inputs from the world, and from each controller's host. Invalid input (an unknown
/// controller or link, an advertisement that is too long) is answered by `RadioOutput.Event.refused` and changes
/// nothing.
package enum RadioInput: Sendable, Hashable {
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
package struct Frame: Sendable, Hashable {
  /// The channel of the attribute protocol.
  package static let attributes: UInt16 = 4
  package var channel: UInt16
  package var payload: [UInt8]
  package init(channel: UInt16, payload: [UInt8]) {
    self.channel = channel
    self.payload = payload
  }
}

/// The address that an advertiser uses.
package enum OwnAddress: Sendable, Hashable {
  case fixed(DeviceAddress)
  /// A resolvable private address that changes every `ResolvableAddress.rotation`.
  case resolvable(IdentityResolvingKey)

  var isResolvable: Bool { if case .resolvable = self { true } else { false } }
}

package struct AdvertisingParameters: Sendable, Hashable {
  package var ownAddress: OwnAddress
  /// AD structures, at most 31 bytes each.
  package var data: [UInt8]
  package var scanResponse: [UInt8]
  /// 20 ms to 10.24 s. Each event comes up to 10 ms later, at random (Vol 6, Part B, 4.4.2.2.1).
  package var interval: Duration
  package var isConnectable: Bool
  package init(
    ownAddress: OwnAddress, data: [UInt8], scanResponse: [UInt8] = [], interval: Duration, isConnectable: Bool = true
  ) {
    self.ownAddress = ownAddress
    self.data = data
    self.scanResponse = scanResponse
    self.interval = interval
    self.isConnectable = isConnectable
  }
}

package struct ScanParameters: Sendable, Hashable {
  package var interval: Duration
  package var window: Duration
  /// Requests scan responses.
  package var isActive: Bool
  /// Reports each advertiser and content once during this scan.
  package var filtersDuplicates: Bool
  package init(interval: Duration, window: Duration, isActive: Bool, filtersDuplicates: Bool) {
    self.interval = interval
    self.window = window
    self.isActive = isActive
    self.filtersDuplicates = filtersDuplicates
  }
}

/// The devices that an initiator looks for.
package enum InitiatorTarget: Sendable, Hashable {
  case address(DeviceAddress)
  /// Any resolvable private address of this key.
  case identity(IdentityResolvingKey)
}

package struct InitiatorParameters: Sendable, Hashable {
  package var targets: Set<InitiatorTarget>
  package var ownAddress: OwnAddress
  package var scanInterval: Duration
  package var scanWindow: Duration
  package var connectionInterval: Duration
  package var supervisionTimeout: Duration
  package init(
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
