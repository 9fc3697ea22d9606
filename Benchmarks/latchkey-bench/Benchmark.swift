import AppLinkBus
import BlueZModel
import Foundation
import Glibc
import Journal
import JournalEvents
import Stories
import Synchronization
import TimeTypes
import Worlds

/// Measurements with real processes in a simulated world.
enum Benchmark {
  /// Times of one kind since the radio's link-up, in milliseconds of real time.
  struct Distribution: Sendable, Equatable {
    let sorted: [Double]
    init(_ values: [Double]) { sorted = values.sorted() }

    /// The smallest value that this percentage of all values does not exceed, or `nil` if there are no values.
    func percentile(_ percent: Double) -> Double? {
      guard !sorted.isEmpty else { return nil }
      let rank = Int((percent / 100 * Double(sorted.count)).rounded(.up))
      return sorted[min(max(rank, 1), sorted.count) - 1]
    }
  }

  struct Relaunches: Sendable, Equatable {
    /// From the simulator's `link.up` to the relaunched agent's `willRestoreState`.
    var toRestoration: Distribution
    /// From there to the agent's first judgement of the approach: it has its state, its link, and a signal.
    var toApproach: Distribution
    /// From there to its write of the unlock command. In between the owner walks to the door.
    var toUnlock: Distribution
    /// The same three in the world's own time.
    var toRestorationVirtual: Distribution
    var toApproachVirtual: Distribution
    var toUnlockVirtual: Distribution
  }

  /// Passes on the steps of a story, one line for each.
  private static func passingOn(_ progress: @escaping @Sendable (String) -> Void) -> @Sendable (StoryNews) -> Void {
    { news in
      if case .recorded(let entry) = news, entry.process == Recorded.orchestrator { progress(entry.message) }
    }
  }

  /// The owner leaves, the agent is killed, the owner comes home; this many times.
  static func relaunches(
    _ count: Int, executables: Executables, progress: @escaping @Sendable (String) -> Void
  ) throws -> Relaunches {
    let steps: [Step] = [
      step(.move(machine: "phone", to: Place(x: 200, y: 0), occasion: .departure, over: .seconds(140))),
      step(.wait(EventPattern(Recorded.Lock.boltMoved, fields: [.to: "locked"]), limit: .seconds(600))),
      step(.killApp(machine: "phone", app: .agent)),
      step(.pass(.seconds(3600))),
      step(.move(machine: "phone", to: Place(x: 1, y: 0), occasion: .arrival, over: .seconds(140))),
      step(.wait(EventPattern(Recorded.Lock.boltMoved, fields: [.to: "unlocked"]), limit: .seconds(300))),
      step(.pass(.seconds(60))),
    ]
    let chapters =
      [Chapter(name: "at home", steps: settling, promises: [])]
      + (1...count).map { Chapter(name: "relaunch \($0)", steps: steps, promises: []) }
    let report = try ScenarioRun.run(
      scenario("relaunches", chapters), executables: executables, options: .init(observe: passingOn(progress)))
    return relaunches(in: report.timeline)
  }

  /// Pairs each link-up with what the agent did next.
  static func relaunches(in timeline: [JournalEntry]) -> Relaunches {
    var wall: (restoration: [Double], approach: [Double], unlock: [Double]) = ([], [], [])
    var virtual: (restoration: [Double], approach: [Double], unlock: [Double]) = ([], [], [])
    var up: JournalEntry?
    var restored = false
    for entry in timeline {
      switch (entry.event(as: Recorded.Radio.self), entry.event(as: Recorded.Agent.self)) {
      case (.linkUp?, _):
        up = entry
        restored = false
      case (_, .willRestoreState?):
        guard let up else { continue }
        restored = true
        wall.restoration.append(Double(entry.wall - up.wall) / 1e6)
        virtual.restoration.append(Double(entry.t - up.t) / 1e6)
      case (_, .approachBegan?):
        guard let up, restored else { continue }
        wall.approach.append(Double(entry.wall - up.wall) / 1e6)
        virtual.approach.append(Double(entry.t - up.t) / 1e6)
      case (_, .unlockWritten?):
        guard let link = up, restored else { continue }
        wall.unlock.append(Double(entry.wall - link.wall) / 1e6)
        virtual.unlock.append(Double(entry.t - link.t) / 1e6)
        up = nil
      default: continue
      }
    }
    return Relaunches(
      toRestoration: Distribution(wall.restoration), toApproach: Distribution(wall.approach),
      toUnlock: Distribution(wall.unlock), toRestorationVirtual: Distribution(virtual.restoration),
      toApproachVirtual: Distribution(virtual.approach), toUnlockVirtual: Distribution(virtual.unlock))
  }

  /// Connection requests from an earlier run of the phone's latchkeyd, for devices that are elsewhere.
  struct HeldRequests: Sendable {
    /// The devices, with which the phone's bluetoothd has bonded.
    var devices: [RememberedDevice]
    /// Puts a request for each into the store of a latchkeyd that is not running.
    var fillStore: @Sendable (_ stateFolder: String, _ machine: String) throws -> Void
    init(
      devices: [RememberedDevice],
      fillStore: @escaping @Sendable (_ stateFolder: String, _ machine: String) throws -> Void
    ) {
      self.devices = devices
      self.fillStore = fillStore
    }
  }

  struct Rest: Sendable, Equatable {
    /// Measured after fifteen seconds of real time without work, because latchkeyd gives memory back after five.
    var residentKiB: Int
    var proportionalKiB: Int
    /// From its start until all requests were armed, and a status was asked for. `nil` with one request.
    var startSeconds: Double?
    var wakeUpsPerVirtualMinute: Double
    var wakeUpsPerWallMinute: Double
  }

