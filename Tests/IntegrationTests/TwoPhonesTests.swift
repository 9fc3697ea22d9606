import Foundation
import JournalEvents
import Testing

@testable import Stories

/// bluetoothd notifies all subscribers, and reports only the first. So messages between the lock and one phone are
/// not meant for the other phone, but reach it all the same.
@Suite("Two phones at one door, with real processes", .serialized, .timeLimit(.minutes(20)))
struct TwoPhonesTests {
  private func tell(_ steps: String, promises: String) async throws -> Report {
    let (report, outcome) = try await LatchkeyCommand.prove(
      """
      name: two phones
      days: 1
      radio: clear
      machines:
        door: {position: [0, 0], apps: [lock]}
        first: {position: [1, 0], apps: [agent]}
        second: {position: [2, 0], apps: [agent]}
      steps:
      \(steps)
      promises: [\(promises)]
      """)
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    return report
  }

  private static let bothAtHome = """
      - open app: {machine: first, app: agent}
      - wait for: {event: status.answered, machine: first, within: 2min}
      - leave app: {machine: first, app: agent}
      - open app: {machine: second, app: agent}
      - wait for: {event: status.answered, machine: second, within: 2min}
      - leave app: {machine: second, app: agent}
      - pass: 5min
    """

  @Test("H7: an answer to the other phone, which reaches this one as well, is not told as a failed proof alone")
  func otherPhonesAnswers() async throws {
    let report = try await tell(
      Self.bothAtHome + """

          - turn bolt: {machine: door, to: unlocked}
          - pass: 1min
          - turn bolt: {machine: door, to: locked, from: outside}
          - pass: 1min
        """, promises: "nothing-refused, nothing-crashed, no-errors-logged")
    let strange = report.timeline.filter { $0.process == Recorded.agent && $0.message.contains("authenticationFailed") }
    #expect(
      !strange.isEmpty && strange.allSatisfy { $0.message.contains("another phone") }, "\(strange.first?.message ?? "")"
    )
  }

  @Test("L2 L4: each opens the door when it comes home, and neither is refused, whatever the other is offered")
  func comings() async throws {
    let report = try await tell(
      Self.bothAtHome + """

          - move: {machine: second, to: [200, 0], over: 140s}
          - move: {machine: first, to: [200, 0], over: 140s}
          - pass: 10min
          - move: {machine: first, to: [1, 0], over: 140s}
          - wait for: {event: bolt.moved, machine: door, fields: {to: unlocked, cause: phone}, within: 4min}
          - wait for: {event: unlock.answered, machine: first, fields: {result: done}, within: 1min}
          - pass: 5min
          - move: {machine: first, to: [200, 0], over: 140s}
          - wait for: {event: bolt.moved, machine: door, fields: {to: locked, cause: leaving}, within: 4min}
          - pass: 10min
          - move: {machine: second, to: [2, 0], over: 140s}
          - wait for: {event: bolt.moved, machine: door, fields: {to: unlocked, cause: phone}, within: 4min}
          - wait for: {event: unlock.answered, machine: second, fields: {result: done}, within: 1min}
          - pass: 5min
          - move: {machine: second, to: [200, 0], over: 140s}
          - wait for: {event: bolt.moved, machine: door, fields: {to: locked, cause: leaving}, within: 4min}
        """, promises: "nothing-refused, told-nothing-twice, every-movement-recorded, nothing-crashed, no-errors-logged"
    )
    let written = report.timeline.filter { $0.is(Recorded.Agent.statusWritten) || $0.is(Recorded.Agent.unlockWritten) }
    #expect(written.count { $0.is(Recorded.Agent.unlockWritten) } == 2)
    // An offer that reaches both phones is answered by the one it is meant for, and by the other at most once. They
    // don't answer back and forth.
    #expect(written.count <= 10, "\(written.map { "\($0.machine) \($0.event ?? "")" })")
    #expect(report.timeline.filter { $0.is(Recorded.Lock.boltMoved) }.count == 4)
  }

  @Test("L8: the door locks behind the last one who leaves, and not before") func lastOne() async throws {
    let report = try await tell(
      Self.bothAtHome + """

          - move: {machine: first, to: [200, 0], over: 140s}
          - pass: 10min
          - move: {machine: first, to: [1, 0], over: 140s}
          - wait for: {event: bolt.moved, machine: door, fields: {to: unlocked, cause: phone}, within: 4min}
          - pass: 5min
          - move: {machine: first, to: [200, 0], over: 140s}
          - pass: 1h
          - note: the second one leaves
            move: {machine: second, to: [200, 0], over: 140s}
          - wait for: {event: bolt.moved, machine: door, fields: {to: locked, cause: leaving}, within: 4min}
        """, promises: "nothing-refused, every-movement-recorded, nothing-crashed, no-errors-logged")
    let moves = report.timeline.filter { $0.is(Recorded.Lock.boltMoved) }
    #expect(moves.count == 2)
    let left = try #require(report.timeline.last { $0.message.contains("the second one leaves") }?.t)
    #expect(try #require(moves.last?.t) > left)
  }

  @Test("L4: the lock's process dies while both are connected: its successor hears from both, and locks neither out")
  func restart() async throws {
    let report = try await tell(
      Self.bothAtHome + """

          - kill app: {machine: door, app: lock}
          - wait for: {event: status.answered, machine: first, within: 1min}
          - wait for: {event: status.answered, machine: second, within: 1min}
          - pass: 5min
        """, promises: "nothing-refused, nothing-crashed, no-errors-logged")
    #expect(report.timeline.filter { $0.is(Recorded.Lock.boltMoved) }.isEmpty)
  }

  @Test("L4: what the lock offers to a phone that it knows is marked, so one that it has not counted does not take it")
  func foreign() async throws {
    // The second phone is subscribed, but the lock does not know that.
    let report = try await tell(
      """
        - open app: {machine: first, app: agent}
        - wait for: {event: status.answered, machine: first, within: 2min}
        - move: {machine: first, to: [200, 0], over: 140s}
        - pass: 10min
        - open app: {machine: second, app: agent}
        - wait for: {event: subscribed, machine: second, within: 2min}
        - move: {machine: first, to: [1, 0], over: 140s}
        - wait for: {event: bolt.moved, machine: door, fields: {to: unlocked, cause: phone}, within: 4min}
        - wait for: {event: unlock.answered, machine: first, fields: {result: done}, within: 1min}
        - pass: 1min
      """, promises: "nothing-refused, nothing-crashed, no-errors-logged")
    #expect(report.timeline.filter { $0.is(Recorded.Lock.boltMoved) }.count == 1)
  }

  @Test(
    "L2 L4: phones that meet the lock for the first time at one moment are not refused, and none waits",
    arguments: 1...3)
  func together(seed: Int) async throws {
    let (_, outcome) = try await LatchkeyCommand.prove(
      """
      name: first links
      seed: \(seed)
      machines:
        door: {position: [0, 0], apps: [lock]}
        first: {position: [1, 0], apps: [agent]}
        second: {position: [2, 0], apps: [agent]}
        third: {position: [2, 1], apps: [agent]}
      steps:
        - wait for: {event: lock.started, machine: door, within: 1min}
        - open app: {machine: first, app: agent}
        - open app: {machine: second, app: agent}
        - open app: {machine: third, app: agent}
        - pass: 20s
        - unlock: {machine: first, expect: done}
        - unlock: {machine: second, expect: done}
        - unlock: {machine: third, expect: done}
      promises: [nothing-refused, nothing-crashed, no-errors-logged]
      """)
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
  }
}
