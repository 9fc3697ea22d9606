import Foundation
import JournalEvents
import Testing

@testable import Stories

/// One phone for many doors, and one door for many phones, in stories with real processes.
@Suite("Several doors, with real processes", .serialized, .timeLimit(.minutes(20)))
struct SeveralDoorsTests {
  private func tell(_ story: String) async throws -> Report {
    let (report, outcome) = try await LatchkeyCommand.prove(story)
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    return report
  }

  private func openings(_ report: Report) -> [String] {
    report.timeline.filter { $0.is(Recorded.Lock.boltMoved) && $0[.to] == "unlocked" }.map(\.machine)
  }

  @Test("L8: a search that goes on when the radio is back lets go of nothing that ended with the radio")
  func searchAfterRadioOff() async throws {
    let report = try await tell(
      """
      name: search after the radio was off
      machines:
        front: {position: [0, 0], apps: [lock]}
        garden: {position: [3000, 0], apps: [lock]}
        alice: {position: [1, 0], apps: [agent]}
      steps:
        - open app: {machine: alice, app: agent}
        - wait for: {event: status.answered, machine: alice, fields: {door: front}, within: 2min}
        - adapter power: {machine: alice, to: off}
        - pass: 10s
        - adapter power: {machine: alice, to: on}
        - wait for: {event: status.answered, machine: alice, fields: {door: front}, within: 2min}
      promises: [no-errors-logged, told-nothing-twice]
      """)
    #expect(report.kept)
  }

  @Test("L8 L2: a phone locks both doors of its home and its office behind it, and opens those to which it comes")
  func homeAndOffice() async throws {
    let report = try await tell(
      """
      name: home and office
      days: 2
      machines:
        front: {position: [0, 0], apps: [lock]}
        garden: {position: [30, 0], apps: [lock]}
        office: {position: [-3000, 0], apps: [lock]}
        alice: {position: [-2999, 0], apps: [agent]}
      chapters:
        - name: the locks are met
          steps:
            - open app: {machine: alice, app: agent}
            - wait for: {event: status.answered, machine: alice, fields: {door: office}, within: 2min}
            - leave app: {machine: alice, app: agent}
            - move: {machine: alice, to: [15, 0]}
            - wait for: {event: status.answered, machine: alice, fields: {door: front}, within: 10min}
            - look at door: {machine: alice, door: garden, saying: locked}
            - unlock: {machine: alice, door: front, expect: done}
            - unlock: {machine: alice, door: garden, expect: done}
            - unlock: {machine: alice, door: office, expect: refused, saying: no link}
        - name: to the office
          steps:
            - move: {machine: alice, to: [-1500, 0], over: 20min, as: departure}
            - pass: 30min
            - kill app: {machine: alice, app: agent}
            - pass days: 1
            - move: {machine: alice, to: [-2999, 0], over: 20min, as: arrival}
            - wait for: {event: bolt.moved, machine: office, fields: {to: unlocked, cause: phone}, within: 25min}
            - pass: 5min
          promises: [locked-on-leaving, link-lost-on-leaving, unlocked-once, opened-once, unlock-answered,
            never-unlocked-while-away, relaunched-in-background, restored-in-order, services-restored, request-held,
            agent-not-running-while-away, every-movement-recorded]
        - name: and home by the front door
          steps:
            - move: {machine: alice, to: [-1500, 0], over: 20min, as: departure}
            - pass days: 1
            - move: {machine: alice, to: [-1, 0], over: 20min, as: arrival}
            - wait for: {event: bolt.moved, machine: front, fields: {to: unlocked, cause: phone}, within: 25min}
            - pass: 5min
          promises: [locked-on-leaving, link-lost-on-leaving, unlocked-once, opened-once, unlock-answered,
            never-unlocked-while-away, woken-on-arrival]
      promises: [nothing-crashed, no-errors-logged, nothing-refused, told-nothing-twice, opened-only-on-arrival]
      """)
    #expect(openings(report) == ["front", "garden", "office", "front"])
    let judged = report.promises.filter { $0.judgement != .kept }
    #expect(judged.isEmpty, "\(judged.map { "\($0.name): \($0.reason)" })")
  }

