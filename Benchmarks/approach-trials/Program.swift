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

  @Option(help: "Only this level of noise: calm, ordinary or harsh.")
  var noise: String?

  @Option(help: "The first run's seed; others follow.")
  var seed: UInt64 = 0

  @Flag(help: "Show what happens in each run, as the agent sees it.")
  var trace = false

  func run() throws {
    let levels: [(String, RadioPhysics)] = [("calm", .calm), ("ordinary", .ordinary), ("harsh", .harsh)]
    if trace { TrialWorld.trace = { print($0) } }
    print(
      "| trial | runs | noise | homes at the edge | false opens | refused | refused at the edge | opened twice | asked "
        + "| s from 3 m: p50, p95, max | m at command: p50 |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for trial in Trial.allCases where only.map({ trial.rawValue.contains($0) }) ?? true {
      for (name, physics) in levels where noise.map({ $0 == name }) ?? true {
        let figures = trial.run(seeds: seed..<(seed + runs), physics: physics)
        let seconds = figures.secondsFromThreeMetres.sorted()
        let metres = figures.metresAtCommand.sorted()
        let times =
          seconds.isEmpty
          ? "" : "\(rounded(at(seconds, 0.5))), \(rounded(at(seconds, 0.95))), \(rounded(at(seconds, 1)))"
        let counts =
          trial.isArrival
          ? " | \(figures.refused) | \(figures.refusedAtEdge) | \(figures.openedTwice)"
          : "\(figures.falseOpens) | | |"
        print(
          "| \(trial.rawValue) | \(figures.runs) | \(name) | \(figures.homesAtEdge) | \(counts) | \(figures.asked) "
            + "| \(times) | \(metres.isEmpty ? "" : rounded(at(metres, 0.5))) |")
        if !figures.seeds.isEmpty { print("  seeds to look at: \(figures.seeds)") }
      }
    }
  }

  private func at(_ sorted: [Double], _ share: Double) -> Double {
    sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
  }

  private func rounded(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
