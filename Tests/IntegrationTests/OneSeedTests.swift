import Testing

/// What a seed decides.
@Suite("One seed tells one story, with real processes", .timeLimit(.minutes(15)))
struct OneSeedTests {
  /// The lock's process is stopped while bluetoothd starts anew, so it goes on with a queue of events.
  private static func story(seed: Int) -> String {
    """
    name: one-seed
    seed: \(seed)
    machines:
      door: {position: [0, 0], apps: [lock]}
      phone: {position: [1, 0], apps: [agent]}
    steps:
      - open app: {machine: phone, app: agent}
      - wait for: {event: status.answered, machine: phone, within: 5min}
      - hang app: {machine: door, app: lock}
      - kill bluetoothd: door
      - pass: 2min
      - continue app: {machine: door, app: lock}
      - pass: 10min
    promises: [nothing-crashed]
    """
  }

  @Test("A4: two runs of a seed name the lock alike, and another seed names it otherwise")
  func names() async throws {
    var runs: [(name: String, fingerprint: String)] = []
    for seed in [7, 7, 8] {
      let (report, outcome) = try await LatchkeyCommand.prove(Self.story(seed: seed))
      #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
      let held = try #require(report.timeline.first { $0.event == "request.held" })
      runs.append((try #require(held.fields["peripheral"]), "\(try #require(report.fingerprint))"))
    }
    #expect(runs[0] == runs[1])
    #expect(runs[0].name != runs[2].name)
  }
}
