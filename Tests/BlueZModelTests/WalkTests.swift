import BlueZ
import BlueZModel
import Radio
import Testing
import TimeTypes

@Suite("Machines on the move")
struct WalkTests {
  private func world() -> SimulatedWorld {
    var world = SimulatedWorld(seed: 1, physics: .clear)
    for (name, x) in [("door", 0.0), ("phone", 400)] {
      _ = world.addMachine(SimulatedMachine(name: name, position: Position(x: x, y: 0)), at: .zero)
    }
    return world
  }

  private func events(_ outputs: [SimulatedWorld.Output]) -> [WorldEvent] {
    outputs.compactMap { if case .event(let event) = $0 { event } else { nil } }
  }

  @Test("A1: a walk is reported when it begins, with its place, and when it ends, not before its time")
  func told() {
    var world = world()
    let began = world.handle(
      .command(.walk(machine: "phone", x: 1, y: 0, seconds: 45)), at: .zero + .seconds(10))
    #expect(events(began) == [.walkBegan(machine: "phone", x: 400, y: 0)])
    #expect(world.nextDeadline == .zero + .seconds(55))
    #expect(events(world.handle(.timePassed, at: .zero + .seconds(54))).isEmpty)
    #expect(
      events(world.handle(.timePassed, at: .zero + .seconds(55))) == [.walkEnded(machine: "phone", x: 1, y: 0)])
    #expect(world.nextDeadline == nil)
  }

  @Test("A1: another walk begins where the first has come to, and a move ends both without their end")
  func interrupted() {
    var world = world()
    _ = world.handle(.command(.walk(machine: "phone", x: 0, y: 0, seconds: 400)), at: .zero)
    let second = world.handle(
      .command(.walk(machine: "phone", x: 300, y: 50, seconds: 10)), at: .zero + .seconds(100))
    #expect(events(second) == [.walkBegan(machine: "phone", x: 300, y: 0)])
    #expect(
      events(world.handle(.timePassed, at: .zero + .seconds(110))) == [.walkEnded(machine: "phone", x: 300, y: 50)])
    _ = world.handle(.command(.walk(machine: "phone", x: 0, y: 0, seconds: 10)), at: .zero + .seconds(200))
    _ = world.handle(.command(.move(machine: "phone", x: 7, y: 0)), at: .zero + .seconds(205))
    #expect(world.nextDeadline == nil)
    #expect(events(world.handle(.timePassed, at: .zero + .seconds(900))).isEmpty)
  }

  @Test(
    "A walk that makes no sense is refused and changes nothing",
    arguments: [(1.0, 0.0), (1, -1), (1, .nan), (1, .infinity), (1, 4e9), (.nan, 1), (2e7, 1)])
  func refused(x: Double, seconds: Double) {
    var world = world()
    _ = world.handle(.command(.walk(machine: "phone", x: 1, y: 0, seconds: 45)), at: .zero)
    let outputs = world.handle(
      .command(.walk(machine: "phone", x: x, y: 0, seconds: seconds)), at: .zero + .seconds(1))
    guard outputs.count == 1, case .refused(let reason) = outputs[0] else {
      Issue.record("it was taken: \(outputs)")
      return
    }
    #expect(!reason.isEmpty)
    #expect(world.nextDeadline == .zero + .seconds(45))
  }
}
