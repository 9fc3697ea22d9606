import Foundation
import JournalEvents
import Testing

@testable import Stories

/// What the lock's mechanism can do and suffer, beyond turning: the lock, its phone and its hands in processes of their own.
@Suite("The lock's mechanism, with real processes", .serialized, .timeLimit(.minutes(15)))
struct MechanismStoryTests {
  private func tell(_ steps: String) async throws -> Report {
    let (report, outcome) = try await LatchkeyCommand.prove(
      """
      name: a mechanism
      days: 1
      radio: clear
      machines:
        door: {position: [0, 0], apps: [lock]}
        phone: {position: [1, 0], apps: [agent]}
      steps:
        - open app: {machine: phone, app: agent}
        - wait for: {event: status.answered, machine: phone, within: 2min}
      \(steps)
      promises: [every-movement-recorded, nothing-crashed]
      """)
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    return report
  }

  private static func alarm(_ name: String, _ event: String = "alarm.raised", within: String = "1min") -> String {
    "  - wait for: {event: \(event), machine: door, fields: {alarm: \(name)}, within: \(within)}\n"
  }

  @Test("L6: in privacy no phone opens, not even its owner's by command, until somebody inside opens")
  func privacy() async throws {
    let report = try await tell(
      """
        - unlock: {machine: phone, saying: The door is unlocked}
        - lock mode: {machine: door, to: privacy}
        - wait for: {event: bolt.moved, machine: door, fields: {to: locked}, within: 1min}
        - unlock: {machine: phone, expect: refused, saying: The lock's operating mode does not allow it}
        - lock: {machine: phone, saying: The door was locked already}
        - turn bolt: {machine: door, to: unlocked, from: inside}
        - wait for: {event: mode.changed, machine: door, fields: {mode: normal}, within: 1min}
        - lock: {machine: phone, saying: The door is locked}
        - unlock: {machine: phone, saying: The door is unlocked}
        - lock mode: {machine: door, to: noRemoteLockUnlock}
        - lock: {machine: phone, expect: refused, saying: The lock's operating mode does not allow it}
        - read log: {machine: phone, saying: ["the mode was set to privacy", "refused by the lock's mode"]}
      """)
    #expect(report.kept)
  }

  @Test("L2, F1: a lock locks behind its owner also after somebody has left its app") func leftAlone() async throws {
    let report = try await tell(
      """
        - turn bolt: {machine: door, to: unlocked, from: inside}
        - leave app: {machine: phone, app: agent}
        - leave app: {machine: door, app: lock}
        - pass: 1min
        - move: {machine: phone, to: [200, 0], over: 140s, as: departure}
        - wait for: {event: bolt.moved, machine: door, fields: {to: locked, cause: leaving}, within: 5min}
      """)
    #expect(report.kept)
    #expect(!report.timeline.contains { $0.is(Recorded.Daemon.appSuspended) && $0.machine == "door" })
  }

  @Test("L2, L6: a bolt that a hand opened is locked behind its last owner, who goes while the lock has no power")
  func awaited() async throws {
    let report = try await tell(
      """
        - turn bolt: {machine: door, to: unlocked, from: inside}
        - wait for: {event: bolt.moved, machine: door, fields: {to: unlocked, cause: hand}, within: 1min}
        - pass: 20s
        - leave app: {machine: phone, app: agent}
        - move: {machine: phone, to: [200, 0], over: 140s, as: departure}
        - cut power: {machine: door, for: 3min}
        - wait for: {event: bolt.moved, machine: door, fields: {to: locked, cause: leaving}, within: 2min}
        - pass: 10min
      """)
    #expect(report.kept)
    let moves = report.timeline.filter { $0.is(Recorded.Lock.boltMoved) }
    #expect(moves.compactMap { $0[.cause] } == ["hand", "leaving"])
  }

