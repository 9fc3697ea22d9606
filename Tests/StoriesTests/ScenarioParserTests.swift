import Journal
import JournalEvents
import ProcessTesting
import Radio
import Testing

@testable import Stories
@testable import Worlds

@Suite("Scenario files")
struct ScenarioParserTests {
  static let head = """
    name: small
    machines:
      door: {position: [0, 0], apps: [lock]}
      phone: {position: [1, 0], apps: [agent]}

    """

  func refusal(_ yaml: String) -> ScenarioError? {
    do {
      _ = try ScenarioParser.parse(yaml, file: "small.yaml")
      return nil
    } catch { return error }
  }

  @Test("H1: a story of every kind of step is read as it is written")
  func everyStep() throws {
    let scenario = try ScenarioParser.parse(
      Self.head + """
        days: 2
        seed: 7
        promises: [nothing-crashed]
        steps:
          - open app: {machine: phone, app: agent}
            note: opened
          - day: 1.5
            kill daemon: {machine: phone, after: 2s}
          - at: +2h
            reboot: {machine: phone, for: 1min}
          - restart bluetoothd: phone
          - adapter power: {machine: phone, to: off}
          - rfkill: {machine: phone, to: block}
          - move: {machine: phone, to: [400, -2.5], as: departure}
          - block radio: door
          - pass: 1.5h
          - wait for: {event: bolt.moved, machine: door, fields: {to: locked}, within: 5min}
          - check: [unlocked-once]
        """, file: "small.yaml")
    #expect(scenario.seed == 7)
    #expect(scenario.days == 2)
    #expect(scenario.promises == [PromiseReference("nothing-crashed", line: 7)])
    let steps = try #require(scenario.chapters.first).steps
    #expect(
      steps.map(\.action) == [
        .openApp(machine: "phone", app: .agent), .killDaemon(machine: "phone", after: .seconds(2)),
        .reboot(machine: "phone", downtime: .seconds(60)), .fault(machine: "phone", .restartBluetoothd(killed: false)),
        .fault(machine: "phone", .adapterPower(isOn: false)), .fault(machine: "phone", .rfkill(isBlocked: true)),
        .move(machine: "phone", to: Place(x: 400, y: -2.5), occasion: .departure),
        .fault(machine: "door", .radio(isBlocked: true)), .pass(.seconds(5400)),
        .wait(EventPattern(Recorded.Lock.boltMoved, machine: "door", fields: [.to: "locked"]), limit: .seconds(300)),
        .check([PromiseReference("unlocked-once", line: 22)]),
      ])
    #expect(steps.map(\.time)[1...2] == [.day(1.5), .later(.seconds(7200))])
    #expect(steps[0].note == "opened")
    #expect(steps[1].line == 12)
  }

  @Test("A1: a move that takes time is a walk, at any step's time, and its words say so")
  func walks() throws {
    let scenario = try ScenarioParser.parse(
      Self.head + """
        steps:
          - move: {machine: phone, to: [1, 0], over: 45s, as: arrival}
          - {day: 1, move: {machine: phone, to: [40, 0], over: 1.5h}}
        """, file: "small.yaml")
    let steps = try #require(scenario.chapters.first).steps
    #expect(
      steps.map(\.action) == [
        .move(machine: "phone", to: Place(x: 1, y: 0), occasion: .arrival, over: .seconds(45)),
        .move(machine: "phone", to: Place(x: 40, y: 0), occasion: nil, over: .seconds(5400)),
      ])
    #expect(steps[1].time == .day(1))
    #expect(steps[0].action.summary == "the owner comes home (phone to 1.0 m, 0.0 m), on foot, over 45 s")
  }

  @Test("A15: the user's switch is told in a sentence")
  func bluetoothSwitch() throws {
    let yaml = Self.head + "steps:\n  - bluetooth: {machine: phone, to: on}\n"
    let step = try #require(try ScenarioParser.parse(yaml, file: "small.yaml").chapters.first?.steps.first)
    #expect(step.action.summary == "the user of phone switches Bluetooth on")
  }

  @Test("A1: a story says its radio's noise by a level, by single parameters, or by both")
  func radio() throws {
    func physics(_ line: String) throws -> RadioPhysics {
      try ScenarioParser.parse(Self.head + line + "\nsteps: [pass: 1s]", file: "small.yaml").radio
    }
    #expect(try physics("") == .ordinary)
    #expect(try physics("radio: harsh") == .harsh)
    var expected = RadioPhysics.calm
    (expected.bodyLoss, expected.wayShadowing) = (12, 4)
    #expect(try physics("radio: {level: calm, body loss: 12, way shadowing: 4}") == expected)
    #expect(try physics("radio: {noise: 0}") == RadioPhysics(noise: 0))
    for (line, problem, choice) in [
      ("radio: loud", "'radio' of the scenario can't be 'loud'", "harsh"),
      ("radio: {level: loud}", "'level' of 'radio' can't be 'loud'", "calm"),
      ("radio: {walls: 3}", "unknown key 'walls' in 'radio'", "way shadowing"),
      ("radio: {body loss: 41}", "'body loss' of 'radio' must be a number from 0.0 to 40.0, not '41'", ""),
      ("radio: {noise: much}", "'noise' of 'radio' must be a number from 0.0 to 20.0, not 'much'", ""),
      ("radio: [harsh]", "'radio' must be a mapping of keys and values", ""),
    ] {
      let error = try #require(refusal(Self.head + line + "\nsteps: [pass: 1s]"), "\(line)")
      #expect(error.line == 5 && error.problem.contains(problem), "\(error)")
      #expect(choice.isEmpty || error.choices.contains(choice), "\(error)")
    }
  }

  @Test(
    "H1: what a scenario can't say is refused with the line, what was wrong, and what would be right",
    arguments: [
      ("- explode: phone", 6, "unknown step or fault 'explode'", "kill daemon"),
      ("- kill daemon: cellar", 6, "unknown machine 'cellar'", "phone"),
      ("- kill app: {machine: door, app: agent}", 6, "machine 'door' has no app 'agent'", "lock"),
      ("- kill app: {machine: door, app: clock}", 6, "machine 'door' has no app 'clock'", "lock"),
      ("- move: {machine: phone, to: [1, 0], fast: true}", 6, "unknown key 'fast' in step 'move'", "as"),
      ("- move: {machine: phone, to: [1]}", 6, "two numbers in metres, as in [400, 0], and none beyond 1000 km", ""),
      ("- move: {machine: phone}", 6, "step 'move' has no 'to'", ""),
      ("- move: {machine: phone, to: [1, 0], over: 0s}", 6, "'over' of step 'move' must be longer than no time", "45s"),
      ("- move: {machine: phone, to: [1, 0], over: quick}", 6, "must be a duration, not 'quick'", "10s"),
      ("- move: phone", 6, "step 'move' has no 'to'", "[400, 0]"),
      ("- adapter power: phone", 6, "step 'adapter power' has no 'to'", "off"),
      ("- open app: phone", 6, "step 'open app' has no 'app'", "agent"),
      ("- kill app: lock", 6, "names a machine and an app, as in {machine: phone, app: agent}, not 'lock'", ""),
      ("- door: {machine: phone, to: open}", 6, "machine 'phone' has no lock, which step 'door' needs", "door"),
      ("- turn bolt: {machine: phone, to: locked}", 6, "machine 'phone' has no lock", "door"),
      ("- lock motor: {machine: phone, to: jam}", 6, "machine 'phone' has no lock", "door"),
      ("- lock battery: {machine: phone, percent: 5}", 6, "machine 'phone' has no lock", "door"),
      ("- lock cover: {machine: phone, to: off}", 6, "machine 'phone' has no lock", "door"),
      ("- lock mode: {machine: phone, to: privacy}", 6, "machine 'phone' has no lock", "door"),
      ("- lock reset: {machine: phone, to: pressed}", 6, "machine 'phone' has no lock", "door"),
      ("- lock enrolment: phone", 6, "machine 'phone' has no lock", "door"),
      ("- lock battery: {machine: door, percent: 50.5}", 6, "a whole number from 0 to 100, not '50.5'", ""),
      ("- wait for: {event: bolt.moved, machine: phone}", 6, "which machine 'phone' does not have", "door"),
      ("- wait for: {event: unlock.written, machine: door}", 6, "which machine 'door' does not have", "phone"),
      ("- {pass: 1s, pass: 2s}", 6, "'pass' stands twice in one mapping, here for the first time", ""),
      ("- pass: a while", 6, "must be a duration, not 'a while'", "5min"),
      ("- pass: -1s", 6, "must be a duration", ""),
      ("- pass: 40000d", 6, "'pass' of a step is longer than 36500d: '40000d'", ""),
      ("- check: []", 6, "step 'check' names no promise", "unlocked-once"),
      ("- check: [door-is-nice]", 6, "unknown promise 'door-is-nice'", "unlocked-once"),
      ("- {restart bluetoothd: phone, day: soon}", 6, "'day' of a step must be a number", ""),
      ("- {restart bluetoothd: phone, at: 2h}", 6, "'at' must be a time after the step before", "+2h"),
      ("- {restart bluetoothd: phone, block radio: door}", 6, "one thing that happens", ""),
      ("- pass: 1s\n    nots: tea", 7, "unknown key 'nots' beside step 'pass'", "note"),
      ("- dya: 2\n    pass: 1s", 6, "unknown key 'dya' beside step 'pass'", "day"),
      ("- {note: nothing}", 6, "a step says what happens", "open app"),
      ("- adapter power: {machine: phone, to: maybe}", 6, "can't be 'maybe'", "on"),
      ("[]", nil, "is empty", ""),
    ] as [(String, Int?, String, String)])
  func badStep(_ step: String, line: Int?, problem: String, choice: String) throws {
    let error = try #require(refusal(Self.head + "steps:\n" + "  \(step)\n"))
    #expect(error.problem.contains(problem), "\(error)")
    if let line { #expect(error.line == line, "\(error)") }
    if !choice.isEmpty { #expect(error.choices.contains(choice), "\(error)") }
    #expect(error.description.hasPrefix("small.yaml"))
  }

  @Test(
    "H1: a broken head of a scenario is refused",
    arguments: [
      ("", "empty"),
      ("name: [", "not YAML"),
      ("name: x\nname: y\n", "name"),
      ("- a\n- b\n", "must be a mapping"),
      ("name: x\nsteps: [{pass: 1s}]\n", "has no 'machines'"),
      (head, "either 'steps', or 'chapters'"),
      (head + "steps: [{pass: 1s}]\nchapters: []\n", "either 'steps', or 'chapters'"),
      (head + "chapters: []\n", "small.yaml:5: 'chapters' is empty"),
      (head + "steps: [{pass: 1s}]\nspeed: 3\n", "unknown key 'speed'"),
      (head + "steps: [{pass: 1s}]\nseed: -3\n", "'seed' must be"),
      (head + "steps: [{pass: 1s}]\ndays: 0\n", "'days' of the scenario must be"),
      ("name: x\nmachines: {../up: {position: [0, 0]}}\nsteps: [{pass: 1s}]\n", "a machine's name"),
      ("name: x\nmachines: {a: {position: [0, 0], apps: [game]}}\nsteps: [{pass: 1s}]\n", "unknown app 'game'"),
      ("name: x\nmachines: {a: {position: [0, 0], apps: [lock, lock]}}\nsteps: [{pass: 1s}]\n", "twice"),
    ])
  func badHead(_ yaml: String, problem: String) throws {
    let error = try #require(refusal(yaml))
    #expect("\(error)".contains(problem), "\(error)")
  }

  @Test("H1: a byte order mark, with which some editors begin a file, is no part of it")
  func byteOrderMark() throws {
    let yaml = Self.head + "steps: [{pass: 1s}]\n"
    let plain = try ScenarioParser.parse(yaml, file: "small.yaml")
    #expect(try ScenarioParser.parse("\u{FEFF}" + yaml, file: "small.yaml") == plain)
  }

  @Test("H1: what the simulator records about a machine or its link comes from that machine, for a step that waits")
  func radioEvents() throws {
    let scenario = try ScenarioParser.parse(
      Self.head
        + "steps: [{wait for: {event: link.up, machine: phone}}, {wait for: {event: walk.ended, machine: phone}}]",
      file: "small.yaml")
    let patterns = scenario.chapters[0].steps.compactMap { step in
      if case .wait(let pattern, _) = step.action { pattern } else { nil }
    }
    func line(_ event: Recorded.Radio, _ fields: [JournalField: String]) -> JournalEntry {
      JournalEntry(
        t: 0, wall: 0, machine: "", process: Recorded.simulator, pid: 1, level: "notice", event: event.rawValue,
        message: "", fields: fields.named)
    }
    #expect(patterns[0].matches(line(.linkUp, [.central: "phone", .peripheral: "door"])))
    #expect(!patterns[0].matches(line(.linkUp, [.central: "other", .peripheral: "door"])))
    #expect(patterns[1].matches(line(.walkEnded, [.machine: "phone"])))
    #expect(!patterns[1].matches(line(.walkEnded, [.machine: "other"])))
  }

  @Test(
    "durations are read and written as people do",
    arguments: [
      ("250ms", 250_000_000), ("10s", 10_000_000_000), ("5min", 300_000_000_000), ("2h", 7_200_000_000_000),
      ("1.5d", 129_600_000_000_000), ("3 h", 10_800_000_000_000),
    ] as [(String, Int64)])
  func duration(_ text: String, nanoseconds: Int64) {
    #expect(DurationText.parse(text) == .nanoseconds(nanoseconds))
  }

  @Test(
    "invalid durations are nil", arguments: ["", "s", "1", "-1s", "1e400h", "nan s", "2 hours", "inf d", "99999999d"])
  func noDuration(_ text: String) { #expect(DurationText.parse(text) == nil) }

  @Test("H1: the package's own scenarios are sound, and have promises")
  func ownScenarios() throws {
    let folder = TestPlaces.package + "/config/scenarios"
    let scenario = try ScenarioLibrary.load(folder + "/days-away.yaml", executableFolder: "/nonexistent")
    #expect(scenario.days == 5)
    #expect(scenario.chapters.count == 2)
    #expect(scenario.chapters.allSatisfy { !$0.promises.isEmpty })
    let byName = try ScenarioLibrary.load(
      "days-away", environment: ["LATCHKEY_SCENARIOS": folder], executableFolder: "/nonexistent")
    #expect(byName == scenario)
  }

  @Test("H1: an unknown scenario's error lists those that there are")
  func unknownScenario() {
    let error = #expect(throws: ScenarioError.self) {
      try ScenarioLibrary.load(
        "weeks-away", environment: ["LATCHKEY_SCENARIOS": TestPlaces.package + "/config/scenarios"],
        executableFolder: "/nonexistent")
    }
    #expect(error?.choices.contains("days-away") == true)
  }

  @Test("H1: a mapping takes the keys of others with '<<', its own first; a text on several lines is one line")
  func merged() throws {
    func scenario(_ merge: String) throws -> Scenario {
      try ScenarioParser.parse(
        """
        name: small
        machines:
          door: {position: [0, 0], apps: [lock]}
          alice: &alice {position: [1, 0], apps: [agent]}
          idle: &idle {position: [5, 0]}
          bob: {\(merge), position: [2, 0]}
        steps:
          - note: |
              two
              lines
            pass: 1s
        """, file: "small.yaml")
    }
    for merge in ["<<: *alice", "<<: [*alice, *idle]", "<<: [*idle, *alice]", "<<: {<<: *alice, position: [3, 0]}"] {
      let story = try scenario(merge)
      let bob = try #require(story.machines.first { $0.name == "bob" })
      #expect(bob.position == Place(x: 2, y: 0) && bob.apps == [.agent])
      #expect(story.chapters.first?.steps.first?.note == "two lines")
    }
    #expect(throws: ScenarioError.self) { try scenario("<<: 7") }
    #expect(throws: ScenarioError.self) { try scenario("\"<<\": *alice") }
    let many = Array(repeating: "*alice", count: 101).joined(separator: ", ")
    #expect(throws: ScenarioError.self) { try scenario("<<: [\(many)]") }
  }
}
