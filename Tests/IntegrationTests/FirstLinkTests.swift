import Journal
import Testing

@testable import Stories

/// bluetoothd dies at any moment of the first link, in which the phone looks at the lock, pairs and proves itself.
@Suite("The first link is lost, with real processes", .serialized, .timeLimit(.minutes(20)))
struct FirstLinkTests {
  /// From link-up over the services and the pairing to the subscriptions.
  static let moments = [50, 400, 700, 1000, 1300, 1550, 1850, 2300]

  @Test(
    "A8, M1: whenever the first link is lost, the next one is asked for at once and proves the lock", arguments: moments
  )
  func lost(milliseconds: Int) async throws {
    let (report, outcome) = try await LatchkeyCommand.prove(
      """
      name: first-link
      machines:
        door: {position: [0, 0], apps: [lock]}
        phone: {position: [1, 0], apps: [agent]}
      steps:
        - wait for: {event: lock.started, machine: door, within: 2min}
        - open app: {machine: phone, app: agent}
        - pass: \(milliseconds)ms
        - kill bluetoothd: door
        - wait for: {event: status.answered, machine: phone, within: 10s}
      promises: [nothing-crashed, nothing-refused]
      """)
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    let complaints = report.timeline.filter {
      $0.process == "latchkey-agent" && ["warning", "error"].contains($0.level)
    }
    #expect(complaints.isEmpty, "\(complaints)")
  }
}