  @Test(
    "L6: a bolt that jammed before is tried four times behind the last owner, who is told by the alarm of each leaving")
  func jammedBehindTheLast() async throws {
    let report = try await tell(
      """
        - turn bolt: {machine: door, to: unlocked, from: inside}
        - lock motor: {machine: door, to: jam}
        - lock: {machine: phone, expect: refused}
        - pass: 10min
        - leave app: {machine: phone, app: agent}
        - move: {machine: phone, to: [200, 0], over: 140s, as: departure}
        - wait for: {event: bolt.jammed, machine: door, fields: {cause: leaving}, within: 5min}
        - wait for: {event: alarm.raised, machine: door, fields: {alarm: lockJammed}, within: 1min}
        - pass: 30min
      """)
    #expect(report.kept)
    let jams = report.timeline.filter { $0.is(Recorded.Lock.boltJammed) }
    let behind = try #require(jams.firstIndex { $0[.cause] == "leaving" })
    #expect(jams[behind...].compactMap { $0[.cause] } == ["leaving", "relock", "relock", "relock"])
    #expect(report.timeline.count { $0.is(Recorded.Lock.alarmRaised) } == 2)
  }

  @Test("L6: in passage the bolt stays open behind who leaves, and locks again when that is over")
  func passage() async throws {
    let report = try await tell(
      """
        - turn bolt: {machine: door, to: unlocked}
        - lock mode: {machine: door, to: passage}
        - leave app: {machine: phone, app: agent}
        - move: {machine: phone, to: [200, 0]}
        - wait for: {event: link.down, within: 4min}
        - pass: 1h
        - check: ["opened only for": []]
        - move: {machine: phone, to: [1, 0]}
        - wait for: {event: link.up, within: 4min}
        - look at door: {machine: phone, saying: "unlocked, shut"}
        - lock mode: {machine: door, to: normal}
        - move: {machine: phone, to: [200, 0]}
        - wait for: {event: bolt.moved, machine: door, fields: {to: locked, cause: leaving}, within: 5min}
      """)
    #expect(report.kept)
  }

  @Test("L6: a passage that somebody ends locks the door behind its owner, who left in it")
  func passageEnds() async throws {
    let report = try await tell(
      """
        - turn bolt: {machine: door, to: unlocked}
        - lock mode: {machine: door, to: passage}
        - leave app: {machine: phone, app: agent}
        - move: {machine: phone, to: [200, 0]}
        - wait for: {event: link.down, within: 4min}
        - pass: 1h
        - check: ["opened only for": []]
        - lock mode: {machine: door, to: normal}
        - wait for: {event: bolt.moved, machine: door, fields: {to: locked, cause: leaving}, within: 1min}
      """)
    #expect(report.kept)
  }

  @Test("L6: a door that stands open, one that is forced, and a cover that is off are alarms, recorded and shown")
  func alarms() async throws {
    let report = try await tell(
      """
        - turn bolt: {machine: door, to: unlocked}
        - door: {machine: door, to: open}

      """ + Self.alarm("doorAjar", within: "1h") + """
          - door: {machine: door, to: shut}

        """ + Self.alarm("doorAjar", "alarm.cleared") + """
            - lock: {machine: phone, saying: The door is locked}
            - door: {machine: door, to: open}

          """ + Self.alarm("doorForcedOpen") + """
            - look at door: {machine: phone, saying: ": locked, open"}
            - look at door: {machine: phone, saying: "alarm: the door was forced open"}
            - kill app: {machine: door, app: lock}
            - wait for: {event: lock.started, machine: door, within: 1min}
            - wait for: {event: status.answered, machine: phone, within: 1min}
            - look at door: {machine: phone, saying: "alarm: the door was forced open"}
            - door: {machine: door, to: shut}

          """ + Self.alarm("doorForcedOpen", "alarm.cleared") + """
            - lock cover: {machine: door, to: off}

          """ + Self.alarm("frontEscutcheonRemoved") + """
            - kill app: {machine: door, app: lock}
            - wait for: {event: lock.started, machine: door, within: 1min}
            - wait for: {event: status.answered, machine: phone, within: 1min}
            - lock cover: {machine: door, to: on}

          """ + Self.alarm("frontEscutcheonRemoved", "alarm.cleared") + """
            - read log: {machine: phone, saying: ["alarm: the door stands open", "alarm: the door was forced open", "alarm: the lock's cover is off", "no more: the lock's cover is off"]}
          """)
    #expect(report.kept)
  }

