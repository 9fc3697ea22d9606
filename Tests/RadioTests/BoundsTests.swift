import BluetoothTypes
import Testing
import TimeTypes

@testable import Radio

@Suite("Commands that make no sense are refused and change nothing")
struct BoundsTests {
  private static let ghost = ControllerIdentifier("ghost")
  private static let long = [UInt8](repeating: 0, count: 32)

  private static var badInitiators: [InitiatorParameters] {
    var shortInterval = InitiatorParameters.to(.address(lockAddress))
    shortInterval.connectionInterval = .milliseconds(7)
    var longInterval = shortInterval
    longInterval.connectionInterval = .seconds(5)
    var shortTimeout = InitiatorParameters.to(.address(lockAddress))
    shortTimeout.supervisionTimeout = .milliseconds(100)
    var longTimeout = shortTimeout
    longTimeout.supervisionTimeout = .seconds(33)
    var many = InitiatorParameters.to(.address(lockAddress))
    many.targets = Set((0..<8193).map { .address(DeviceAddress(bits: $0, kind: .public)) })
    return [
      shortInterval, longInterval, shortTimeout, longTimeout, many, .to(.address(lockAddress), window: 70, in: 60),
    ]
  }

  private static var inputs: [RadioInput] {
    [
      .addController(lock, at: Position(x: 0, y: 0)),
      .addController(ControllerIdentifier(""), at: Position(x: 0, y: 0)),
      .addController(ghost, at: Position(x: .nan, y: 0)), .addController(ghost, at: Position(x: .infinity, y: 0)),
      .removeController(ghost), .move(ghost, to: Position(x: 0, y: 0)), .move(lock, to: Position(x: 0, y: .nan)),
      .setShielded(ghost, true), .setPower(ghost, true),
      .setAdvertising(ghost, set: 0, .of()), .setAdvertising(lock, set: 0, .of(data: long)),
      .setAdvertising(lock, set: 0, .of(scanResponse: long)), .setAdvertising(lock, set: 0, .of(milliseconds: 19.9)),
      .setAdvertising(lock, set: 0, .of(milliseconds: 10241)), .setAdvertising(lock, set: 0, .of(milliseconds: -5)),
      .setScan(ghost, .of()), .setScan(ghost, nil), .setScan(lock, .of(61, in: 60)), .setScan(lock, .of(2, in: 60)),
      .setScan(lock, .of(0, in: 0)), .setScan(lock, .of(60, in: 11000)),
      .disconnect(phone, LinkIdentifier(99), .localHostTerminated),
      .send(phone, LinkIdentifier(99), Frame(channel: 4, payload: [])),
    ] + badInitiators.map { .setInitiator(phone, $0) }
  }

  @Test("Each of them", arguments: inputs)
  func refused(input: RadioInput) {
    var (world, link) = RadioWorld.linked()
    world.put(.send(phone, link, Frame(channel: 4, payload: [1])))
    var untouched = world
    guard let event = world.put(input).first, case .refused(let reason) = event else {
      Issue.record("\(input) was taken")
      return
    }
    #expect(!reason.isEmpty)
    world.heard.removeLast()
    world.run(for: .seconds(10))
    untouched.run(for: .seconds(10))
    #expect(world.heard == untouched.heard)
  }

  @Test("On a link: another's link, a frame that is too long, too many frames, an end no host can give")
  func links() {
    var (world, link) = RadioWorld.linked()
    world.put(.addController(Self.ghost, at: Position(x: 1, y: 1)))
    func isRefused(_ events: [RadioOutput.Event]) -> Bool {
      if case .refused? = events.first { true } else { false }
    }
    #expect(isRefused(world.put(.send(Self.ghost, link, Frame(channel: 4, payload: [])))))
    #expect(isRefused(world.put(.disconnect(Self.ghost, link, .localHostTerminated))))
    #expect(isRefused(world.put(.disconnect(phone, link, .connectionTimeout))))
    let long = Frame(channel: 4, payload: [UInt8](repeating: 0, count: Radio.frameLimit + 1))
    #expect(isRefused(world.put(.send(phone, link, long))))
    for _ in 0..<Radio.queueLimit {
      #expect(!isRefused(world.put(.send(phone, link, Frame(channel: 4, payload: [1])))))
    }
    #expect(isRefused(world.put(.send(phone, link, Frame(channel: 4, payload: [1])))))
  }

  @Test("A controller that is off takes no commands, but stopping is always possible")
  func off() {
    var world = RadioWorld.pair()
    world.put(.setPower(phone, false))
    #expect(world.put(.setScan(phone, .of())) == [.refused("the controller is off")])
    #expect(world.put(.setAdvertising(phone, set: 1, .of())) == [.refused("the controller is off")])
    #expect(world.put(.setInitiator(phone, .to(.address(lockAddress)))) == [.refused("the controller is off")])
    #expect(world.put(.setScan(phone, nil)).isEmpty)
    #expect(world.put(.setAdvertising(phone, set: 1, nil)).isEmpty)
    #expect(world.put(.setInitiator(phone, nil)).isEmpty)
    #expect(world.put(.setPower(phone, false)).isEmpty)
  }
}
