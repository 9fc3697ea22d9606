import ChildProcesses
import Foundation
import Journal
import JournalEvents
import TimeTypes
import Worlds

/// One run of a scenario, from an empty folder to the verdict.
package final class ScenarioRun {
  package struct Options: Sendable {
    /// Days of a chapter, or `nil` for the scenario's own number.
    package var days: Double?
    package var seed: UInt64?
    /// How much faster than written the story's days pass, on machines whose clocks can't be moved.
    package var pace: Pace?
    /// The folder that keeps the run's files; if `nil`, they are removed.
    package var keep: String?
    /// Receives what happens, as it happens, on the run's thread.
    package var observe: @Sendable (StoryNews) -> Void
    /// Called with the guardian as soon as it exists, for callers that must end the world in a hurry.
    package var worldBegan: @Sendable (Guardian) -> Void
    /// Called after each step, with the processes that are running then; for measurements.
    package var inspect: @Sendable (Step, WorldProcesses) throws -> Void = { _, _ in }
    /// Called once, with the world before its machines boot; prepares what they will find.
    package var prepare: @Sendable (LocalWorld) throws -> Void = { _ in }
    package init(
      days: Double? = nil, seed: UInt64? = nil, pace: Pace? = nil, keep: String? = nil,
      observe: @escaping @Sendable (StoryNews) -> Void = { _ in },
      worldBegan: @escaping @Sendable (Guardian) -> Void = { _ in }
    ) {
      self.days = days
      self.seed = seed
      self.pace = pace
      self.keep = keep
      self.observe = observe
      self.worldBegan = worldBegan
    }
  }

  /// Why a story stops before its end, although all programs work.
  struct Stopped: Error {
    var reason: String
  }

  let scenario: Scenario
  let options: Options
  private let seed: UInt64
  private let days: Double
  let world: any World
  private(set) var chronicle: Chronicle
  private var verdict = Verdict()
  private var chaptersBegun = 0
  private(set) var chapterBegan = Instant.zero
  private(set) var chapterWindow = 0
  /// When the previous step was done. The time until its records were read counts as part of a following pause.
  private(set) var stepDone = Instant.zero
  /// When each owner left in this chapter.
  var departed: [String: Instant] = [:]
  /// The last move of each machine.
  var ways: [String: Way] = [:]
  /// The place in the story at which each machine's last move ends. On machines whose days are shortened, a walk really
  /// ends at a place where nobody hears it.
  var destinations: [String: Place] = [:]
  /// What people of the story have given each other.
  var papers = PassedPapers()
  /// The first entry that a waiting step looks at: that of the last action on the world, or of its boot.
  var waitsFrom = 0
  /// Events that a wait has found. Later waits don't find them again.
  var found: Set<Int> = []
  /// Processes that ended by themselves and have been recorded.
  private var notedEnds: Set<String> = []

  /// What the machines can't do, or do differently than written: lines for the verdict.
  private var differences: [String] = []
  /// How many steps were left out because their machine can't do them.
  var undone = 0

  /// The factor by which the story's times are longer or shorter than written.
  private var scale: Double { days / scenario.days * (options.pace?.ratio ?? 1) }

  init(_ scenario: Scenario, _ options: Options, world: any World) throws {
    self.scenario = scenario
    self.options = options
    self.world = world
    seed = options.seed ?? scenario.seed
    days = options.days ?? scenario.days
    chronicle = Chronicle(world)
    if let pace = options.pace {
      verdict.unjudged = [
        "away-long-enough": "the days were \(pace) here; `make test-warp` lets five real ones pass"
      ]
    }
  }

  /// The place of a story.
  package enum Setting: Sendable {
    /// Processes on this machine, over a simulated radio, with a simulated clock.
    case simulated(Executables)
    case machines(MachinesDescription, MachineTools)

    var latchkey: String {
      switch self {
      case .simulated(let executables): executables.latchkey
      case .machines(_, let tools): tools.latchkey
      }
    }
  }

  package static func run(_ scenario: Scenario, executables: Executables, options: Options) throws -> Report {
    try run(scenario, on: .simulated(executables), options: options)
  }

  /// Runs the scenario. Nothing of its world is left when this returns or throws.
  ///
  /// - Throws: `WorldError` and others if the world can't be made. Problems within the story are in the report.
  package static func run(_ scenario: Scenario, on setting: Setting, options: Options) throws -> Report {
    try StoryLength.check(scenario, days: options.days ?? scenario.days, pace: options.pace)
    let folder = try RunFolder(keep: options.keep)
    let guardian: Guardian
    do {
      guardian = try Guardian(
        latchkey: setting.latchkey, world: folder.world, folder: folder.sockets,
        environment: ProcessInfo.processInfo.environment)
    } catch {
      try? RunFolder.remove(folder.sockets, world: folder.world)
      throw error
    }
    options.worldBegan(guardian)
    let report: Report
    do {
      let run = try ScenarioRun(scenario, options, world: try world(scenario, setting, options, folder))
      report = try run.tell()
      if folder.isKept { try report.json().write(to: URL(fileURLWithPath: "\(folder.files)/report.json")) }
    } catch {
      let shortage = error is WorldError || error is ChildProcessError ? folder.shortage() : nil
      try? guardian.endWorld()
      throw shortage.map { WorldError("\($0). It showed as: \(error)") } ?? error
    }
    try guardian.endWorld()
    return report
  }

  private static func world(
    _ scenario: Scenario, _ setting: Setting, _ options: Options, _ folder: RunFolder
  ) throws -> any World {
    switch setting {
    case .simulated(let executables):
      guard options.pace == nil else {
        throw WorldError("a simulated world has a clock of its own, and needs no pace: --pace is for machines")
      }
      for app in Set(scenario.machines.flatMap(\.apps)).filter(\.isDescribed).sorted(by: { $0.name < $1.name }) {
        do { _ = try executables.app(app) } catch {
          guard let source = app.source else { throw error }
          throw ScenarioError(file: source.file, line: source.line, problem: "\(error)")
        }
      }
      let world = try LocalWorld(
        scenario.machines, radio: scenario.radio, seed: options.seed ?? scenario.seed, run: folder,
        executables: executables, recordsAir: scenario.concernsAir)
      world.conductor.signOfLife = { [observe = options.observe] in observe(.busy($0)) }
      try options.prepare(world)
      return world
    case .machines(let description, let tools):
      return try RemoteWorld(
        scenario.machines, radio: scenario.radio, on: description, tools: tools, run: folder, pace: options.pace,
        recordsAir: scenario.concernsAir,
        progress: { [observe = options.observe] in observe(.remark($0)) })
    }
  }

  func tell() throws -> Report {
    var problem: String?
    options.observe(
      .began(
        StoryHeading(
          scenario: scenario.name, title: scenario.title, seed: seed, days: days,
          machines: scenario.machines.map(\.name))))
    do {
      try compareAbilities()
      try world.boot()
      // A phone is set up before it meets its lock. Without a lock, no machine waits for another.
      if !scenario.machines.contains(where: { $0.apps.contains(.lock) }) {
        try world.meet(Set(scenario.machines.map(\.name)))
      }
      for chapter in scenario.chapters { try tell(chapter) }
    } catch {
      problem = "\((error as? Stopped)?.reason ?? String(describing: error))"
      if let shortage = world.run.shortage() { problem = "\(shortage). It showed as: \(problem ?? "")" }
      try noteLastEnds()
      options.observe(.stopped(problem ?? ""))
    }
    for chapter in scenario.chapters.dropFirst(chaptersBegun) { verdict.skip(chapter) }
    judge(scenario.promises, evidence(0..<chronicle.entries.count, isCutOff: problem != nil), scope: Verdict.wholeRun)
    return makeReport(problem)
  }

  private func makeReport(_ problem: String?) -> Report {
    let digest = RadioDigest(chronicle.entries)
    let whole = world is LocalWorld ? RunDigest(chronicle.entries) : nil
    let wall = Double(unixNanoseconds() - chronicle.beginning) / 1e9
    return Report(
      scenario: scenario.name, title: scenario.title, seed: seed, days: days,
      kept: verdict.isKept(problem: problem), problem: problem, remarks: world.remarks + differences,
      stepsNotDone: undone, promises: verdict.promises, timeline: Report.timeline(of: chronicle.inOrder()),
      radio: .init(digest: digest.text, events: digest.events),
      fingerprint: whole.map { .init(digest: $0.text, events: $0.events) }, virtualSeconds: world.now.seconds,
      wallSeconds: wall,
      beganAt: chronicle.beginning, stage: scenario.machines.map { Report.StageMachine($0) },
      rangeMetres: world is LocalWorld ? scenario.radio.clearRange : nil, damagedLines: world.damagedLines,
      energy: world is LocalWorld ? EnergyUse.of(chronicle.inOrder()) : nil)
  }

  private func tell(_ chapter: Chapter) throws {
    chapterBegan = world.now
    stepDone = chapterBegan
    try mark(.chapterBegan, message: "chapter: \(chapter.name)", fields: [.name: chapter.name])
    chapterWindow = chronicle.entries.count - 1
    chaptersBegun += 1
    departed = [:]
    var problem: (any Error)?
    var stepsTaken = 0
    do {
      for step in chapter.steps {
        try take(step)
        stepsTaken += 1
      }
      try world.settle()
      try tend()
    } catch {
      problem = error
      try noteLastEnds()
    }
    let window = chapterWindow..<chronicle.entries.count
    for step in chapter.steps.dropFirst(stepsTaken) { verdict.skip(step) }
    judge(chapter.promises, evidence(window, isCutOff: problem != nil), scope: chapter.name)
    if let problem { throw problem }
  }

  /// Reports, before anything happens, which steps will not happen as written.
  private func compareAbilities() throws {
    for step in scenario.chapters.flatMap(\.steps) {
      guard let (machine, ability) = try ability(step.action) else { continue }
      let place = Verdict.place(of: step)
      switch ability {
      case .exact: continue
      case .substitute(let what): differences.append("\(place), \(step.action.summary): \(what)")
      case .unsupported(let why):
        differences.append("\(place), \(step.action.summary): not done, since \(why) (\(machine))")
      }
    }
    for difference in differences { options.observe(.remark("on these machines: \(difference)")) }
  }

  func ability(_ action: Action) throws -> (machine: String, ability: Ability)? {
    switch action {
    case .fault(let name, let fault): (name, try world.machine(name).ability(fault))
    case .move(let name, let place, let occasion, let over):
      (name, try world.machine(name).ability(.move(to: place, occasion: occasion, over: over)))
    case .cutPower(let name, _): (name, try world.machine(name).powerCut)
    default: nil
    }
  }

  func evidence(_ window: Range<Int>, isCutOff: Bool = false) -> Evidence {
    Evidence(
      chronicle.inOrder(), window: window, machines: scenario.machines, isCutOff: isCutOff,
      endsAt: world.now.nanoseconds)
  }

  func judge(_ references: [PromiseReference], _ evidence: Evidence, scope: String) {
    verdict.judge(references, evidence, scope: scope)
  }

  private func take(_ step: Step) throws {
    switch step.time {
    // The world settled when the previous step ended.
    case .next: break
    case .later(let duration): try reach(stepDone + scaled(duration))
    case .day(let day): try reach(chapterBegan + scaled(days: day))
    }
    try tend()
    do {
      try perform(step)
    } catch {
      let reason = (error as? Stopped)?.reason ?? String(describing: error)
      throw Stopped(reason: "line \(step.line.map(String.init) ?? "?"): \(reason)")
    }
    stepDone = world.now
    try world.settle()
    try tend()
    try options.inspect(step, WorldProcesses(world: world.run.world))
  }

  /// Waits until the time of a step.
  private func reach(_ instant: Instant) throws {
    try pass(until: instant)
    stepDone = world.now
  }

  func scaled(_ duration: Duration) -> Duration {
    StoryLength.duration(Double(duration.wholeNanoseconds) / 1e9 * scale)
  }

  func scaled(days: Double) -> Duration { StoryLength.duration(days * scale * 86400) }

  /// Lets the world run until then.
  func pass(until instant: Instant) throws {
    guard instant > world.now else { return }
    options.observe(.waiting(for: "the story's time to be \(instant)"))
    try world.run(until: instant) {
      try tend()
      return false
    }
  }

  /// Reads what happened, and records what ended by itself.
  func tend() throws {
    try chronicle.readNew()
    pass(on: chronicle.newInOrder())
    var fatal: String?
    for (machine, ended) in try world.tend() {
      fatal = fatal ?? ended.fatal
      // A world that can't continue without a process reports the process's end again and again.
      guard notedEnds.insert("\(machine) \(ended.process) \(ended.pid)").inserted else { continue }
      try mark(
        .processFailed, machine: machine, message: "\(ended.process) ended by itself: \(ended.end)",
        fields: [.pid: "\(ended.pid)", .program: ended.process])
    }
    if let fatal { throw WorldError(fatal) }
  }

  private func pass(on entries: [JournalEntry]) {
    for entry in entries where Report.isInTimeline(entry) { options.observe(.recorded(entry)) }
  }

  /// Reads what was recorded until the story stopped, and which processes ended. Some promises can still be judged by
  /// it.
  private func noteLastEnds() throws {
    do { try tend() } catch {
      try chronicle.readNew()
      pass(on: chronicle.newInOrder())
    }
  }

  func mark(
    _ event: Recorded.Story, machine: String = "", message: String, fields: [JournalField: String] = [:]
  ) throws {
    try chronicle.mark(event, at: world.now, machine: machine, message: message, fields: fields)
    pass(on: chronicle.newInOrder())
  }
}
