import BluetoothTypes
import ProcessTesting
import Testing
import TimeTypes

@testable import Radio

@Suite("Walking", .serialized, .ownThread)
struct WalkTests {
  private static let third = ControllerIdentifier("third")

  @Test(
    "A walk is straight and even, and ends on time; the place doesn't depend on when it is read")
  func line() {
    for step in [1, 8, 100, 10_000] {
      var world = RadioWorld.pair()
      world.put(.move(phone, to: Position(x: 40, y: -30)))
      world.put(.walk(phone, to: Position(x: 0, y: 10), over: .seconds(40)))
      for _ in 0..<(20_000 / step) {
        world.now += .milliseconds(step)
        world.put(.timePassed)
      }
      #expect(world.radio.position(of: phone) == Position(x: 20, y: -10), "asked every \(step) ms")
      world.run(for: .seconds(20))
      world.put(.timePassed)
      #expect(world.radio.position(of: phone) == Position(x: 0, y: 10))
      world.run(for: .seconds(5000))
      world.put(.timePassed)
      #expect(world.radio.position(of: phone) == Position(x: 0, y: 10))
    }
  }

  @Test("Another walk begins where the first has come to, a move ends it, and a shield and a lost power don't")
  func interrupted() {
    var world = RadioWorld.pair()
    world.put(.move(phone, to: Position(x: 100, y: 0)))
    world.put(.walk(phone, to: Position(x: 0, y: 0), over: .seconds(100)))
    world.run(for: .seconds(50))
    world.put(.walk(phone, to: Position(x: 50, y: 20), over: .seconds(10)))
    world.run(for: .seconds(5))
    world.put(.setShielded(phone, true))
    #expect(world.radio.position(of: phone) == Position(x: 50, y: 10))
    world.run(for: .seconds(2.5))
    world.put(.setPower(phone, false))
    #expect(world.radio.position(of: phone) == Position(x: 50, y: 15))
    world.run(for: .seconds(50))
    world.put(.timePassed)
    #expect(world.radio.position(of: phone) == Position(x: 50, y: 20))
    world.put(.walk(phone, to: Position(x: 0, y: 0), over: .seconds(10)))
    world.run(for: .seconds(1))
    world.put(.move(phone, to: Position(x: 3, y: 4)))
    world.run(for: .seconds(5))
    world.put(.timePassed)
    #expect(world.radio.position(of: phone) == Position(x: 3, y: 4))
    #expect(world.radio.position(of: ControllerIdentifier("nobody")) == nil)
  }

  @Test("A walk into range connects when the advertiser comes within hearing, and one out of it ends the link")
  func comingAndGoing() throws {
    var world = RadioWorld.pair(metres: 400, physics: RadioPhysics.clear)
    world.put(.setAdvertising(lock, set: 0, .of(milliseconds: 20)))
    world.put(.setInitiator(phone, .to(.address(lockAddress), window: 60, in: 60)))
    #expect(world.radio.nextDeadline == nil)
    // Reception ends at the distance at which the signal falls below the sensitivity: 10 ** (35 / 22) = 39 m.
    world.put(.walk(phone, to: Position(x: 0, y: 0), over: .seconds(400)))
    world.run(for: .seconds(360))
    #expect(world.links(of: phone).isEmpty)
    world.run(for: .seconds(2))
    let link = try #require(world.links(of: phone).first?.link)
    let first = try #require(world.radio.rssi(of: link, at: phone))
    #expect(first <= -92)
    world.run(for: .seconds(37))
    world.put(.timePassed)
    #expect(try #require(world.radio.rssi(of: link, at: phone)) == -59)
    world.put(.walk(phone, to: Position(x: 101, y: 0), over: .seconds(100)))
    world.run(for: .seconds(38))
    #expect(world.disconnections(of: lock).isEmpty)
    world.run(for: .seconds(2))
    #expect(world.disconnections(of: lock).map(\.reason) == [.connectionTimeout])
    #expect(world.disconnections(of: phone).map(\.reason) == [.connectionTimeout])
  }

