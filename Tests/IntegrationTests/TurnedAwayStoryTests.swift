import JournalEvents
import Testing

@testable import Stories

/// A phone that its lock turns away stays within reach, with real processes.
@Suite("Phones that their lock turns away", .serialized, .timeLimit(.minutes(15)))
struct TurnedAwayStoryTests {
  private func tell(_ steps: String, machines: String = "", promises: String = "") async throws -> Report {
    let (report, outcome) = try await LatchkeyCommand.prove(
      """
      name: turned away
      days: 1
      radio: clear
      machines:
        door: {position: [0, 0], apps: [lock]}
        alice: {position: [1, 0], apps: [agent]}
      \(machines)
      steps:
          - wait for: {event: lock.started, machine: door, within: 1min}
          - open app: {machine: alice, app: agent}
          - wait for: {event: status.answered, machine: alice, within: 2min}
      \(steps)
      promises: [told-nothing-twice, nothing-crashed, no-errors-logged\(promises)]
      """)
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    return report
  }

  private static let guest = """
        - open app: {machine: ben, app: agent}
        - invite guest: {machine: alice, guest: Ben}
        - accept invitation: {machine: ben, guest: Ben, as: alices}
        - wait for: {event: status.answered, machine: ben, within: 2min}
        - leave app: {machine: ben, app: agent}
        - revoke: {machine: alice, guest: Ben}
        - unlock: {machine: ben, expect: refused, saying: revoked}
    """

  private func links(_ report: Report, _ machine: String) -> Int {
    report.timeline.count { $0.machine == machine && $0.is(Recorded.Agent.didConnect) }
  }

  @Test(
    "L2 L5: a revoked guest who stays for three hours has nine links, their questions are answered, and a new invitation is used at once"
  )
  func revokedGuest() async throws {
    let report = try await tell(
      Self.guest + """

            - pass: 3h
            - unlock: {machine: ben, expect: refused, saying: revoked}
            - read log: {machine: ben, expect: refused, saying: revoked}
            - invite guest: {machine: alice, guest: Benno}
            - accept invitation: {machine: ben, guest: Benno, as: alices}
            - wait for: {event: status.answered, machine: ben, fields: {result: unknownOperation}, within: 10s}
            - unlock: {machine: ben, expect: done}
        """, machines: "  ben: {position: [2, 0], apps: [agent], enrolled: no}", promises: ", refusals-logged")
    // The first, those after 0, 1, 2, 4 … min, two for the questions, and the one with the new invitation.
    #expect(links(report, "ben") <= 13, "\(links(report, "ben"))")
    #expect(links(report, "ben") >= 9)
  }

  @Test("L2: a guest whose invitation is over comes no more often, nor does one whose agent is killed meanwhile")
  func killed() async throws {
    let report = try await tell(
      Self.guest + """

            - pass: 5s
            - kill app: {machine: ben, app: agent}
            - pass: 30min
            - kill app: {machine: ben, app: agent}
            - pass: 30min
        """, machines: "  ben: {position: [2, 0], apps: [agent], enrolled: no}")
    #expect(links(report, "ben") <= 8, "\(links(report, "ben"))")
  }

  @Test(
    "L2 L6: a lock that was reset is written to twice, then once for each link; who asks is told why, and may still revoke"
  )
  func reset() async throws {
    let report = try await tell(
      """
          - unlock: {machine: alice, expect: done}
          - invite guest: {machine: alice, guest: Ben}
          - leave app: {machine: alice, app: agent}
          - lock reset: {machine: door, to: pressed}
          - pass: 11s
          - lock reset: {machine: door, to: released}
          - pass: 1h
          - unlock: {machine: alice, expect: refused, saying: refuses this phone, within: 8s}
          - look at door: {machine: alice, expect: refused, saying: refuses this phone, within: 8s}
          - revoke: {machine: alice, guest: Ben, saying: revoke-1-}
      """)
    let written = report.timeline.count { $0.is(Recorded.Agent.statusWritten) }
    #expect(written <= 14, "\(written)")
    #expect(links(report, "alice") <= 10, "\(links(report, "alice"))")
  }

  @Test(
    "L3 L5: a guest whose revocation is taken back and who comes home from elsewhere gets in without doing anything")
  func restored() async throws {
    _ = try await tell(
      Self.guest + """

            - pass: 5s
            - move: {machine: ben, to: [200, 0], over: 140s}
            - turn bolt: {machine: door, to: locked, from: outside}
            - pass: 2h
            - invite guest: {machine: alice, guest: Benno}
            - accept invitation: {machine: ben, guest: Benno, as: alices}
            - pass: 30min
            - move: {machine: ben, to: [1, 1], over: 140s}
            - wait for: {event: unlock.answered, machine: ben, within: 5min}
        """, machines: "  ben: {position: [2, 0], apps: [agent], enrolled: no}",
      promises: ", \"opened only for\": [ben]")
  }
}
