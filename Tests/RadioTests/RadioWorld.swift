import BluetoothTypes
import Radio
import TimeTypes

/// A radio and the clock that drives it, for tests: each output with its time.
struct RadioWorld {
  struct Heard: Hashable {
    let time: Instant
    let output: RadioOutput
  }

  var radio: Radio
  var now = Instant.zero
  var heard: [Heard] = []
  /// How often the radio asked to be called and was.
  var deadlineCount = 0

  init(seed: UInt64 = 1, physics: RadioPhysics = RadioPhysics()) { radio = Radio(seed: seed, physics: physics) }

  /// Every packet arrives.
  static let clear = RadioPhysics.clear

  @discardableResult
  mutating func put(_ input: RadioInput) -> [RadioOutput.Event] {
    let outputs = radio.handle(input, at: now)
    heard += outputs.map { Heard(time: now, output: $0) }
    return outputs.map(\.event)
  }

  /// Moves the time, from deadline to deadline, as a host of the radio does.
  mutating func run(until end: Instant, stopWhen: (RadioWorld) -> Bool = { _ in false }) {
    while let deadline = radio.nextDeadline, deadline <= end, !stopWhen(self) {
      precondition(deadline > now, "a deadline in the past")
      now = deadline
      deadlineCount += 1
      put(.timePassed)
    }
    if !stopWhen(self) { now = end }
  }

  mutating func run(for duration: Duration) { run(until: now + duration) }

  func events(of controller: ControllerIdentifier) -> [RadioOutput.Event] {
    heard.map(\.output).filter { $0.controller == controller }.map(\.event)
  }

  func reports(to controller: ControllerIdentifier) -> [AdvertisementReport] {
    events(of: controller).compactMap { if case .advertisement(let report) = $0 { report } else { nil } }
  }

  func links(of controller: ControllerIdentifier) -> [LinkParameters] {
    events(of: controller).compactMap { if case .connected(let link) = $0 { link } else { nil } }
  }

  func disconnections(of controller: ControllerIdentifier) -> [(time: Instant, reason: DisconnectReason)] {
    heard.compactMap { heard in
      guard heard.output.controller == controller, case .disconnected(_, let reason) = heard.output.event else {
        return nil
      }
      return (heard.time, reason)
    }
  }

  func frames(to controller: ControllerIdentifier) -> [[UInt8]] {
    events(of: controller).compactMap { if case .received(_, let frame) = $0 { frame.payload } else { nil } }
  }
}

let lock = ControllerIdentifier("lock")
let phone = ControllerIdentifier("phone")
let lockAddress = DeviceAddress(bits: 0xC0FF_EE00_0001, kind: .public)
let phoneAddress = DeviceAddress(bits: 0xC0FF_EE00_0002, kind: .public)
let lockKey = IdentityResolvingKey(high: 1, low: 2)

extension AdvertisingParameters {
  static func of(
    _ address: OwnAddress = .fixed(lockAddress), milliseconds: Double = 100, data: [UInt8] = [2, 1, 6],
    scanResponse: [UInt8] = []
  ) -> Self {
    AdvertisingParameters(
      ownAddress: address, data: data, scanResponse: scanResponse, interval: .microseconds(Int(milliseconds * 1000)))
  }
}

extension ScanParameters {
  static func of(_ window: Int = 60, in interval: Int = 60, active: Bool = false, filtered: Bool = false) -> Self {
    ScanParameters(
      interval: .milliseconds(interval), window: .milliseconds(window), isActive: active, filtersDuplicates: filtered)
  }
}

extension InitiatorParameters {
  static func to(_ targets: InitiatorTarget..., window: Int = 30, in interval: Int = 60) -> Self {
    InitiatorParameters(
      targets: Set(targets), ownAddress: .fixed(phoneAddress), scanInterval: .milliseconds(interval),
      scanWindow: .milliseconds(window))
  }
}

extension RadioWorld {
  /// A lock and a phone `metres` apart.
  static func pair(
    metres: Double = 2, seed: UInt64 = 1, physics: RadioPhysics = RadioWorld.clear
  ) -> RadioWorld {
    var world = RadioWorld(seed: seed, physics: physics)
    world.put(.addController(lock, at: Position(x: 0, y: 0)))
    world.put(.addController(phone, at: Position(x: metres, y: 0)))
    return world
  }

  /// The same, connected.
  static func linked(seed: UInt64 = 1, physics: RadioPhysics = RadioWorld.clear) -> (RadioWorld, LinkIdentifier) {
    var world = pair(seed: seed, physics: physics)
    world.put(.setAdvertising(lock, set: 0, .of()))
    world.put(.setInitiator(phone, .to(.address(lockAddress))))
    world.run(until: .zero + .seconds(60)) { !$0.links(of: phone).isEmpty }
    guard let link = world.links(of: phone).first?.link else { preconditionFailure("no link within a minute") }
    world.run(for: .seconds(1))
    return (world, link)
  }
}
