import BluetoothTypes
import TimeTypes

/// One controller: its position, and what its host told it to do.
struct Controller: Sendable {
  /// Its name as a number, for random sequences.
  let number: UInt64
  var motion: Motion
  var isShielded = false
  var isPowered = true
  var advertisingSets: [UInt8: AdvertisingSet] = [:]
  var scanner: Scanner?
  var initiator: Initiator?
  var manners = Manners()

  init(_ identifier: ControllerIdentifier, at position: Position, now: Instant) {
    number = RandomDraws.number(of: identifier.name)
    motion = Motion(at: position, now: now.nanoseconds)
  }

  /// Whether it can send and receive at all.
  var isOnAir: Bool { isPowered && !isShielded }

  mutating func powerOff() {
    isPowered = false
    advertisingSets = [:]
    scanner = nil
    initiator = nil
  }
}

extension OwnAddress {
  func address(at now: Instant) -> DeviceAddress {
    switch self {
    case .fixed(let address): address
    case .resolvable(let key): ResolvableAddress.address(of: key, at: now)
    }
  }
}