  /// latchkeyd on the phone while it holds a request, the agent is dead and nothing happens.
  static func rest(executables: Executables, progress: @escaping @Sendable (String) -> Void) throws -> Rest {
    let steps: [Step] = [
      step(.move(machine: "phone", to: Place(x: 400, y: 0), occasion: .departure)),
      step(.pass(.seconds(3600))),
      step(.killApp(machine: "phone", app: .agent)),
    ]
    return try rest(
      scenario("rest", [Chapter(name: "at rest", steps: settling + steps + measuring, promises: [])]),
      executables: executables, options: ScenarioRun.Options(observe: passingOn(progress)))
  }

  /// latchkeyd on a phone far from the door, with many requests of an earlier run, from boot on.
  static func rest(
    holding requests: HeldRequests, executables: Executables, progress: @escaping @Sendable (String) -> Void
  ) throws -> Rest {
    let count = requests.devices.count
    let armed = EventPattern(Recorded.Daemon.profileRegistered, fields: [.peripherals: String(count)])
    let steps = [step(.wait(armed, limit: .seconds(60)), note: "armed")]
    var scenario = scenario("rest", [Chapter(name: "at rest", steps: steps + measuring, promises: [])])
    for index in scenario.machines.indices where scenario.machines[index].name == "phone" {
      scenario.machines[index].position = Place(x: 400, y: 0)
    }
    var options = ScenarioRun.Options(observe: passingOn(progress))
    let bus = Mutex<String?>(nil)
    options.prepare = { world in
      try world.simulator.send(.stopBluetoothd(machine: "phone", killed: false))
      // A line to the simulator has a limit.
      for begin in stride(from: 0, to: count, by: 100) {
        let some = Array(requests.devices[begin..<min(begin + 100, count)])
        try world.simulator.send(.remember(machine: "phone", devices: some))
      }
      try world.simulator.send(.startBluetoothd(machine: "phone"))
      try requests.fillStore("\(world.run.folder(of: "phone"))/state", "phone")
      bus.withLock { $0 = "unix:path=\(world.run.busSocket(of: "phone"))" }
    }
    options.inspect = { step, _ in
      guard step.note == "armed" else { return }
      let status = try MachineControl(address: bus.withLock { $0 }).perform(.status)
      let pending = status?.apps.map(\.pendingConnections).reduce(0, +)
      guard pending == count else {
        throw WorldError("latchkeyd shows \(pending.map(String.init) ?? "no") held requests and should \(count)")
      }
    }
    return try rest(scenario, executables: executables, options: options)
  }

  private static let measuredMinutes = 24 * 60

  private static let measuring: [Step] = [
    step(.pass(.seconds(3600))), step(.pass(.seconds(1)), note: "begin"),
    step(.pass(.seconds(60 * measuredMinutes)), note: "end"),
  ]

  private static func rest(
    _ scenario: Scenario, executables: Executables, options: ScenarioRun.Options
  ) throws -> Rest {
    let wallSeconds = 20
    let figures = Mutex<[String: ProcessFigures]>([:])
    var options = options
    let inspect = options.inspect
    options.inspect = { step, processes in
      try inspect(step, processes)
      guard let note = step.note, ["armed", "begin", "end"].contains(note) else { return }
      let daemon = processes.all().first { $0.machine == "phone" && $0.program == Recorded.daemon }
      guard let daemon else { throw WorldError("no latchkeyd to measure") }
      let now = try ProcessFigures(pid: daemon.pid)
      figures.withLock { $0[note] = now }
      guard note == "end" else { return }
      // This is not a wait: it is the measured time, in which the world's time stands still. The first pause lets
      // libdispatch end its idle threads.
      sleep(15)
      let idle = try ProcessFigures(pid: daemon.pid)
      sleep(UInt32(wallSeconds))
      let later = try ProcessFigures(pid: daemon.pid)
      figures.withLock { $0.merge(["idle": idle, "later": later]) { $1 } }
    }
    let report = try ScenarioRun.run(scenario, executables: executables, options: options)
    let found = figures.withLock { $0 }
    guard let begin = found["begin"], let end = found["end"], let idle = found["idle"],
      let later = found["later"]
    else {
      throw WorldError("nothing was measured: \(report.problem ?? "the story ended early")")
    }
    return Rest(
      residentKiB: idle.residentKiB, proportionalKiB: idle.proportionalKiB,
      startSeconds: found["armed"]?.processorSeconds,
      wakeUpsPerVirtualMinute: Double(end.wakeUps(since: begin)) / Double(measuredMinutes),
      wakeUpsPerWallMinute: Double(later.wakeUps(since: idle)) * 60 / Double(wallSeconds))
  }

  /// At home, bonded and subscribed, with the agent in the background.
  private static let settling: [Step] = [
    step(.wait(EventPattern(Recorded.Lock.started), limit: .seconds(60))),
    step(.openApp(machine: "phone", app: .agent)),
    step(.wait(EventPattern(Recorded.Agent.subscribed), limit: .seconds(120))),
    step(.turnBolt(machine: "door", isLocked: false)),
    step(.leaveApp(machine: "phone", app: .agent)),
    step(.pass(.seconds(1800))),
  ]

  private static func step(_ action: Action, note: String? = nil) -> Step {
    Step(line: nil, time: .next, note: note, action: action)
  }

  private static func scenario(_ name: String, _ chapters: [Chapter]) -> Scenario {
    Scenario(
      file: "the benchmark", name: name, title: "Benchmark: \(name)", seed: 1, days: 1,
      machines: [
        MachineDescription(name: "door", position: Place(x: 0, y: 0), apps: [.lock]),
        MachineDescription(name: "phone", position: Place(x: 1, y: 0), apps: [.agent]),
      ], chapters: chapters, promises: [])
  }
}
