import BluetoothTypes
import ProcessTesting
import Radio
import Testing
import TimeTypes

@testable import Radio

@Suite("Random schedules, each from its seed", .serialized, .ownThread)
struct ScheduleTests {
  private static let names = ["a", "b", "c", "d"].map(ControllerIdentifier.init)

  private static func address(_ controller: ControllerIdentifier) -> DeviceAddress {
    DeviceAddress(bits: UInt64(controller.name.utf8.first ?? 0), kind: .public)
  }

  private static func key(_ controller: ControllerIdentifier) -> IdentityResolvingKey {
    IdentityResolvingKey(high: 7, low: UInt64(controller.name.utf8.first ?? 0))
  }

  /// A random next input from a host or the world.
  private static func input(_ draws: inout RandomDraws, _ links: [LinkIdentifier]) -> RadioInput {
    func pick<Element>(_ elements: [Element]) -> Element { elements[Int(draws.below(Int64(elements.count)))] }
    let (one, other) = (pick(names), pick(names))
    let own: OwnAddress = pick([.fixed(address(one)), .resolvable(key(one))])
    let link = links.isEmpty ? LinkIdentifier(0) : pick(links)
    switch draws.below(16) {
    case 0: return .removeController(one)
    case 1, 2: return .addController(one, at: Position(x: draws.unit() * 60, y: draws.unit() * 60))
    case 3: return .move(one, to: Position(x: draws.unit() * 80, y: draws.unit() * 20))
    case 4:
      return .walk(
        one, to: Position(x: draws.unit() * 150, y: draws.unit() * 20),
        over: .milliseconds(pick([1, 500, 30_000, 100_000])))
    case 5: return .setShielded(one, pick([true, false, false]))
    case 6: return .setPower(one, pick([true, true, false]))
    case 7, 8: return .setAdvertising(one, set: UInt8(draws.below(2)), .of(own, milliseconds: pick([20, 152.5, 1285])))
    case 9: return .setAdvertising(one, set: UInt8(draws.below(2)), nil)
    case 10:
      return .setScan(
        one, pick([nil, .of(30, in: 60, active: true, filtered: true), .of(10, in: 300, filtered: false)]))
    case 11, 12:
      var parameters = InitiatorParameters.to(.address(address(other)), .identity(key(other)))
      parameters.ownAddress = own
      return .setInitiator(one, parameters)
    case 13: return .disconnect(one, link, .localHostTerminated)
    case 14: return .send(one, link, Frame(channel: 4, payload: [UInt8(draws.below(256))]))
    default: return .timePassed
    }
  }

  private static func run(seed: UInt64, radioSeed: UInt64? = nil, check: Bool) -> [RadioWorld.Heard] {
    var draws = RandomDraws(seed, 99)
    var world = RadioWorld(seed: radioSeed ?? seed)
    for name in names { world.put(.addController(name, at: Position(x: draws.unit() * 20, y: draws.unit() * 20))) }
    var hosts = HostsView()
    var seen = 0
    for _ in 0..<150 {
      let input = input(&draws, Array(world.radio.links.keys.sorted()))
      world.put(input)
      if check { hosts.take(world.heard[seen...], then: input, world) }
      seen = world.heard.count
      let end = world.now + .milliseconds(draws.below(3000))
      while let deadline = world.radio.nextDeadline, deadline <= end {
        #expect(deadline > world.now, "a deadline is in the future")
        world.now = deadline
        world.put(.timePassed)
        if check { hosts.take(world.heard[seen...], then: .timePassed, world) }
        seen = world.heard.count
      }
      world.now = end
    }
    return world.heard
  }

  @Test("Hosts learn only what can be true", arguments: 0..<60)
  func invariants(seed: Int) { _ = Self.run(seed: UInt64(seed), check: true) }

  @Test("The same seed gives the same run, another seed another")
  func determinism() {
    let runs = (0..<3).map { _ in Self.run(seed: 5, check: false) }
    #expect(runs[0] == runs[1] && runs[1] == runs[2])
    #expect(runs[0].count > 50)
    #expect(Self.run(seed: 5, radioSeed: 6, check: false) != runs[0])
  }

