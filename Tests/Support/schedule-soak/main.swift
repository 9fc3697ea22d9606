import ArgumentParser
import Dispatch
import Foundation
import ScheduleTesting
import Synchronization

/// Carries out schedules until one breaks a promise. A failing seed is shrunk, and printed as a command that replays
/// it.
struct ScheduleSoak: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schedule-soak",
    abstract: "Carries out random schedules of calls, deaths and faults, and checks what every app was promised.")

  @Option(help: "How many seeds.") var seeds: UInt64 = 1000
  @Option(help: "Go on with further seeds until so many seconds are over.") var seconds: Int = 0
  @Option(help: "Carry out every order of at most so many events of a small world instead.") var exhaustive: Int?
  @Option(help: "The first seed.") var first: UInt64 = 1
  @Option(help: "Steps of a schedule.") var steps: Int = 40
  @Option(help: "Carry out this schedule instead: steps separated by semicolons.") var replay: String?
  @Flag(help: "Replay it in the small world of one app and one peripheral.") var pair = false
  @Flag(help: "Print everything that happens in a replay.") var trace = false
  @Flag(help: "Go on after a seed that fails.") var keepGoing = false
  @Option(help: "How often a failing schedule may be tried with fewer steps.") var trials: Int = 400
  @Option(help: "Put this fault into the systems.") var fault: String?
  @Option(help: "How many schedules are carried out at the same time; all processors' by default.")
  var jobs: Int = ProcessInfo.processInfo.activeProcessorCount

  func validate() throws {
    guard (1...10_000).contains(steps) else { throw ValidationError("A schedule has 1 to 10000 steps.") }
    guard (0...1_000_000).contains(seconds) else { throw ValidationError("The time is 0 to 1,000,000 s.") }
    guard (1...1024).contains(jobs) else { throw ValidationError("There are 1 to 1024 jobs.") }
    if let exhaustive, !(0...7).contains(exhaustive) { throw ValidationError("An order has 0 to 7 events.") }
    guard seeds >= 1, first <= .max - seeds else {
      throw ValidationError("Give at least one seed, and no more than there are.")
    }
    if let fault, Fault(rawValue: fault) == nil {
      throw ValidationError(
        "There is no fault \(fault); there are \(Fault.allCases.map(\.rawValue).joined(separator: ", ")).")
    }
  }

  func run() throws {
    let fault = fault.flatMap { Fault(rawValue: $0) }
    if let replay {
      switch Schedule.steps(replay) {
      case .failure(let unknown): throw ValidationError("\"\(unknown.text)\" is no step.")
      case .success(let steps):
        let listener: (@Sendable (String) -> Void)? = trace ? { @Sendable line in say(line) } : nil
        let trial = Trial(
          Schedule(seed: first, steps: steps), cast: pair ? .pair : nil, fault: fault, trace: listener)
        for complaint in trial.complaints { say(complaint) }
        say(trial.isKept ? "All promises are kept." : "After \(trial.steps) of \(steps.count) steps.")
        if !trial.isKept { throw ExitCode(1) }
      }
      return
    }
    if let exhaustive { return try explore(exhaustive, fault) }
    var failures = 0
    var tally: [String: Int] = [:]
    let began = Date()
    var seed = first
    var done: UInt64 { seed - first }
    while done < seeds || Date().timeIntervalSince(began) < Double(seconds) {
      let batch = done < seeds ? min(UInt64(jobs) * 8, seeds - done) : UInt64(jobs)
      for (schedule, trial) in carryOut(seed..<seed + batch, fault) {
        seed += 1
        tally.merge(trial.tally, uniquingKeysWith: +)
        if !trial.isKept {
          failures += 1
          report(schedule, trial, fault)
          if !keepGoing { throw ExitCode(1) }
        }
        if done.isMultiple(of: 100) {
          say("\(done) seeds, \(failures) broken, \(Int(Date().timeIntervalSince(began))) s")
        }
      }
    }
    say("\(done) seeds of \(steps) steps, \(failures) broken, \(Int(Date().timeIntervalSince(began))) s")
    say("Apps were told: " + tally.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))
    if failures > 0 { throw ExitCode(1) }
  }

  /// Several at the same time, and their results in order.
  private func carryOut(_ seeds: Range<UInt64>, _ fault: Fault?) -> [(Schedule, Trial)] {
    let waiting = Mutex(Array(seeds))
    let done = Mutex<[UInt64: (Schedule, Trial)]>([:])
    DispatchQueue.concurrentPerform(iterations: min(jobs, seeds.count)) { _ in
      while let seed = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
        let schedule = ScheduleGenerator.schedule(seed: seed, steps: steps)
        let trial = Trial(schedule, fault: fault)
        done.withLock { $0[seed] = (schedule, trial) }
      }
    }
    return done.withLock { $0.sorted { $0.key < $1.key }.map(\.value) }
  }

  private func explore(_ events: Int, _ fault: Fault?) throws {
    let began = Date()
    @Sendable func seconds() -> Int { Int(Date().timeIntervalSince(began)) }
    let world = SmallWorld(events: events, fault: fault) { world in
      if let (schedule, complaint) = world.justBroken {
        say("\(complaint)\n  schedule-soak --pair --first \(schedule.seed) --replay '\(schedule)'")
      } else {
        say("\(world.states) states, \(world.steps) steps, \(world.broken.count) broken, \(seconds()) s")
      }
    }
    let levels = world.levels.map { "\($0)" }.joined(separator: ", ")
    say("States first reached by an order of 0, 1, 2 … of \(SmallWorld.events.count) events: \(levels).")
    say("\(world.states) states, \(world.steps) steps, \(world.broken.count) broken, \(seconds()) s")
    if !world.broken.isEmpty { throw ExitCode(1) }
  }

  private func report(_ schedule: Schedule, _ trial: Trial, _ fault: Fault?) {
    say(
      "seed \(schedule.seed) breaks after \(trial.steps) steps: \(trial.complaints.prefix(3).joined(separator: "; "))")
    let kind = trial.complaints.first.map(Self.kind) ?? ""
    guard trials > 0 else { return }
    let short = schedule.shrunk(
      while: { candidate in Trial(candidate, fault: fault).complaints.contains { Self.kind($0) == kind } },
      trials: trials)
    let last = Trial(short, fault: fault)
    say("  in \(short.steps.count) steps: \(last.complaints.prefix(3).joined(separator: "; "))")
    say("  schedule-soak --first \(schedule.seed) --replay '\(short)'")
  }

  /// A complaint without its numbers: while shrinking, the same promise has to be broken.
  private static func kind(_ complaint: String) -> String { complaint.filter { !$0.isNumber } }
}

/// Unbuffered, so that a long run shows how far it is.
private func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

ScheduleSoak.main()
