import Foundation
import Testing

@testable import Stories
@testable import Worlds

/// Mistakes in a story that would leave a promise unchecked, or a step waiting in vain.
@Suite("Mistakes in a story")
struct StoryMistakeTests {
  private static let head = """
    name: small
    machines:
      door: {position: [0, 0], apps: [lock]}
      phone: {position: [1, 0], apps: [agent]}

    """

  private func refusal(_ yaml: String) -> ScenarioError? {
    do {
      _ = try ScenarioParser.parse(Self.head + yaml, file: "small.yaml")
      return nil
    } catch { return error }
  }

  @Test(
    "H7: what is listed twice is refused, with the line of the second",
    arguments: [
      (
        "chapters:\n  - name: one\n    steps: [{pass: 1s}]\n  - name: one\n    steps: [{pass: 1s}]\n", 8,
        "another chapter is called 'one' already"
      ),
      (
        "chapters:\n  - name: the whole run\n    steps: [{pass: 1s}]\n", 6,
        "a chapter can't be called 'the whole run', which is what the verdict calls the story"
      ),
      (
        "steps: [{pass: 1s}]\npromises:\n  - no-errors-logged\n  - nothing-crashed\n  - no-errors-logged\n", 9,
        "the promise 'no-errors-logged' is listed twice"
      ),
      (
        "steps:\n  - check: [locked-on-leaving, locked-on-leaving]\n", 6,
        "the promise 'locked-on-leaving' is listed twice"
      ),
      (
        "steps: [{pass: 1s}]\npromises:\n  - woken: {app: agent}\n  - woken: {app: agent}\n", 8,
        "is listed twice"
      ),
      (
        "steps: [{pass: 1s}]\npromises:\n  - opened only for: [phone, phone]\n", 7,
        "'opened only for' lists 'phone' twice"
      ),
    ])
  func twice(_ yaml: String, line: Int, problem: String) throws {
    let error = try #require(refusal(yaml), "\(yaml)")
    #expect(error.line == line && error.problem.contains(problem), "\(error)")
  }

  @Test("H7: one promise may be listed for several chapters, and one kind of promise for several apps")
  func notTwice() {
    let chapter = { (name: String) in
      "  - name: \(name)\n    steps: [{check: [nothing-crashed]}, {check: [nothing-crashed]}]\n"
        + "    promises: [nothing-crashed, woken: {app: agent}, woken: {app: agent, exactly: 1}]\n"
    }
    #expect(refusal("chapters:\n" + chapter("one") + chapter("two") + "promises: [nothing-crashed]\n") == nil)
  }

  @Test(
    "H7: a value that a field can't have is refused, with those that it can",
    arguments: [
      ("{event: bolt.moved, fields: {to: unlockd}}", "'to' of 'bolt.moved' can't be 'unlockd'", "unlocked"),
      ("{event: bolt.moved, fields: {cause: thumb}}", "can't be 'thumb'", "hand"),
      ("{event: bolt.jammed, fields: {to: open}}", "can't be 'open'", "unlocked"),
      ("{event: command.accepted, fields: {command: open}}", "can't be 'open'", "unlockUnlessHome"),
      ("{event: command.refused, fields: {reason: unenrolled}}", "can't be 'unenrolled'", "notEnrolled"),
      ("{event: request.accepted, fields: {request: clock}}", "can't be 'clock'", "setClock"),
      ("{event: alarm.raised, fields: {alarm: jammed}}", "can't be 'jammed'", "lockJammed"),
      ("{event: battery.changed, fields: {level: low}}", "can't be 'low'", "warning"),
      ("{event: mode.changed, fields: {mode: private}}", "can't be 'private'", "privacy"),
      ("{event: enrolment.closed, fields: {because: time}}", "can't be 'time'", "timeOver"),
      ("{event: enrolment.refused, fields: {reason: wrong}}", "can't be 'wrong'", "wrongCode"),
      ("{event: lock.started, fields: {bolt: open}}", "can't be 'open'", "unlocked"),
      ("{event: unlock.written, fields: {because: arrival}}", "can't be 'arrival'", "approach"),
      ("{event: unlock.asked, fields: {because: somebodyinside}}", "can't be 'somebodyinside'", "somebodyInside"),
      ("{event: word.answered, fields: {outcome: ok}}", "can't be 'ok'", "done"),
      ("{event: unlock.answered, fields: {result: refused}}", "can't be 'refused'", "outsideSchedule"),
      ("{event: status.answered, fields: {lockState: open}}", "can't be 'open'", "unlocked"),
      ("{event: status.answered, fields: {doorState: shut}}", "can't be 'shut'", "closed"),
      ("{event: stateUpdated, fields: {state: on}}", "can't be 'on'", "poweredOn"),
      ("{event: bluetooth.state, fields: {state: off}}", "can't be 'off'", "poweredOff"),
      ("{event: app.suspended, fields: {app: agent}}", "can't be 'agent'", "org.latchkey.agent"),
      ("{event: app.launched, fields: {reason: restored}}", "can't be 'restored'", "restore"),
      ("{event: app.launched, fields: {because: connection}}", "can't be 'connection'", "connected"),
      ("{event: app.resumed, fields: {because: value}}", "can't be 'value'", "valueUpdated"),
      ("{event: manager.created, fields: {role: centre}}", "can't be 'centre'", "central"),
      ("{event: status.answered, fields: {doorState: ajar}}", "can't be 'ajar'", "closed"),
      ("{event: wake.ended, fields: {because: link}}", "can't be 'link'", "connected"),
      ("{event: walk.ended, fields: {machine: phne}}", "can't be 'phne'", "phone"),
      ("{event: link.up, fields: {central: phne}}", "can't be 'phne'", "phone"),
      ("{event: scanning.changed, fields: {on: yes}}", "can't be 'yes'", "true"),
      ("{event: owner.left, fields: {way: walked}}", "can't be 'walked'", "walk"),
      ("{event: user.answer, fields: {outcome: ok}}", "can't be 'ok'", "done"),
      ("{event: bolt.moved, process: latchkey}", "no program 'latchkey' records 'bolt.moved'", "latchkey-lock"),
      ("{event: app.killed, fields: {app: agent}}", "no program records an event 'app.killed'", "app.kill"),
    ])
  func values(_ wait: String, problem: String, choice: String) throws {
    let error = try #require(refusal("steps:\n  - wait for: \(wait)\n"), "\(wait)")
    #expect(error.line == 6 && error.problem.contains(problem) && error.choices.contains(choice), "\(error)")
  }