  @Test("L6: a battery warns, then does not open what it could not lock again, and then does not turn at all")
  func battery() async throws {
    let report = try await tell(
      """
        - lock battery: {machine: door, percent: 18}
        - wait for: {event: battery.changed, machine: door, fields: {level: warning}, within: 1min}
        - unlock: {machine: phone, saying: The door is unlocked}
        - lock battery: {machine: door, percent: 9}

      """ + Self.alarm("batteryCritical") + """
          - look at door: {machine: phone, saying: "battery: 9 %"}
          - lock battery: {machine: door, percent: 5}
          - lock: {machine: phone, saying: The door is locked}
          - unlock: {machine: phone, expect: refused, saying: battery is too low}
          - lock battery: {machine: door, percent: 1}
          - turn bolt: {machine: door, to: unlocked}
          - lock: {machine: phone, expect: refused, saying: battery is too low}
          - leave app: {machine: phone, app: agent}
          - move: {machine: phone, to: [200, 0]}

        """ + Self.alarm("batteryEmpty", within: "5min") + """
            - lock battery: {machine: door, percent: 100}
            - wait for: {event: bolt.moved, machine: door, fields: {to: locked}, within: 5min}
          """)
    #expect(report.kept)
  }

  @Test(
    "L6: whoever comes home to a lock without enough charge, or in privacy, is told why the door stays shut",
    arguments: [true, false])
  func refusedArrival(forBattery: Bool) async throws {
    let obstacle = forBattery ? "lock battery: {machine: door, percent: 5}" : "lock mode: {machine: door, to: privacy}"
    let words = forBattery ? "battery is too low" : "operating mode does not allow it"
    let report = try await tell(
      """
        - unlock: {machine: phone, saying: The door is unlocked}
        - leave app: {machine: phone, app: agent}
        - move: {machine: phone, to: [200, 0], over: 140s, as: departure}
        - wait for: {event: bolt.moved, machine: door, fields: {to: locked, cause: leaving}, within: 5min}
        - \(obstacle)
        - pass: 1h
        - move: {machine: phone, to: [1, 0], over: 140s, as: arrival}
        - wait for: {event: unlock.asked, machine: phone, fields: {because: refused}, within: 5min}
        - wait for: {event: user.alert, machine: phone, within: 1min}
      """)
    #expect(report.kept)
    let alerts = report.timeline.filter { $0.is(Recorded.Daemon.userAlert) }
    #expect(alerts.count == 1 && alerts[0][.text]?.contains(words) == true, "\(alerts)")
  }

  @Test("L6: a bolt that jams before its owner, whose agent runs in the background, is tried until it is free")
  func freedInTime() async throws {
    let report = try await tell(
      """
        - turn bolt: {machine: door, to: unlocked}
        - leave app: {machine: phone, app: agent}
        - pass: 1min
        - move: {machine: phone, to: [200, 0], over: 140s, as: departure}
        - wait for: {event: bolt.moved, machine: door, fields: {to: locked}, within: 5min}
        - wait for: {event: walk.ended, fields: {machine: phone}, within: 5min}
        - lock motor: {machine: door, to: stall}
        - pass: 1h
        - move: {machine: phone, to: [1, 0], over: 140s, as: arrival}
        - wait for: {event: alarm.raised, machine: door, fields: {alarm: lockJammed}, within: 5min}
        - pass: 30s
        - lock motor: {machine: door, to: none}
        - wait for: {event: bolt.moved, machine: door, fields: {to: unlocked, cause: phone}, within: 1min}
      """)
    #expect(report.kept)
  }

  @Test("L7: somebody inside has locked: an approach opens nothing and asks, a word opens")
  func somebodyInside() async throws {
    let report = try await tell(
      """
        - turn bolt: {machine: door, to: unlocked}
        - leave app: {machine: phone, app: agent}
        - door: {machine: door, to: open}
        - pass: 3s
        - door: {machine: door, to: shut}
        - move: {machine: phone, to: [200, 0], over: 140s, as: departure}
        - pass: 1s
        - turn bolt: {machine: door, to: locked, from: inside}
        - wait for: {event: bolt.moved, machine: door, fields: {to: locked, cause: hand, from: inside}, within: 1min}
        - wait for: {event: link.down, within: 4min}
        - pass: 3h
        - move: {machine: phone, to: [1, 0], over: 140s, as: arrival}
        - wait for: {event: unlock.asked, machine: phone, fields: {because: somebodyInside}, within: 5min}
        - wait for: {event: walk.ended, fields: {machine: phone}, within: 5min}
        - check: ["opened only for": []]
        - unlock: {machine: phone, saying: The door is unlocked}
      """)
    #expect(report.kept)
  }
}
