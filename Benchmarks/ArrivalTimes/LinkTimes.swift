import BluetoothTypes
import Radio
import TimeTypes

/// How long a phone takes to have a link, from the moment when it and the lock can hear each other.
///
/// It goes as the kernel does it with a device on its accept list: a passive scan hears an advertisement, and then an
/// initiator, which listens all the time, hears another.
package struct LinkTimes: Sendable {
  private static let door = ControllerIdentifier("door")
  private static let phone = ControllerIdentifier("phone")
  private static let doorAddress = DeviceAddress(bits: 0xC0FF_EE00_0001, kind: .public)
  private static let phoneAddress = DeviceAddress(bits: 0xC0FF_EE00_0002, kind: .public)
  private static let scanInterval: Duration = .milliseconds(60)

  /// - Parameters:
  ///   - advertising: the lock's advertising interval.
  ///   - scanWindow: how much of each 60 ms the phone's accept-list scan listens.
  /// - Returns: the time, or `nil` if there is no link after a minute.
  package static func one(seed: UInt64, advertising: Duration, scanWindow: Duration) -> Duration? {
    var radio = Radio(seed: seed)
    var now = Instant.zero
    var linked: Instant?
    var hasHeard = false

    func put(_ input: RadioInput) {
      for output in radio.handle(input, at: now) where output.controller == phone {
        switch output.event {
        case .advertisement where !hasHeard:
          hasHeard = true
          put(.setScan(phone, nil))
          put(
            .setInitiator(
              phone,
              InitiatorParameters(
                targets: [.address(doorAddress)], ownAddress: .fixed(phoneAddress), scanInterval: scanInterval,
                scanWindow: scanInterval)))
        case .connected: linked = linked ?? now
        default: break
        }
      }
    }
    func run(until end: Instant) {
      while linked == nil, let next = radio.nextDeadline, next <= end {
        now = max(now, next)
        put(.timePassed)
      }
      now = max(now, end)
    }

    put(.addController(door, at: Position(x: 0, y: 0)))
    put(.addController(phone, at: Position(x: 5, y: 0)))
    put(.setPower(door, true))
    put(.setPower(phone, true))
    put(.setShielded(phone, true))
    put(
      .setAdvertising(
        door, set: 1,
        AdvertisingParameters(ownAddress: .fixed(doorAddress), data: [2, 1, 6], interval: advertising)))
    put(
      .setScan(
        phone,
        ScanParameters(interval: scanInterval, window: scanWindow, isActive: false, filtersDuplicates: false)))
    // The time differs for each seed, so that every phase of the two occurs.
    run(until: now + .microseconds(Int64(seed &* 7919 % 5_000_000)))
    let begin = now
    put(.setShielded(phone, false))
    run(until: begin + .seconds(60))
    return linked.map { $0 - begin }
  }
}