  @Test("L5 L8: an invitation, a revocation and a new phone are about one door, and leave the other as it is")
  func peopleAtOneDoor() async throws {
    let report = try await tell(
      """
      name: people at one door
      days: 1
      machines:
        front: {position: [0, 0], apps: [lock]}
        cellar: {position: [6, 0], apps: [lock]}
        alice: {position: [2, 0], apps: [agent]}
        bob: {position: [3, 0], apps: [agent], enrolled: [cellar]}
        ben: {position: [3, 1], apps: [agent], enrolled: no}
      steps:
        - open app: {machine: alice, app: agent}
        - open app: {machine: bob, app: agent}
        - open app: {machine: ben, app: agent}
        - wait for: {event: status.answered, machine: alice, fields: {door: front}, within: 2min}
        - wait for: {event: status.answered, machine: alice, fields: {door: cellar}, within: 2min}
        - wait for: {event: status.answered, machine: bob, within: 2min}
        - unlock: {machine: bob, door: front, expect: refused, saying: There is no door}
        - unlock: {machine: bob, door: cellar, expect: done}
        - lock: {machine: alice, door: cellar}
        - invite guest: {machine: alice, door: front, guest: Ben}
        - accept invitation: {machine: ben, guest: Ben}
        - unlock: {machine: ben, door: cellar, expect: refused, saying: There is no door}
        - unlock: {machine: ben, door: front, expect: done}
        - lock: {machine: ben, door: front}
        - list guests: {machine: alice, door: front, saying: Ben}
        - provision: {machine: bob, door: front}
        - open app: {machine: bob, app: agent}
        - unlock: {machine: bob, door: front, expect: done}
        - read log: {machine: alice, door: front, saying: [by Ben]}
        - revoke: {machine: alice, door: front, guest: Ben}
        - unlock: {machine: ben, door: front, expect: refused}
        - revoke: {machine: alice, door: cellar, phone: bob}
        - pass: 1min
        - unlock: {machine: bob, door: cellar, expect: refused}
        - unlock: {machine: bob, door: front, expect: done}
      promises: [nothing-crashed, told-nothing-twice, every-movement-recorded, opened only for: [alice, bob, ben]]
      """)
    #expect(openings(report) == ["cellar", "front", "front"])
  }

  @Test("L8: a phone among four locks that it has never met asks each of them as seldom as it can, and meets them all")
  func amongFour() async throws {
    let report = try await tell(
      """
      name: among four
      days: 1
      machines:
        front: {position: [0, 0], apps: [lock]}
        garden: {position: [6, 0], apps: [lock]}
        cellar: {position: [3, 3], apps: [lock]}
        garage: {position: [3, -3], apps: [lock]}
        alice: {position: [3, 0], apps: [agent]}
      steps:
        - open app: {machine: alice, app: agent}
        - wait for: {event: status.answered, machine: alice, fields: {door: front}, within: 5min}
        - wait for: {event: status.answered, machine: alice, fields: {door: garden}, within: 5min}
        - wait for: {event: status.answered, machine: alice, fields: {door: cellar}, within: 5min}
        - wait for: {event: status.answered, machine: alice, fields: {door: garage}, within: 5min}
      promises: [nothing-crashed, nothing-refused]
      """)
    let refused = report.timeline.filter { $0.is(Recorded.Lock.commandRefused) }.map(\.machine)
    // One door at a time asks a lock, and those that have proven to be another door's are left out.
    #expect(refused.count <= 4, "\(refused)")
    // A lock makes a phone wait after three.
    for door in Set(refused) { #expect(refused.count { $0 == door } <= 2, "\(refused)") }
  }

  @Test("L5 L8: each invitation and each list goes to its own door, and a phone that has its agent open gets its keys")
  func papersOfTwoDoors() async throws {
    let report = try await tell(
      """
      name: papers of two doors
      days: 1
      machines:
        front: {position: [0, 0], apps: [lock]}
        cellar: {position: [6, 0], apps: [lock]}
        alice: {position: [2, 0], apps: [agent]}
        carol: {position: [3, 0], apps: [agent]}
        ben: {position: [3, 1], apps: [agent], enrolled: no}
        new: {position: [2, 1], apps: [agent], enrolled: no}
      steps:
        - open app: {machine: alice, app: agent}
        - open app: {machine: carol, app: agent}
        - open app: {machine: ben, app: agent}
        - open app: {machine: new, app: agent}
        - wait for: {event: status.answered, machine: alice, process: agent, fields: {door: front}, within: 2min}
        - look at door: {machine: alice, door: cellar, within: 2min}
        - invite guest: {machine: alice, door: front, guest: Ben}
        - invite guest: {machine: alice, door: cellar, guest: Ben}
        - accept invitation: {machine: ben, guest: Ben, door: front}
        - accept invitation: {machine: ben, guest: Ben, door: cellar}
        - unlock: {machine: ben, door: front, within: 2min, expect: done}
        - unlock: {machine: ben, door: cellar, within: 2min, expect: done}
        - move: {machine: alice, to: [500, 0]}
        - pass: 1min
        - revoke: {machine: alice, door: front, guest: Ben, saying: revoke-}
        - revoke: {machine: alice, door: cellar, guest: Ben, saying: revoke-}
        - carry list: {machine: carol, door: front, guest: Ben, saying: The lock has the list}
        - carry list: {machine: carol, door: cellar, guest: Ben, saying: The lock has the list}
        - unlock: {machine: ben, door: front, expect: refused}
        - unlock: {machine: ben, door: cellar, expect: refused}
        - provision: {machine: new, door: cellar}
        - open app: {machine: new, app: agent}
        - lock: {machine: new, door: cellar, within: 2min}
      promises: [nothing-crashed, told-nothing-twice, every-movement-recorded, opened only for: [ben]]
      """)
    #expect(openings(report).sorted() == ["cellar", "front"])
  }
}
