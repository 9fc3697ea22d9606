import BluetoothTypes
import Timekeeping

/// One controller: where it is and what its host told it to do.
struct Controller: Sendable {
  /// Its name as a number, for random sequences.
  let number: UInt64
  var position: Position
  var isShielded = false
  var isPowered = true
  var advertisingSets: [UInt8: AdvertisingSet] = [:]
  var scanner: Scanner?
  var initiator: Initiator?

  init(_ identifier: ControllerIdentifier, at position: Position) {
    number = RandomDraws.number(of: identifier.name)
    self.position = position
  }

  /// Whether it can hear and be heard at all.
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

extension Radio {
  /// The mean strength at which two controllers hear each other, in dBm; `nil` where they don't.
  func signal(between one: ControllerIdentifier, and other: ControllerIdentifier) -> Double? {
    guard one != other, let first = controllers[one], let second = controllers[other], first.isOnAir, second.isOnAir
    else { return nil }
    let x = first.position.x - second.position.x
    let y = first.position.y - second.position.y
    // The same for both directions.
    let numbers = (min(first.number, second.number), max(first.number, second.number))
    var draws = RandomDraws(seed, DrawPurpose.shadowing, numbers.0, numbers.1)
    let signal = physics.signal(over: (x * x + y * y).squareRoot(), shadow: draws.bell())
    return physics.reaches(signal) ? signal : nil
  }
}
