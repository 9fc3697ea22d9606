import Journal
import JournalEvents
import Testing

@testable import Stories

/// A pairing that only one of a phone and its lock still has, with real processes.
@Suite("Forgotten pairings", .serialized, .timeLimit(.minutes(15)))
struct ForgottenPairingTests {
  private func tell(_ steps: String) async throws -> Report {
    let (report, outcome) = try await LatchkeyCommand.prove(
      """
      name: forgotten pairing
      days: 1
      radio: calm
      machines:
        door: {position: [0, 0], apps: [lock]}
        phone: {position: [1, 0], apps: [agent]}
      steps:
          - wait for: {event: lock.started, machine: door, within: 1min}
          - open app: {machine: phone, app: agent}
          - wait for: {event: status.answered, machine: phone, within: 2min}
          - pass: 30s
          - leave app: {machine: phone, app: agent}
      \(steps)
      promises: [nothing-crashed, opened-only-on-arrival]
      """)
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    return report
  }

  private func count<Event: JournalEvent>(_ event: Event, on machine: String, in report: Report) -> Int {
    report.timeline.count { $0.machine == machine && $0.is(event) }
  }

  @Test("L5 L2: a phone that has lost its pairing sleeps beside its lock, and comes back when the button is pressed")
  func lostByPhone() async throws {
    let report = try await tell(
      """
          - forget pairings: phone
          - pass: 30min
          - lock enrolment: door
          - wait for: {event: bond.lost, machine: door, within: 2min}
          - wait for: {event: profile.registered, machine: phone, within: 1min}
          - unlock: {machine: phone, saying: The door is unlocked}
          - move: {machine: phone, to: [200, 0], over: 140s, as: departure}
          - pass: 20min
          - move: {machine: phone, to: [1, 0], over: 140s, as: arrival}
          - wait for: {event: bolt.moved, machine: door, fields: {to: unlocked, cause: phone}, within: 5min}
      """)
    #expect(count(Recorded.Daemon.linksBrief, on: "phone", in: report) == 1)
    // It hears of the first ten. Then nobody wakes it for half an hour.
    #expect(count(Recorded.Agent.didConnect, on: "phone", in: report) < 20)
    #expect(count(Recorded.Daemon.appResumed, on: "phone", in: report) < 10)
  }

  @Test("L5: a phone whose lock has lost the pairing makes it anew once it is removed on the phone as well")
  func lostByLock() async throws {
    let report = try await tell(
      """
          - forget pairings: door
          - pass: 30min
          - forget pairings: phone
          - wait for: {event: profile.registered, machine: phone, within: 1min}
          - unlock: {machine: phone, saying: The door is unlocked}
      """)
    #expect(count(Recorded.Daemon.linkBarren, on: "phone", in: report) == 1)
    #expect(count(Recorded.Agent.didConnect, on: "phone", in: report) < 20)
  }

  @Test("L5: links lost at the edge of the range take no pairing while another owner's phone is still in its box")
  func edgeOfTheRange() async throws {
    let (report, outcome) = try await LatchkeyCommand.prove(
      """
      name: edge of the range
      seed: 1
      radio: calm
      days: 1
      machines:
        door: {position: [0, 0], apps: [lock]}
        alice: {position: [1, 0], apps: [agent]}
        bob: {position: [2, 0], apps: [agent]}
      steps:
        - wait for: {event: lock.started, machine: door, within: 1min}
        - open app: {machine: alice, app: agent}
        - wait for: {event: status.answered, machine: alice, within: 2min}
        - turn bolt: {machine: door, to: unlocked}
        - wait for: {event: bolt.moved, machine: door, fields: {to: unlocked}, within: 1min}
        - leave app: {machine: alice, app: agent}
        - wait for: {event: app.suspended, machine: alice, fields: {app: org.latchkey.agent}, within: 2min}
        - move: {machine: alice, to: [200, 0], over: 140s, as: departure}
        - wait for: {event: bolt.moved, machine: door, fields: {to: locked}, within: 5min}
        - at: +2h
          move: {machine: alice, to: [1, 0], over: 140s, as: arrival}
        - wait for: {event: bolt.moved, machine: door, fields: {to: unlocked}, within: 5min}
      promises: [nothing-crashed, opened-once, unlocked-once]
      """)
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    #expect(count(Recorded.Daemon.linkBarren, on: "door", in: report) == 1, "links were lost again and again")
    #expect(count(Recorded.Daemon.bondLost, on: "door", in: report) == 0)
  }
}