  @Test("Walkers out of all ranges, and those who have arrived, cost nothing")
  func cost() {
    var world = RadioWorld.pair(metres: 5000, physics: RadioPhysics())
    world.put(.setAdvertising(lock, set: 0, .of(.resolvable(lockKey))))
    world.put(.setScan(phone, .of()))
    world.put(.setInitiator(phone, .to(.identity(lockKey))))
    world.put(.walk(phone, to: Position(x: 1000, y: 3000), over: .seconds(7200)))
    #expect(world.radio.nextDeadline == nil)
    world.run(for: .seconds(7200))
    world.put(.setScan(phone, nil))
    world.put(.walk(phone, to: Position(x: 1, y: 0), over: .seconds(2300)))
    world.run(for: .seconds(2300))
    #expect(world.links(of: phone).count == 1)
    world.run(for: .seconds(1))
    world.deadlineCount = 0
    world.run(for: .seconds(5 * 86400))
    #expect(world.radio.nextDeadline == nil && world.deadlineCount == 0)
    // A link that is safe for the whole walk needs no attention either.
    world.put(.walk(phone, to: Position(x: 2, y: 1), over: .seconds(600)))
    #expect(world.radio.nextDeadline == nil)
    world.put(.walk(phone, to: Position(x: 3000, y: 0), over: .seconds(2300)))
    world.run(for: .seconds(2400))
    #expect(world.radio.nextDeadline == nil && world.radio.links.isEmpty)
  }

  @Test("Calling the radio more often than it asks changes nothing while people walk", arguments: 0..<6)
  func extraCalls(seed: Int) {
    let physics: RadioPhysics = [.calm, .ordinary, .harsh][seed % 3]
    let straight = Self.trace(seed: UInt64(seed), physics: physics, extraCalls: 0)
    #expect(Self.trace(seed: UInt64(seed), physics: physics, extraCalls: 15) == straight)
  }

  /// A lock, a phone that comes and goes, mostly on foot, and a third controller that advertises and walks as well.
  private static func trace(seed: UInt64, physics: RadioPhysics, extraCalls: Int64) -> [RadioWorld.Heard] {
    var draws = RandomDraws(seed, 98)
    var world = RadioWorld(seed: seed, physics: physics)
    world.put(.addController(lock, at: Position(x: 0, y: 0)))
    world.put(.addController(phone, at: Position(x: 60, y: 0)))
    world.put(.addController(third, at: Position(x: 3, y: 3)))
    world.put(.setAdvertising(third, set: 0, .of(.resolvable(lockKey), milliseconds: 1285)))
    world.put(.setScan(phone, .of(10, in: 100, filtered: true)))
    for _ in 0..<20 {
      let place = Position(x: draws.unit() * 90, y: draws.unit() * 20)
      switch draws.below(9) {
      case 0: world.put(.move(phone, to: place))
      case 1: world.put(.walk(third, to: place, over: .milliseconds(1 + draws.below(40_000))))
      case 2: world.put(.setShielded(phone, draws.below(2) == 0))
      case 3:
        for link in world.radio.links.keys.sorted() {
          world.put(.send(phone, link, Frame(channel: 4, payload: [UInt8(draws.below(256))])))
        }
      case 4: world.put(.walk(phone, to: Position(x: place.x * 40, y: 0), over: .seconds(3 * 3600)))
      default: world.put(.walk(phone, to: place, over: .milliseconds(1 + draws.below(60_000))))
      }
      world.put(.setAdvertising(lock, set: 0, .of()))
      if draws.below(2) == 0 { world.put(.setInitiator(phone, .to(.address(lockAddress)))) }
      // Sometimes a pause of hours, so that unheard rhythms are forgotten.
      let pause = draws.below(draws.below(10) == 0 ? 9_000_000 : 20_000) + 1
      let end = world.now + .milliseconds(pause)
      if extraCalls > 0 {
        var gaps = RandomDraws(seed, 97, UInt64(world.now.nanoseconds))
        while world.now < end {
          world.run(until: min(end, world.now + .microseconds(1 + gaps.below(2000 * pause / extraCalls + 2))))
          world.put(.timePassed)
        }
      } else {
        world.run(until: end)
      }
    }
    return world.heard
  }

