import Foundation
import JournalEvents
import Testing

@testable import Stories

/// Stories in which people ask their phones: the real `latchkey` is run on the machines of the story.
@Suite("Guests, thieves and burglars, with real processes", .serialized, .timeLimit(.minutes(15)))
struct QuestionStoryTests {
  @Test(
    "L4 L5 L8: guests come at every time, a phone is lost, burglars try everything: the story keeps its promises",
    arguments: ["guest-weekend", "lost-phone", "burglar"])
  func kept(_ story: String) async throws {
    let command = try await LatchkeyCommand(["prove", story])
    let outcome = try await command.finish()
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    #expect(command.processesLeft().isEmpty)
    #expect(command.filesLeft().isEmpty)
  }

  private func tell(_ steps: String, promises: String = "nothing-crashed") async throws -> (Report, status: Int32) {
    let folder = NSTemporaryDirectory() + "/latchkey-questions-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try """
    name: questions
    days: 1
    radio: clear
    machines:
      door: {position: [0, 0], apps: [lock]}
      alice: {position: [1, 0], apps: [agent]}
      ben: {position: [2, 0], apps: [agent], enrolled: no}
    steps:
      - open app: {machine: alice, app: agent}
      - wait for: {event: status.answered, machine: alice, within: 2min}
    \(steps)
    promises: [\(promises)]
    """.write(toFile: folder + "/story.yaml", atomically: true, encoding: .utf8)
    let outcome = try await LatchkeyCommand.run([
      "prove", folder + "/story.yaml", "--json", folder + "/report", "--keep", folder + "/kept",
    ])
    let report = try JSONDecoder().decode(Report.self, from: Data(contentsOf: URL(fileURLWithPath: folder + "/report")))
    // An invitation is secret, and nothing that was typed stays behind.
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder + "/kept")
    #expect(!files.contains { $0.contains("command-") }, "\(files)")
    for file in files where file.hasSuffix(".jsonl") || file.hasSuffix(".json") || file.hasSuffix(".log") {
      let text = (try? String(contentsOfFile: "\(folder)/kept/\(file)", encoding: .utf8)) ?? ""
      #expect(!text.contains("invite-1-"), "\(file)")
    }
    return (report, outcome.status)
  }

  @Test(
    "L7: in a home with a room as weak as the street, a radio that fails opens the door, unless the room was measured",
    arguments: [false, true])
  func weakRoom(isMeasured: Bool) async throws {
    let (report, status) = try await tell(
      """
        - unlock: {machine: alice, expect: done}
        - move: {machine: alice, to: [-19, 0]}
        \(isMeasured ? "- measure room: {machine: alice, saying: 'this room: -87 dBm'}" : "- look at door: alice")
        - pass: 1h
        - block radio: door
        - wait for: {event: bolt.moved, machine: door, within: 1min}
        - free radio: door
        - wait for: {event: didConnect, machine: alice, within: 2min}
        - move: {machine: alice, to: [-1, 0], over: 20s}
        - pass: 1h
      """)
    #expect(status == 0, "\(report.promises)")
    let unlocks = report.timeline.filter { $0.is(Recorded.Agent.unlockWritten) }.map { $0.fields["because"] }
    #expect(unlocks == (isMeasured ? ["word"] : ["word", "approach"]))
  }

  @Test("L7: a command that a hung agent has not taken when it expires opens nothing when the agent goes on")
  func hungAgent() async throws {
    let (report, status) = try await tell(
      """
        - lock: {machine: alice, saying: locked}
        - hang app: {machine: alice, app: agent}
        - unlock: {machine: alice, expect: refused, saying: did not answer}
        - pass: 2h
        - continue app: {machine: alice, app: agent}
        - pass: 5min
      """, promises: "opened only for: [], nothing-crashed")
    #expect(status == 0, "\(report.problem ?? "")\n\(report.promises.map(\.reason))")
  }

  @Test("L7 L8: what is asked of an agent whose radio has never been on is refused at once, and is not kept for later")
  func radioOff() async throws {
    let (report, status) = try await tell(
      """
        - turn bolt: {machine: door, to: unlocked}
        - kill app: {machine: alice, app: agent}
        - adapter power: {machine: alice, to: off}
        - wait for: {event: stateUpdated, machine: alice, fields: {state: poweredOff}, within: 1min}
        - lock: {machine: alice, expect: refused, saying: Bluetooth is off on this phone, within: 5s}
        - turn bolt: {machine: door, to: locked}
        - unlock: {machine: alice, expect: refused, saying: Bluetooth is off on this phone, within: 5s}
        - pass: 2h
        - turn bolt: {machine: door, to: unlocked}
        - turn bolt: {machine: door, to: locked}
        - adapter power: {machine: alice, to: on}
        - wait for: {event: status.answered, machine: alice, within: 2min}
        - pass: 5min
        - unlock: {machine: alice, saying: The door is unlocked}
      """, promises: "opened-only-on-arrival, nothing-crashed")
    #expect(status == 0, "\(report.problem ?? "")\n\(report.promises.map(\.reason))")
    let moved = report.timeline.filter { $0.is(Recorded.Lock.boltMoved) }
    #expect(moved.count { $0.fields["cause"] == "phone" } == 1, "\(moved.map(\.fields))")
  }

  @Test("L6 L7: a word that a hung lock has not taken opens nothing when the lock goes on, after its owner was told so")
  func hungLock() async throws {
    let (report, status) = try await tell(
      """
        - unlock: {machine: alice, saying: The door is unlocked}
        - lock: {machine: alice, saying: locked}
        - pass: 2s
        - hang app: {machine: door, app: lock}
        - unlock: {machine: alice, expect: refused, saying: did not answer}
        - pass: 10s
        - continue app: {machine: door, app: lock}
        - pass: 2min
        - unlock: {machine: alice, saying: The door is unlocked}
      """, promises: "opened-only-on-arrival, nothing-crashed")
    #expect(status == 0, "\(report.problem ?? "")\n\(report.promises.map(\.reason))")
    let moved = report.timeline.filter { $0.is(Recorded.Lock.boltMoved) }.map { $0.fields["to"] }
    #expect(moved == ["unlocked", "locked", "unlocked"])
  }

  @Test("L5 L7: a lock whose power was cut has no time, so a guest whose invitation ends must wait for an owner")
  func noTime() async throws {
    let (report, status) = try await tell(
      """
        - open app: {machine: ben, app: agent}
        - invite guest: {machine: alice, guest: Ben, until: 1}
        - accept invitation: {machine: ben, guest: Ben}
        - wait for: {event: status.answered, machine: ben, within: 2min}
        - unlock: {machine: ben, saying: The door is unlocked}
        - lock: ben
        - move: {machine: alice, to: [200, 0]}
        - pass: 1min
        - cut power: {machine: door, for: 1min}
        - pass: 2min
        - unlock: {machine: ben, expect: refused, saying: does not know the time}
        - move: {machine: alice, to: [1, 0]}
        - wait for: {event: status.answered, machine: alice, within: 2min}
        - pass: 10s
        - unlock: {machine: ben, saying: The door is unlocked}
      """)
    #expect(status == 0, "\(report.problem ?? "")\n\(report.promises.map(\.reason))")
  }

  @Test("L7 H4: an approach does not outlive its phone's reboot: the owner is asked, and the door stays shut")
  func rebootOnTheWay() async throws {
    let (report, status) = try await tell(
      """
        - turn bolt: {machine: door, to: unlocked}
        - leave app: {machine: alice, app: agent}
        - move: {machine: alice, to: [200, 0], over: 140s, as: departure}
        - wait for: {event: bolt.moved, machine: door, fields: {to: locked}, within: 5min}
        - day: 0.5
          move: {machine: alice, to: [1, 0], over: 140s, as: arrival}
        - wait for: {event: approach.began, machine: alice, within: 3min}
        - reboot: {machine: alice, for: 15s}
        - wait for: {event: unlock.asked, machine: alice, within: 3min}
        - pass: 5min
      """, promises: "opened only for: [], opened-only-on-arrival, nothing-crashed")
    #expect(status == 0, "\(report.problem ?? "")\n\(report.promises.map(\.reason))")
  }

  @Test("L5: an invitation for weekdays and hours of the story's calendar, which begins on a Thursday")
  func hours() async throws {
    let (report, status) = try await tell(
      """
        - open app: {machine: ben, app: agent}
        - invite guest: {machine: alice, guest: Ben, weekdays: fri, hours: "08:00-10:00"}
        - accept invitation: {machine: ben, guest: Ben}
        - wait for: {event: status.answered, machine: ben, within: 2min}
        - leave app: {machine: ben, app: agent}
        - move: {machine: ben, to: [200, 0]}
        - wait for: {event: link.down, within: 2min}
        - day: 0.375
          move: {machine: ben, to: [2, 0]}
        - wait for: {event: status.answered, machine: ben, within: 5min}
        - unlock: {machine: ben, expect: refused, saying: does not count at this time}
        - move: {machine: ben, to: [200, 0]}
        - wait for: {event: link.down, within: 2min}
        - day: 1.25
          move: {machine: ben, to: [2, 0]}
        - wait for: {event: status.answered, machine: ben, within: 5min}
        - unlock: {machine: ben, expect: refused, saying: does not count at this time}
        - move: {machine: ben, to: [200, 0]}
        - wait for: {event: link.down, within: 2min}
        - day: 1.375
          move: {machine: ben, to: [2, 0], over: 140s}
        - wait for: {event: unlock.answered, machine: ben, within: 5min}
        - unlock: {machine: ben, saying: The door is unlocked}
        - lock: ben
        - move: {machine: ben, to: [200, 0]}
        - wait for: {event: link.down, within: 2min}
        - day: 1.5
          move: {machine: ben, to: [2, 0]}
        - wait for: {event: status.answered, machine: ben, within: 5min}
        - unlock: {machine: ben, expect: refused, saying: does not count at this time}
        - move: {machine: ben, to: [200, 0]}
        - wait for: {event: link.down, within: 2min}
      """, promises: "refusals-logged, opened only for: [ben]")
    #expect(status == 0 && report.kept, "\(report.promises.map(\.reason)) \(report.problem ?? "")")
  }

  @Test(
    "attack 31: what the lock advertises says neither its name nor whether it is locked, nor anything of who is near")
  func advertisement() async throws {
    let (report, status) = try await tell(
      """
        - pass: 30s
        - unlock: {machine: alice, saying: The door is unlocked}
        - pass: 30s
        - door: {machine: door, to: open}
        - pass: 30s
        - door: {machine: door, to: shut}
        - lock: alice
        - pass: 30s
        - leave app: {machine: alice, app: agent}
        - move: {machine: alice, to: [200, 0]}
        - pass: 5min
      """,
      promises:
        "on the air: {machine: door, name: absent, lists: [b126f569-34d9-4140-a7ad-42cd26d0ff85], interval at least: 20ms}"
    )
    #expect(status == 0 && report.kept, "\(report.promises.map(\.reason)) \(report.problem ?? "")")
    let contents = report.timeline.filter { $0.is(Recorded.Radio.advertisingChanged) && $0.fields["on"] == "true" }
      .map { entry in entry.fields.filter { !["set", "on", "interval", "intervalMilliseconds"].contains($0.key) } }
    #expect(!contents.isEmpty && Set(contents).count == 1, "\(Set(contents))")
  }

  @Test("H1: an answer that is not the expected one ends the story, which says so")
  func unexpected() async throws {
    for (step, reason) in [
      ("  - lock: {machine: alice, expect: refused}", "was to be refused: it was done"),
      ("  - unlock: {machine: ben, expect: done}", "was to be done: "),
      ("  - look at door: {machine: alice, saying: on fire}", "does not say 'on fire': door: locked, shut"),
    ] {
      let (report, status) = try await tell(step)
      #expect(status == 1 && !report.kept)
      #expect(report.problem?.contains(reason) == true, "\(report.problem ?? "no problem")")
    }
  }
}