  @Test("In which order hosts speak at one moment changes nothing for the others", arguments: 0..<20)
  func order(seed: Int) {
    func trace(_ order: [Int]) -> [RadioWorld.Heard] {
      var world = RadioWorld(seed: UInt64(seed))
      for name in Self.names { world.put(.addController(name, at: Position(x: 1, y: Double(name.name.count)))) }
      world.run(for: .seconds(1))
      let inputs: [RadioInput] = [
        .setAdvertising(Self.names[0], set: 0, .of(.fixed(Self.address(Self.names[0])), milliseconds: 30)),
        .setScan(Self.names[1], .of(10, in: 60)), .setScan(Self.names[2], .of(10, in: 60, active: true)),
        .setInitiator(Self.names[3], .to(.address(Self.address(Self.names[0])))),
        .setAdvertising(Self.names[2], set: 0, .of(.resolvable(Self.key(Self.names[2])), milliseconds: 50)),
      ]
      for index in order { world.put(inputs[index]) }
      world.run(for: .seconds(20))
      return world.heard
    }
    let straight = trace([0, 1, 2, 3, 4])
    #expect(straight.count > 20)
    #expect(trace([4, 3, 2, 1, 0]) == straight)
    #expect(trace([2, 0, 4, 1, 3]) == straight)
  }

  @Test("Calling the radio more often than it asks changes nothing")
  func extraCalls() {
    func trace(everyMilliseconds: Int?) -> [RadioOutput] {
      var (world, link) = RadioWorld.linked(physics: RadioPhysics(shadowing: 0, wayShadowing: 0))
      world.put(.addController(ControllerIdentifier("third"), at: Position(x: 3, y: 0)))
      world.put(.setAdvertising(ControllerIdentifier("third"), set: 0, .of(.resolvable(lockKey))))
      world.put(.setScan(phone, .of(10, in: 100, filtered: false)))
      world.put(.move(phone, to: Position(x: 33, y: 0)))
      world.put(.send(phone, link, Frame(channel: 4, payload: [1])))
      for _ in 0..<1000 {
        world.run(for: .milliseconds(77))
        if everyMilliseconds != nil { world.put(.timePassed) }
      }
      return world.heard.map(\.output)
    }
    #expect(trace(everyMilliseconds: nil) == trace(everyMilliseconds: 77))
  }
}

/// What hosts may conclude from what they learned, checked for consistency.
private struct HostsView {
  private var openEnds: [ControllerIdentifier: Set<LinkIdentifier>] = [:]
  private var everOpened: [LinkIdentifier: Set<ControllerIdentifier>] = [:]

  mutating func take(_ heard: ArraySlice<RadioWorld.Heard>, then input: RadioInput, _ world: RadioWorld) {
    for item in heard {
      let controller = item.output.controller
      if case .refused = item.output.event { continue }
      // Outputs of a call happened before the input of that call.
      switch item.output.event {
      case .connected(let link):
        #expect(openEnds[controller, default: []].insert(link.link).inserted)
        everOpened[link.link, default: []].insert(controller)
        #expect(link.ownAddress != link.peerAddress)
      case .disconnected(let link, _):
        #expect(openEnds[controller, default: []].remove(link) != nil, "an end that was not open has ended")
      case .received(let link, _):
        #expect(openEnds[controller, default: []].contains(link), "a frame on a link that is not there")
      case .advertisement(let report):
        #expect(report.data.count <= 31 && report.rssi < 0)
      case .refused: break
      }
    }
    switch input {
    case .setPower(let controller, false), .removeController(let controller): openEnds[controller] = []
    default: break
    }
    for ends in everOpened.values { #expect(ends.count == 2, "a link has two ends") }
    for (identifier, link) in world.radio.links {
      #expect(!link.isOver)
      for end in [link.central, link.peripheral] where end.isOpen {
        #expect(openEnds[end.controller, default: []].contains(identifier))
      }
    }
    for (controller, links) in openEnds {
      #expect(links.isEmpty || world.radio.controllers[controller]?.isPowered == true)
      for link in links { #expect(world.radio.links[link] != nil) }
    }
    if let deadline = world.radio.nextDeadline { #expect(deadline > world.now) }
  }
}
