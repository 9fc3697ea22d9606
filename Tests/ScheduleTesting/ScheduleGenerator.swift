import RandomTesting

/// Draws schedules: calls of apps in both roles, the user, deaths, faults and the radio, in any order.
package struct ScheduleGenerator {
  private var random: SeededGenerator
  private let cast: Cast
  private let centrals: [Caller]
  private let publishers: [String]
  private let apps: [String]
  private let machines: [String]

  package init(seed: UInt64, cast: Cast) {
    random = SeededGenerator(seed: seed &* 0x9E37_79B9 &+ 17)
    self.cast = cast
    centrals = cast.actors.flatMap { actor in
      actor.managers.indices.filter { actor.managers[$0].role == .central }.map { Caller(actor.name, $0 + 1) }
    }
    publishers = cast.actors.filter { $0.target != nil }.map(\.name)
    apps = cast.actors.map(\.name)
    machines = cast.machines
  }

  /// The schedule of a seed.
  package static func schedule(seed: UInt64, steps: Int) -> Schedule {
    var generator = ScheduleGenerator(seed: seed, cast: Street.cast(seed: seed))
    let prologue = generator.prologue()
    return Schedule(seed: seed, steps: prologue + (0..<steps).flatMap { _ in generator.next() })
  }

  /// Most apps are in use before anything goes wrong.
  private mutating func prologue() -> [Step] {
    var steps: [Step] = []
    for app in publishers where below(4) > 0 { steps += [.open(app), .publish(app)] }
    for caller in centrals where below(4) > 0 {
      guard let targets = cast[caller.app].map(cast.targets), !targets.isEmpty else { continue }
      steps.append(.open(caller.app))
      steps.append(.makeManager(caller))
      for target in targets where below(3) > 0 {
        steps.append(.connect(caller, target))
        if below(3) > 0 { steps.append(.subscribe(caller, target)) }
      }
    }
    return steps + [.pass(milliseconds: below(20_000))] + apps.filter { _ in below(2) == 0 }.map { .leave($0) }
  }

  private mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int(random.next() % UInt64(elements.count))]
  }

  private mutating func below(_ limit: UInt64) -> Int { Int(random.next() % limit) }

  /// A caller, and a target that it may ask for.
  private mutating func pairing() -> (Caller, Target) {
    let caller = pick(centrals)
    return (caller, pick(cast[caller.app].map(cast.targets) ?? Target.allCases))
  }

  /// Often no time at all passes, sometimes minutes.
  private mutating func pause() -> Step {
    switch random.next() % 16 {
    case 0..<6: .pass(milliseconds: below(300))
    case 6..<11: .pass(milliseconds: below(3_000))
    case 11..<15: .pass(milliseconds: below(30_000))
    default: .pass(milliseconds: below(300_000))
    }
  }

  private mutating func next() -> [Step] {
    let step = call()
    var steps = [step]
    if random.next() % 4 > 0 { steps.append(pause()) }
    // Most faults are over after a while.
    if let end = step.end, random.next() % 4 > 0 { steps += [end, pause()] }
    return steps
  }

  private mutating func call() -> Step {
    switch random.next() % 88 {
    case 0..<9:
      let (caller, target) = pairing()
      return .connect(caller, target)
    case 9..<12: return .scan(pick(centrals), allowsDuplicates: random.next() % 4 == 0)
    case 12: return .stopScan(pick(centrals))
    case 13, 14:
      let (caller, target) = pairing()
      return .cancel(caller, target)
    case 15..<20:
      let (caller, target) = pairing()
      return .subscribe(caller, target)
    case 20:
      let (caller, target) = pairing()
      return .unsubscribe(caller, target)
    case 21:
      let (caller, target) = pairing()
      return .read(caller, target)
    case 22, 23:
      let (caller, target) = pairing()
      return .write(caller, target)
    case 24: return .makeManager(pick(centrals))
    case 25: return .dropManager(pick(centrals))
    case 26, 27: return .publish(pick(publishers))
    case 28: return .unpublish(pick(publishers))
    case 29..<32: return .push(pick(publishers))
    case 32..<36: return .open(pick(apps))
    case 36..<40: return .leave(pick(apps))
    case 40: return .quit(pick(apps))
    case 41: return .reclaim(pick(apps))
    case 42: return .bluetooth(machine: pick(machines), on: random.next() % 3 != 0)
    case 43, 44: return .killApp(pick(apps))
    case 45: return .killAppAfter(pick(apps), events: below(4))
    case 46, 47: return .killSystem(machine: pick(machines))
    case 48, 49: return .killSystemAfter(machine: pick(machines), effects: below(12))
    case 50, 51: return .restartBluetoothd(machine: pick(machines), killed: random.next() % 2 == 0)
    case 52: return .reboot(machine: pick(machines))
    case 53: return .plug(machine: pick(machines), on: random.next() % 4 == 0)
    case 54: return .block(machine: pick(machines), on: random.next() % 4 > 0)
    case 64..<67:
      let (caller, target) = pairing()
      return .keep(caller, target)
    case 67:
      let (caller, target) = pairing()
      return .stream(caller, target)
    case 68:
      let (caller, target) = pairing()
      return .readSignal(caller, target)
    case 69: return .flood(pick(publishers))
    case 70: return .stopBluetoothd(machine: pick(machines))
    case 71: return .cutPower(machine: pick(machines))
    case 72: return .power(machine: pick(machines), on: random.next() % 4 == 0)
    case 74: return .unpair
    case 75: return .press(machine: pick(machines))
    case 76, 77:
      let (caller, target) = pairing()
      return .delay(caller, target)
    case 78, 79: return .listen(pick(publishers))
    case 80: return .stopListening(pick(publishers))
    case 81, 82:
      let (caller, target) = pairing()
      return .openChannel(caller, target)
    case 83, 84: return .watch(pick(centrals))
    case 85: return .stopWatching(pick(centrals))
    case 87: return .retrieve(pick(centrals))
    case 86: return .forgetBonds(machine: pick(machines))
    case 73: return .wake(machine: pick(machines))
    case 55..<60: return .away(machine: pick(machines))
    default: return .near(machine: pick(machines))
    }
  }
}

extension Step {
  /// What ends the fault that this step begins.
  fileprivate var end: Step? {
    switch self {
    case .plug(let machine, false): .plug(machine: machine, on: true)
    case .block(let machine, true): .block(machine: machine, on: false)
    case .bluetooth(let machine, false): .bluetooth(machine: machine, on: true)
    case .power(let machine, false): .power(machine: machine, on: true)
    case .stopBluetoothd(let machine): .startBluetoothd(machine: machine)
    case .away(let machine): .near(machine: machine)
    default: nil
    }
  }
}
