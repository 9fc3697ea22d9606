import ApproachTrials
import ArgumentParser
import Radio

/// Prints the table of docs/arrival.md: how often the policy opens a door when it should and when it should not.
@main struct ApproachTrialsProgram: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "approach-trials",
    abstract: "Tries the policy's thresholds on thousands of simulated approaches, jams and evenings at home.")

  @Option(help: "Runs of each kind at each level of noise.")
  var runs: UInt64 = 10_000

  @Option(help: "Only this kind of trial.")
  var only: String?

  @Option(help: "Only at this level of noise.")
  var noise: String?

  @Option(help: "The first seed.")
  var from: UInt64 = 0

  @Option(help: "Only locks that can tell this of their door: neither, hands, sensor, both.")
  var lock: String?

  @Option(help: "HomeConfiguration's fadedSignal, in dBm.")
  var faded: Int?

  @Option(help: "HomeConfiguration's fadingDuration, in seconds.")
  var fading: Double?

  @Option(help: "HomeConfiguration's returnMargin, in dB.")
  var margin: Int?

  @Option(help: "HomeConfiguration's returnRise, in dB.")
  var rise: Int?

  @Option(help: "How many of the farthest rooms are measured before each trial (`latchkey room`).")
  var rooms = 0

  @Flag(help: "The phone has no bond with the lock, as on a guest's first visit.")
  var unbonded = false

  @Flag(help: "Say what happens in each run.")
  var trace = false

  func run() throws {
    Trial.isTracing = trace
    Trial.measuredRooms = rooms
    Trial.isBonded = !unbonded
    if let faded {
      Trial.configuration.fadingMargin += Trial.configuration.fadedSignal - faded
      Trial.configuration.fadedSignal = faded
    }
    if let fading { Trial.configuration.fadingDuration = .seconds(fading) }
    if let margin { Trial.configuration.returnMargin = margin }
    if let rise { Trial.configuration.returnRise = rise }
    let levels: [(String, RadioPhysics)] = [("calm", .calm), ("ordinary", .ordinary), ("harsh", .harsh)]
    print(
      "| trial | noise | lock | runs | false opens | refused | opened twice | asked | s from 3 m: p50, p95, max | m at command: p50 |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for trial in Trial.allCases where only.map({ trial.rawValue.contains($0) }) ?? true {
      for (name, physics) in levels where noise.map({ name == $0 }) ?? true {
        for kind in TrialLock.allCases where lock.map({ kind.description == $0 }) ?? true {
          let figures = trial.run(seeds: from..<from + runs, physics: physics, lock: kind)
          let seconds = figures.secondsFromThreeMetres.sorted()
          let metres = figures.metresAtCommand.sorted()
          let times =
            seconds.isEmpty
            ? "" : "\(rounded(at(seconds, 0.5))), \(rounded(at(seconds, 0.95))), \(rounded(at(seconds, 1)))"
          print(
            "| \(trial.rawValue) | \(name) | \(kind.description) | \(figures.runs) | \(trial.isArrival ? "" : "\(figures.falseOpens)") "
              + "| \(trial.isArrival ? "\(figures.refused)" : "") | \(trial.isArrival ? "\(figures.openedTwice)" : "") "
              + "| \(figures.asked) | \(times) | \(metres.isEmpty ? "" : rounded(at(metres, 0.5))) |")
          if !figures.seeds.isEmpty { print("  seeds to look at: \(figures.seeds)") }
        }
      }
    }
  }

  private func at(_ sorted: [Double], _ share: Double) -> Double {
    sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
  }

  private func rounded(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