  @Test("Signals are the same for one seed, in both directions and at one place, and differ for another seed or place")
  func signals() throws {
    func signal(seed: UInt64, _ place: Position, physics: RadioPhysics = RadioPhysics(bodyLoss: 0)) throws -> Double {
      var world = RadioWorld.pair(seed: seed, physics: physics)
      world.put(.move(phone, to: place))
      world.run(for: .seconds(1))
      let there = try #require(world.radio.signal(between: phone, and: lock))
      #expect(world.radio.signal(between: lock, and: phone) == there)
      world.run(for: .seconds(86400))
      world.put(.timePassed)
      #expect(world.radio.signal(between: phone, and: lock) == there)
      return there
    }
    let here = Position(x: 7.3, y: 2.1)
    #expect(try signal(seed: 1, here) == signal(seed: 1, here))
    #expect(try signal(seed: 1, here) != signal(seed: 2, here))
    #expect(try abs(signal(seed: 1, here) - signal(seed: 1, Position(x: 7.35, y: 2.1))) < 0.5)
    // Seven metres further on a circle: the distance is the same, but the walls are different.
    var differences: [Double] = []
    for seed in 0..<300 {
      let distance = (7.3 * 7.3 + 2.1 * 2.1).squareRoot()
      differences.append(
        try signal(seed: UInt64(seed), here) - signal(seed: UInt64(seed), Position(x: 0, y: -distance)))
    }
    let deviation = (differences.reduce(0) { $0 + $1 * $1 } / 300).squareRoot()
    // One end stands still, so only one of the two fields has changed: by √2 times its deviation of 3 / √2 dB.
    #expect(deviation > 2.5 && deviation < 3.5, "\(deviation)")
    #expect(throws: Never.self) { try signal(seed: 1, Position(x: 0, y: 0)) }
  }

  @Test("The shadow along the way has 1/e to do with itself after the decorrelation distance")
  func decorrelation() throws {
    let physics = RadioPhysics(shadowing: 0, wayShadowing: 3, decorrelationDistance: 5, bodyLoss: 0, sensitivity: -120)
    func shadows(_ metres: Double) throws -> [Double] {
      try (0..<1500).map { seed in
        var world = RadioWorld.pair(seed: UInt64(seed), physics: physics)
        let place = Position(x: 3.7 + Double(seed % 17) + metres, y: Double(seed % 13))
        world.put(.move(phone, to: place))
        let distance = (place.x * place.x + place.y * place.y).squareRoot()
        return try #require(world.radio.signal(between: lock, and: phone)) - physics.signal(over: distance)
      }
    }
    func correlation(_ one: [Double], _ other: [Double]) -> Double {
      func product(_ left: [Double], _ right: [Double]) -> Double { zip(left, right).reduce(0) { $0 + $1.0 * $1.1 } }
      return product(one, other) / (product(one, one) * product(other, other)).squareRoot()
    }
    let here = try shadows(0)
    let deviation = (here.reduce(0) { $0 + $1 * $1 } / Double(here.count)).squareRoot()
    #expect(deviation > 2.7 && deviation < 3.3)
    // Half of the shadow between the two comes from the end that stands still.
    let near = try correlation(here, shadows(0.5))
    let middle = try correlation(here, shadows(5))
    let far = try correlation(here, shadows(20))
    #expect(near > 0.95, "\(near)")
    #expect(abs(middle - (1 + 1 / 2.718) / 2) < 0.15, "\(middle)")
    #expect(abs(far - 0.5) < 0.1, "\(far)")
  }

  @Test("Signals fall with the distance as the air between virtual machines has it")
  func sameAir() {
    // scripts/vm/test_air.py has the same numbers.
    for (metres, signal) in [(0.05, -37), (1, -59), (2, -65.623), (10, -81), (39, -94.003), (100, -103.0)] {
      #expect(abs(RadioPhysics.clear.signal(over: metres) - signal) < 0.001, "\(metres) m")
    }
    #expect(RadioPhysics.clear.sensitivity == -94)
    #expect(Int(RadioPhysics.clear.clearRange) == 38)
  }

