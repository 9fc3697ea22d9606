import Timekeeping

/// One behaviour of BlueZ: a script that shows it on any two machines, and what the documentation says about it.
package struct ConformanceCase: Sendable {
  package var name: String
  package var setup: WorldSetup
  let body: @Sendable (Stage) async throws -> Void

  init(_ name: String, setup: WorldSetup = WorldSetup(), _ body: @escaping @Sendable (Stage) async throws -> Void) {
    self.name = name
    self.setup = setup
    self.body = body
  }

  package static let all: [ConformanceCase] =
    DiscoveryCases.all + ConnectionCases.all + AttributeCases.all + PairingCases.all + AutoConnectCases.all
    + ServerCases.all + RestartCases.all + ErrorCases.all + AdvertisementCases.all + ApplicationCases.all
    + InterfaceCases.all + MonitorCases.all + LinkStartCases.all + AnswerCases.all + AdapterCases.all
    + BatteryCases.all + StrangerCases.all + SeveralClientsCases.all
}

/// Runs cases on a world.
package struct ConformanceRun: Sendable {
  package struct Result: Sendable {
    package var seen: Transcript.Case
    /// Expectations that did not hold, and conditions without which the case could not continue.
    package var failures: [String]
  }

  let world: any ConformanceWorld
  let time: any TimeSource

  package init(world: any ConformanceWorld, time: any TimeSource) {
    self.world = world
    self.time = time
  }

  /// Runs one case in a new world.
  package func run(_ wanted: ConformanceCase) async -> Result {
    let stage: Stage
    do {
      stage = try await Stage(world: world, setup: wanted.setup, time: time)
    } catch {
      return Result(seen: Transcript.Case(wanted.name), failures: ["the world does not begin: \(error)"])
    }
    defer { stage.close() }
    var failures: [String] = []
    do {
      try await wanted.body(stage)
    } catch {
      failures.append("stuck: \(error)")
    }
    return Result(
      seen: Transcript.Case(wanted.name, stage.recorder.steps), failures: stage.recorder.failures + failures)
  }
}
