import Foundation
import JournalEvents
import Testing

@testable import Stories

/// The door's sensor, the lock and the phone as processes of their own: who goes out, who comes back, who only seems to.
@Suite("A door with a sensor, with real processes", .serialized, .timeLimit(.minutes(20)))
struct DoorSensorStoryTests {
  private func tell(_ steps: String, promises: String) async throws -> Report {
    let (report, outcome) = try await LatchkeyCommand.prove(
      """
      name: a door with a sensor
      days: 1
      radio: clear
      machines:
        door: {position: [0, 0], apps: [lock]}
        phone: {position: [-1, 0], apps: [agent]}
      steps:
      \(steps)
      promises: [\(promises)]
      """)
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    return report
  }

  private static let atHome = """
      - open app: {machine: phone, app: agent}
      - wait for: {event: status.answered, machine: phone, within: 2min}
      - turn bolt: {machine: door, to: unlocked}
      - wait for: {event: bolt.moved, machine: door, fields: {to: unlocked}, within: 1min}
      - leave app: {machine: phone, app: agent}
      - wait for: {event: app.suspended, machine: phone, fields: {app: org.latchkey.agent}, within: 2min}
      - pass: 5min
    """

  @Test("L2: goes out through the door, locks it by hand, and comes back faster than a link's beginning can be seen")
  func outAndBack() async throws {
    let report = try await tell(
      Self.atHome + """

          - door: {machine: door, to: open}
          - pass: 2s
          - move: {machine: phone, to: [200, 0], over: 140s, as: departure}
          - pass: 3s
          - door: {machine: door, to: shut}
          - turn bolt: {machine: door, to: locked}
          - wait for: {event: link.down, within: 4min}
          - pass: 3h
          - move: {machine: phone, to: [1, 0], over: 22s, as: arrival}
          - wait for: {event: bolt.moved, machine: door, fields: {to: unlocked, cause: phone}, within: 2min}
          - wait for: {event: unlock.answered, machine: phone, fields: {result: done}, within: 1min}
          - door: {machine: door, to: open}
          - pass: 3s
          - door: {machine: door, to: shut}
          - pass: 20min
        """,
      promises: "unlocked-once, opened-only-on-arrival, nothing-refused, every-movement-recorded, nothing-crashed, "
        + "no-errors-logged")
    let command = report.timeline.last { $0.is(Recorded.Lock.commandAccepted) && $0.fields["command"] != "status" }
    #expect(command?.fields["command"] == "unlockIfLeft")
  }

  @Test(
    "attack 13: a relay that is switched on beside a phone that was seen to leave opens nothing: its owner is asked")
  func relayed() async throws {
    _ = try await tell(
      Self.atHome + """

          - door: {machine: door, to: open}
          - pass: 2s
          - move: {machine: phone, to: [200, 0], over: 140s, as: departure}
          - pass: 3s
          - door: {machine: door, to: shut}
          - wait for: {event: bolt.moved, machine: door, fields: {to: locked, cause: leaving}, within: 5min}
          - wait for: {event: walk.ended, fields: {machine: phone}, within: 5min}
          - pass: 3h
          - move: {machine: phone, to: [1.5, 0]}
          - wait for: {event: unlock.asked, machine: phone, within: 2min}
          - pass: 10min
          - move: {machine: phone, to: [200, 0]}
          - pass: 1h
        """,
      promises: "never-unlocked-while-away, \"opened only for\": [], nothing-refused, nothing-crashed, no-errors-logged"
    )
  }

  @Test("L2: a link that ends at once, as in a lift, hides that its phone leaves: a whole approach opens")
  func lift() async throws {
    let report = try await tell(
      Self.atHome + """

          - door: {machine: door, to: open}
          - pass: 3s
          - door: {machine: door, to: shut}
          - pass: 10s
          - block radio: phone
          - move: {machine: phone, to: [200, 0], over: 100s, as: departure}
          - wait for: {event: bolt.moved, machine: door, fields: {to: locked, cause: leaving}, within: 5min}
          - free radio: phone
          - pass: 3h
          - move: {machine: phone, to: [1, 0], over: 140s, as: arrival}
          - wait for: {event: bolt.moved, machine: door, fields: {to: unlocked, cause: phone}, within: 5min}
          - wait for: {event: unlock.answered, machine: phone, fields: {result: done}, within: 1min}
          - pass: 20min
        """,
      promises: "unlocked-once, opened-only-on-arrival, nothing-refused, every-movement-recorded, nothing-crashed, "
        + "no-errors-logged")
    let command = report.timeline.last { $0.is(Recorded.Lock.commandAccepted) && $0.fields["command"] != "status" }
    #expect(command?.fields["command"] != "unlockIfLeft")
  }

  @Test(
    "L2: whoever locks the door behind them by hand or by command and walks off comes back without a question, though no sensor saw it",
    arguments: ["turn bolt: {machine: door, to: locked}", "lock: phone"])
  func locksBehindOneself(_ locking: String) async throws {
    let report = try await tell(
      Self.atHome + """

          - move: {machine: phone, to: [1, 0], over: 2s}
          - pass: 3s
          - \(locking)
          - wait for: {event: bolt.moved, machine: door, fields: {to: locked}, within: 1min}
          - move: {machine: phone, to: [200, 0], over: 140s, as: departure}
          - wait for: {event: link.down, within: 4min}
          - pass: 3h
          - move: {machine: phone, to: [1, 0], over: 22s, as: arrival}
          - wait for: {event: bolt.moved, machine: door, fields: {to: unlocked, cause: phone}, within: 2min}
          - wait for: {event: unlock.answered, machine: phone, fields: {result: done}, within: 1min}
          - pass: 20min
        """,
      promises: "unlocked-once, opened-only-on-arrival, nothing-refused, every-movement-recorded, nothing-crashed, "
        + "no-errors-logged")
    let command = report.timeline.last { $0.is(Recorded.Lock.commandAccepted) && $0.fields["command"] != "status" }
    #expect(command?.fields["command"] == "unlockIfLeft")
  }

  @Test("L7, A1: stays in, the radio is dead for a while, and walks to the door from the farthest room: it asks")
  func staysIn() async throws {
    let report = try await tell(
      Self.atHome + """

          - door: {machine: door, to: open}
          - pass: 5s
          - door: {machine: door, to: shut}
          - turn bolt: {machine: door, to: locked}
          - move: {machine: phone, to: [-30, 0], over: 30s}
          - pass: 15min
          - block radio: door
          - pass: 4min
          - free radio: door
          - pass: 10s
          - move: {machine: phone, to: [-1, 0], over: 25s}
          - wait for: {event: unlock.answered, machine: phone, fields: {result: lockedAtHome}, within: 2min}
          - wait for: {event: unlock.asked, machine: phone, within: 1min}
          - pass: 10min
          - unlock: phone
          - wait for: {event: word.answered, machine: phone, fields: {outcome: done}, within: 1min}
        """, promises: "nothing-refused, every-movement-recorded, nothing-crashed, no-errors-logged")
    let opened = report.timeline.filter { $0.is(Recorded.Lock.boltMoved) && $0.fields["cause"] == "phone" }
    #expect(opened.count == 1, "by the owner's word alone")
  }
}