  @Test("A radio is described in words: levels, single parameters, both; and nothing that is not understood")
  func description() throws {
    for level in RadioPhysics.Level.allCases {
      #expect(RadioPhysics(text: level.rawValue) == level.physics)
      #expect(RadioPhysics(text: level.physics.text) == level.physics)
    }
    var expected = RadioPhysics.harsh
    expected.bodyLoss = 15
    #expect(RadioPhysics(text: "harsh,body loss=15") == expected)
    expected = .ordinary
    expected.noise = 0.5
    #expect(RadioPhysics(text: "noise=0.5") == expected)
    for text in [
      "", "loud", "harsh,calm", "harsh,", "body loss", "body loss=", "body loss=-1", "body loss=nan", "noise=1=2",
    ] {
      #expect(RadioPhysics(text: text) == nil, "\(text)")
    }
  }

  @Test("A body takes up to its loss, changes as its bearer turns, and takes nothing from what was never carried")
  func body() throws {
    let physics = RadioPhysics(shadowing: 0, wayShadowing: 0, bodyLoss: 10, noise: 0)
    var losses: [Double] = []
    for seed in 0..<200 {
      var world = RadioWorld.pair(seed: UInt64(seed), physics: physics)
      world.put(.move(phone, to: Position(x: 10, y: 0)))
      let free = try #require(world.radio.signal(between: lock, and: phone))
      #expect(abs(free - physics.signal(over: 10)) < 1e-9)
      world.put(.walk(phone, to: Position(x: 2, y: 0), over: .seconds(8)))
      var readings: [Double] = []
      for _ in 0..<80 {
        world.run(for: .milliseconds(100))
        world.put(.timePassed)
        let place = try #require(world.radio.position(of: phone))
        readings.append(try physics.signal(over: place.x) - #require(world.radio.signal(between: lock, and: phone)))
      }
      #expect(readings.allSatisfy { $0 >= -1e-9 && $0 <= 10 + 1e-9 })
      #expect(Set(readings).count > 50, "a body swings")
      #expect(zip(readings, readings.dropFirst()).allSatisfy { abs($0 - $1) < 1 }, "and does so slowly")
      losses.append(readings[79])
      let stands = try #require(world.radio.signal(between: lock, and: phone))
      world.run(for: .seconds(3600))
      world.put(.timePassed)
      #expect(world.radio.signal(between: lock, and: phone) == stands, "who stands still stays still")
      world.put(.walk(phone, to: Position(x: 9, y: 0), over: .seconds(8)))
    }
    #expect(losses.min() ?? 5 < 0.5 && losses.max() ?? 5 > 9.5, "some have it in front and some behind")
  }

  @Test("A walk that makes no sense is refused and changes nothing")
  func refused() {
    let beyond = Position(x: 2e7, y: 0)
    let inputs: [RadioInput] = [
      .walk(phone, to: Position(x: 1, y: 0), over: .zero), .walk(phone, to: Position(x: 1, y: 0), over: .seconds(-1)),
      .walk(phone, to: Position(x: 1, y: 0), over: .seconds(40_000 * 86400)),
      .walk(phone, to: beyond, over: .seconds(1)),
      .walk(phone, to: Position(x: .nan, y: 0), over: .seconds(1)),
      .walk(ControllerIdentifier("ghost"), to: Position(x: 1, y: 0), over: .seconds(1)),
    ]
    for input in inputs {
      var world = RadioWorld.pair()
      world.put(.walk(phone, to: Position(x: 12, y: 0), over: .seconds(10)))
      guard case .refused(let reason)? = world.put(input).first else {
        Issue.record("\(input) was taken")
        continue
      }
      #expect(!reason.isEmpty)
      world.run(for: .seconds(5))
      world.put(.timePassed)
      #expect(world.radio.position(of: phone) == Position(x: 7, y: 0))
    }
  }
}
