import ArgumentParser
import ConsoleOutput
import Foundation
import Stories
import Worlds

// Many runs of one story must have the same outcome, whatever else the machine does. This counts the outcomes.
extension ProveCommand {
  /// The outcomes of runs with one scenario and seed, and how often each occurred.
  private struct Tally {
    var outcomes: [String: Int] = [:]
  }

  func repeatRuns(_ times: Int) throws {
    let interruption = Interruption()
    do {
      let folder = try Executables.ownFolder()
      let names = scenario.map { [$0] } ?? ScenarioLibrary.list(executableFolder: folder).map(\.name)
      let executables = try Executables(folder: folder)
      var tallies: [String: Tally] = [:]
      let began = ContinuousClock.now
      for round in 0..<times {
        for name in names {
          let story = try ScenarioLibrary.load(name, executableFolder: folder)
          let seed = (seed ?? story.seed) &+ UInt64(round % seeds)
          let report = try ScenarioRun.run(
            story, executables: executables,
            options: ScenarioRun.Options(days: days, seed: seed, worldBegan: { interruption.watch($0) }))
          interruption.letItEnd()
          let key = "\(name) seed \(seed)"
          let fingerprint = report.fingerprint.map { "\($0.digest) (\($0.events) events)" } ?? "-"
          let outcome = "\(report.kept ? "KEPT  " : "BROKEN") \(fingerprint) radio \(report.radio.digest)"
          let isNew =
            tallies[key, default: Tally()].outcomes.updateValue(
              (tallies[key]?.outcomes[outcome] ?? 0) + 1, forKey: outcome) == nil
          if isNew { Console.say("\(key): \(outcome)") }
          if !report.kept, let problem = report.problem { Console.say("  stopped: \(problem)") }
        }
        if Console.failure != nil { break }
      }
      tell(tallies, began.duration(to: .now))
      Console.end(program: "latchkey")
      if tallies.values.contains(where: { $0.outcomes.count > 1 || $0.outcomes.keys.contains { $0.hasPrefix("B") } }) {
        throw ExitCode(1)
      }
    } catch let error as ExitCode {
      throw error
    } catch {
      interruption.letItEnd()
      Console.complain("latchkey: \(error)")
      throw ExitCode(error is ScenarioError ? 64 : 1)
    }
  }

  private func tell(_ tallies: [String: Tally], _ duration: Duration) {
    Console.say("")
    var runs = 0
    var several = 0
    for (key, tally) in tallies.sorted(by: { $0.key < $1.key }) {
      let count = tally.outcomes.values.reduce(0, +)
      runs += count
      if tally.outcomes.count > 1 { several += 1 }
      for (outcome, number) in tally.outcomes.sorted(by: { $0.key < $1.key }) {
        Console.say("\(number) of \(count)  \(key): \(outcome)")
      }
    }
    Console.say(
      "\(runs) runs, \(tallies.count) of a scenario and a seed, \(several) of these with more than one outcome, in "
        + "\(duration.components.seconds) s")
  }
}