  @Test("H7: a promise about what the agent or the lock records names values that there are")
  func promises() throws {
    let error = try #require(
      refusal(
        "steps: [{pass: 1s}]\npromises:\n  - recorded: {app: lock, event: bolt.moved, fields: {cause: thumb}}\n"))
    #expect(error.line == 7 && error.problem.contains("can't be 'thumb'") && error.choices.contains("hand"), "\(error)")
  }

  @Test("H7: a promise that a service is on the air and is not, which nothing could keep, is refused")
  func contradictoryAir() throws {
    let error = try #require(
      refusal(
        "steps: [{pass: 1s}]\npromises:\n  - on the air: {machine: door, lists: [180D, 0000180F-0000-1000-8000-00805F9B34FB], omits: [180F]}\n"
      ))
    #expect(error.line == 7 && error.problem.contains("both 'lists' and 'omits' '180F'"), "\(error)")
  }

  @Test(
    "H7: promises of one list that contradict each other are refused, with the line of the second",
    arguments: [
      ("woken: {app: agent}", "not woken: {app: agent}"),
      ("not woken: {app: agent}", "woken: {app: agent, by: connected}"),
      ("not relaunched: {app: agent}", "relaunched: {app: agent, restoring: [a]}"),
      ("woken: {app: agent, exactly: 3}", "woken: {app: agent, exactly: 4}"),
      ("woken: {app: agent, at most: 3}", "woken: {app: agent, at least: 4}"),
      (
        "not recorded: {app: lock, event: bolt.moved}",
        "recorded: {app: lock, event: bolt.moved, fields: {to: locked}}"
      ),
      ("not alerted: {app: agent, text: door}", "alerted: {app: agent, text: the door is open}"),
      ("not alerted: {app: agent}", "alerted: {app: agent, text: door}"),
      ("on the air: {machine: door, name: absent}", "not on the air: {machine: door}"),
      ("not scanned: {machine: phone}", "scanned: {machine: phone}"),
      ("scanned: {machine: phone, percent at least: 50}", "scanned: {machine: phone, percent at most: 20}"),
    ])
  func contradictory(_ one: String, _ other: String) throws {
    for (first, second) in [(one, other), (other, one)] {
      let error = try #require(
        refusal("steps: [{pass: 1s}]\npromises:\n  - \(first)\n  - \(second)\n"), "\(first), \(second)")
      #expect(error.line == 8 && error.problem.hasSuffix("' of line 7: nothing could keep both"), "\(error)")
    }
  }

  @Test(
    "H7: promises of one list that a story could keep both are taken",
    arguments: [
      ("woken: {app: agent}", "woken: {app: agent, at most: 3}"),
      ("not woken: {app: agent, by: disconnected}", "woken: {app: agent}"),
      ("not woken: {app: agent}", "woken: {app: lock}"),
      (
        "not recorded: {app: lock, event: bolt.moved, fields: {to: locked}}",
        "recorded: {app: lock, event: bolt.moved}"
      ),
      ("not alerted: {app: agent, text: the door is open}", "alerted: {app: agent, text: door}"),
      ("on the air: {machine: door, name: absent}", "not on the air: {machine: door, name: present}"),
      ("on the air: {machine: door}", "not on the air: {machine: phone}"),
      ("not scanned: {machine: phone}", "scanned: {machine: phone, percent at most: 20}"),
      ("scanned: {machine: phone, percent at least: 20}", "scanned: {machine: phone, percent at most: 20}"),
      ("woken: {app: agent, exactly: 0}", "not woken: {app: agent}"),
    ])
  func compatible(_ one: String, _ other: String) {
    #expect(refusal("steps: [{pass: 1s}]\npromises:\n  - \(one)\n  - \(other)\n") == nil)
  }

  @Test(
    "H7: a list in a promise that has something twice, or nothing, is refused",
    arguments: [
      ("relaunched: {app: agent, restoring: [a, a]}", "'restoring' lists 'a' twice"),
      ("on the air: {machine: door, lists: [180D, 180D]}", "lists '180D' twice"),
      ("on the air: {machine: door, omits: []}", "lists no service"),
      ("woken: {app: agent, exactly: 1000001}", "is a whole number from 0 to 1000000, not '1000001'"),
    ])
  func lists(_ promise: String, problem: String) throws {
    let error = try #require(refusal("steps: [{pass: 1s}]\npromises:\n  - \(promise)\n"))
    #expect(error.line == 7 && error.problem.contains(problem), "\(error)")
  }

  @Test(
    "H7: a value that a field can have is taken",
    arguments: [
      "{event: bolt.moved, fields: {to: locked, cause: relock, record: 7}}",
      "{event: command.refused, fields: {reason: unsubscribed}}",
      "{event: unlock.answered, fields: {result: lockedAtHome, lockState: notFullyLocked, doorState: closed}}",
      "{event: stateUpdated, machine: phone, fields: {state: poweredOn}}",
      "{event: app.launched, fields: {app: org.latchkey.lock, reason: keep-alive}}",
      "{event: app.resumed, fields: {because: opened}}",
      "{event: walk.ended, fields: {machine: phone}}",
      "{event: link.down, fields: {central: phone, peripheral: door, reason: whatever the radio says}}",
      "{event: no.room, fields: {request: too long}}",
      "{event: bolt.moved, process: other, fields: {to: anywhere}}",
    ])
  func soundValues(_ wait: String) {
    #expect(refusal("steps:\n  - wait for: \(wait)\n") == nil)
  }

  @Test(
    "H7: a step that has something in the wrong form is refused with the right one",
    arguments: [
      (
        "steps:\n  - set clock: {machine: door, by: 2h}\n", 6, "must be a time ahead or back, not '2h'",
        ["+2h", "-30s"]
      ),
      ("steps:\n  - set clock: phone\n", 6, "has no 'by'", ["+2h", "-30s"]),
      ("steps:\n  - set clock: {machine: phone, by: +99999999d}\n", 6, "longer than 36500d", []),
      ("steps:\n  - set lock clock: door\n", 6, "names the phone that is asked", ["phone"]),
      ("steps:\n  - *later\n", 6, "an alias stands for what an earlier anchor", []),
      ("steps:\n  - unlock: door\n", 6, "names the phone that is asked", ["phone"]),
      ("steps:\n  - read log: {machine: door}\n", 6, "'door' has no agent", ["phone"]),
      ("steps:\n  - wait for: bolt.moved\n", 6, "as in {event: bolt.moved}", []),
      ("steps:\n  - check: unlocked-once\n", 6, "must be a list, as in [unlocked-once]", []),
      ("steps: [{pass: 1s}]\npromises: nothing-crashed\n", 6, "must be a list, as in [nothing-crashed]", []),
      ("steps:\n\t- pass: 1s\n", 6, "not YAML: a tab, where YAML takes only spaces", []),
      ("steps:\n  - pass: 1s\n---\nname: other\n", 7, "a line of '---' ends the story", []),
    ])
  func wrongForm(_ yaml: String, line: Int, problem: String, choices: [String]) throws {
    let error = try #require(refusal(yaml), "\(yaml)")
    #expect(error.line == line && error.problem.contains(problem) && error.choices == choices, "\(error)")
  }

  @Test("H6 H7: an app's own event is waited for by the app's name, on a machine that has the app")
  func appsEvents() throws {
    let folder = FileManager.default.temporaryDirectory.path
    func refusal(_ wait: String) -> ScenarioError? {
      let yaml = """
        name: kettles
        apps:
          kettle: {info plist: {CFBundleIdentifier: org.example.kettle}, executable: /bin/true}
        machines:
          kitchen: {position: [0, 0], apps: [kettle]}
          phone: {position: [1, 0], apps: [agent]}
        steps:
          - wait for: \(wait)
        """
      do {
        _ = try ScenarioParser.parse(yaml, file: folder + "/kettles.yaml")
        return nil
      } catch { return error }
    }
    let elsewhere = try #require(refusal("{event: boiled, machine: phone, process: kettle}"))
    #expect(elsewhere.problem == "machine 'phone' has no app 'kettle'" && elsewhere.choices == ["kitchen"])
    let unnamed = try #require(refusal("{event: boiled, machine: kitchen}"))
    #expect(unnamed.choices == ["process: kettle"], "\(unnamed)")
    let slip = try #require(refusal("{event: bolt.movd}"))
    #expect(slip.choices == ["bolt.moved"], "\(slip)")
    #expect(refusal("{event: boiled, machine: kitchen, process: kettle}") == nil)
  }
}
