import Foundation
import JournalEvents
import Testing

@testable import Stories

/// Steps about an app that does not run, with real processes.
@Suite("Steps about an app that does not run, with real processes", .serialized, .timeLimit(.minutes(5)))
struct DeadAppStoryTests {
  private func tell(_ steps: String) async throws -> Report {
    try await LatchkeyCommand.prove(
      """
      name: nobody there
      radio: clear
      machines:
        door: {position: [0, 0], apps: [lock]}
        phone: {position: [1, 0], apps: [agent]}
      steps:
        - wait for: {event: lock.started, machine: door, within: 1min}
      \(steps)
      promises: [nothing-crashed]
      """
    ).report
  }

  @Test(
    "H7: a story can't kill or hang an app that does not run, and says why it does not run and what to do",
    arguments: [("kill", "killed"), ("hang", "hung")])
  func dead(_ kind: String, _ done: String) async throws {
    let never = try await tell("  - \(kind) app: {machine: phone, app: agent}")
    #expect(
      never.problem
        == "line 8: the agent does not run on phone, and can't be \(done); the agent on phone was never started, as by `open app`; "
        + "a step before has to open it, or to wait until its system has started it again")
    let ended = try await tell(
      """
        - open app: {machine: phone, app: agent}
        - wait for: {event: status.answered, machine: phone, within: 2min}
        - quit app: {machine: phone, app: agent}
        - pass: 10s
        - \(kind) app: {machine: phone, app: agent}
      """)
    let problem = ended.problem ?? ""
    #expect(problem.hasPrefix("line 12: the agent does not run on phone, and can't be \(done); "), "\(problem)")
    #expect(
      problem.contains("the agent on phone had ended (quit), and is not started before it is opened again"),
      "\(problem)")
    // What did not happen is not in the timeline.
    #expect(!ended.timeline.contains { $0.is(Recorded.Story.appKilled) || $0.is(Recorded.Story.appHung) })
  }

  @Test("H7: an app that has ended while it hung has nothing to continue, and the story goes on")
  func continued() async throws {
    let report = try await tell(
      """
        - open app: {machine: phone, app: agent}
        - wait for: {event: status.answered, machine: phone, within: 2min}
        - hang app: {machine: phone, app: agent}
        - kill app: {machine: phone, app: agent}
        - continue app: {machine: phone, app: agent}
        - pass: 10s
      """)
    #expect(report.problem == nil && report.kept, "\(report.problem ?? "")\n\(report.promises.map(\.reason))")
  }
}
