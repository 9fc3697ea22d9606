import ConsoleOutput
import Foundation
import Journal
import JournalEvents
import ProcessTesting
import StoryPresentation
import StoryTesting
import Testing

@testable import Stories
@testable import Worlds

@Suite("Judging a story by machines' journals")
struct JournalJudgeTests {
  static let chapter = "days away"

  /// The scenario of `StoryJournal`'s stories.
  static func scenario(promises: [String], steps: String = "- pass: 1s", more: String = "") throws -> Scenario {
    try ScenarioParser.parse(
      """
      name: told
      machines:
        door: {position: [0, 0], apps: [lock]}
        phone: {position: [1, 0], apps: [agent]}
      chapters:
        - name: \(chapter)
          promises: [\(promises.joined(separator: ", "))]
          steps:
            \(steps)
      \(more)
      """, file: "told.yaml")
  }

  /// The story with the mark of its chapter before it.
  static func told(_ story: [JournalEntry], chapter: String = chapter) -> [JournalEntry] {
    [mark(.chapterBegan, [.name: chapter])] + recorded(story)
  }

  /// `StoryJournal` names the machine of a deed by a field, which the deeds of a journal don't have.
  static func recorded(_ story: [JournalEntry]) -> [JournalEntry] {
    story.map { entry in
      var entry = entry
      if entry.mark != nil { entry[.machine] = nil }
      return entry
    }
  }

  static func mark(
    _ event: Recorded.Story, _ fields: [JournalField: String] = [:], machine: String = "", at seconds: Int64 = 0
  ) -> JournalEntry {
    JournalEntry(
      t: seconds * 1_000_000_000, wall: 0, machine: machine, process: Recorded.orchestrator, pid: 1, level: "notice",
      event: event.rawValue, message: "words of \(event.rawValue)", fields: fields.named)
  }

  func judge(_ export: JournalExport, _ scenario: Scenario) throws -> Report {
    let journals = try ["door", "phone"].map { try ExportedJournal(of: $0, path: try export.write($0)) }
    return try JournalJudge.judge(scenario, journals)
  }

  /// The promises that `StoryJournal.dead` keeps.
  static let kept = Promise.all.map(\.name).filter {
    !["woken-on-arrival", "asked-without-evidence", "refusals-logged"].contains($0) && !PromiseTests.faults.contains($0)
  }

  @Test("H1: a story that went well keeps its promises, judged by what two machines' journals recorded")
  func whole() throws {
    let report = try judge(JournalExport(Self.told(StoryJournal.dead)), Self.scenario(promises: Self.kept))
    #expect(report.promises.filter { !$0.kept }.map { "\($0.name): \($0.reason)" } == [])
    #expect(report.kept)
    #expect(report.problem == nil && report.remarks.isEmpty)
    #expect(report.journals?.keys.sorted() == ["door", "phone"])
    #expect(report.timeline.first?.event == Recorded.Story.chapterBegan.rawValue)
    #expect(report.timeline.first?.t == 0)
    let text = VerdictScreen(report, .plain).lines().joined(separator: "\n")
    for part in ["KEPT: ", "from the journals of door (", "kept    the door opens, once: "] {
      #expect(text.contains(part), "\(text)")
    }
    #expect(!text.contains("seed"), "\(text)")
  }

  static let broken = PromiseTests.doctored.filter { $0.judgement == .broken && $0.what != "the clock went back" }

  @Test("H1: what breaks a promise breaks it in a journal too", arguments: broken)
  func doctored(_ doctored: PromiseTests.Doctored) throws {
    let report = try judge(
      JournalExport(Self.told(doctored.entries)), Self.scenario(promises: [doctored.promise]))
    #expect(report.promises.map(\.judgement) == [.broken], "\(report.promises.map(\.reason))")
    #expect(!report.kept)
  }

  @Test("H1: a phone's clock that is wrong all the time is put right by the commands that the lock accepted")
  func clockAhead() throws {
    for seconds: Int64 in [90, -4000] {
      let export = try JournalExport(Self.told(StoryJournal.dead))
      export.setClock(of: "phone") { _ in seconds * 1_000_000 }
      let report = try judge(export, Self.scenario(promises: Self.kept))
      #expect(report.promises.filter { !$0.kept }.map { "\($0.name): \($0.reason)" } == [])
      let remark = try #require(report.remarks.first)
      #expect(remark.contains(seconds > 0 ? "the clock of phone was 90 s ahead of door's" : "the clock of door was"))
    }
  }

  @Test("H1: clocks that drift apart, or are set back, are an error that says which")
  func clockWrong() throws {
    let twice = Self.told(StoryJournal.dead.afterwards(StoryJournal.dead))
    let drifting = try JournalExport(twice)
    let half = StoryJournal.dead.count - 8
    drifting.setClock(of: "phone") { $0 > half ? 40_000_000 : 0 }
    #expect(try refusal(drifting).contains("the clocks of door and phone do not fit"))
    let back = try JournalExport(Self.told(StoryJournal.dead))
    back.setClock(of: "phone") { $0 > 12 ? -3_600_000_000 - 172_800_000_000 : 0 }
    let text = try refusal(back)
    #expect(text.contains("phone.json:13: the clock of phone went back by "), "\(text)")
  }

  /// What is said about journals that can't be judged.
  private func refusal(_ export: JournalExport, _ scenario: Scenario? = nil) throws -> String {
    do {
      let report = try judge(export, try scenario ?? Self.scenario(promises: ["unlocked-once"]))
      return "taken: \(report.promises.map(\.reason))"
    } catch { return "\(error)" }
  }

  private func refusal(ofText bytes: [UInt8]) throws -> String {
    let path = NSTemporaryDirectory() + "/latchkey-\(UUID().uuidString).json"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    return refusal(ofFile: path).replacingOccurrences(of: path, with: "FILE")
  }

  private func refusal(ofFile path: String) -> String {
    do {
      return "taken: \(try ExportedJournal(of: "phone", path: path).entries.count)"
    } catch { return "\(error)" }
  }

  @Test("H1: a file that is no journal, is cut, is empty or has a line without an end is told with its line")
  func notAJournal() throws {
    let line = #"{"__CURSOR":"a","__REALTIME_TIMESTAMP":"1790000000000000","MESSAGE":"x"}"# + "\n"
    #expect(try refusal(ofText: Array(line.utf8)) == "taken: 0")
    #expect(try refusal(ofText: []) == "FILE: is empty")
    #expect(
      try refusal(ofText: Array((line + "Nov 23 phone\n").utf8)).hasPrefix("FILE:2: is not a line of `journalctl"))
    #expect(try refusal(ofText: Array("{\"a\": 1}\n".utf8)).hasPrefix("FILE:1: is not a line of"))
    #expect(
      try refusal(ofText: Array((line + line.dropLast(9)).utf8)).hasPrefix("FILE:2: has no end: the file was truncated")
    )
    let huge = try refusal(
      ofText: Array(line.utf8) + [UInt8](repeating: 0x20, count: ExportedJournal.lineLimit + 600_000))
    #expect(huge.hasPrefix("FILE:2: is longer than 4194304 bytes"), "\(huge)")
    #expect(refusal(ofFile: "/dev/null").contains("is neither a file nor a pipe"))
    #expect(refusal(ofFile: "/nowhere").contains("/nowhere: can't be read: No such file"))
    #expect(refusal(ofFile: "/tmp").contains("is neither a file nor a pipe"))
    let timeless = #"{"__CURSOR":"a","SYSLOG_IDENTIFIER":"latchkeyd","LATCHKEY_TIME":"1"}"# + "\n"
    #expect(try refusal(ofText: Array(timeless.utf8)) == "FILE:1: has no time")
  }

  @Test("H1: machines without a journal, unknown ones, and two journals of one are told")
  func machines() throws {
    let scenario = try Self.scenario(promises: ["unlocked-once"])
    func refusal(_ machines: String...) -> String? {
      do { try JournalJudge.check(machines, of: scenario) } catch { return error.description }
      return nil
    }
    #expect(refusal("door", "phone") == nil)
    #expect(refusal("phone") == "told: machine 'door' has no journal: --journal door=FILE")
    #expect(refusal("door", "phone", "car") == "told: the scenario has no machine 'car' (valid: door, phone)")
    #expect(refusal("door", "phone", "door") == "told: machine 'door' has two journals")
  }

  @Test("H1: journals without deeds, with misspelt ones, with two stories or with each other's lines are told")
  func deeds() throws {
    #expect(
      try refusal(JournalExport(Self.recorded(StoryJournal.dead))).contains("no line records that a chapter began"))
    let story = Self.told(StoryJournal.dead)
    func told(_ change: @escaping ([String: String]) -> [String: String]) throws -> String {
      let export = try JournalExport(story)
      export.alter("phone") { $0["LATCHKEY_EVENT"] == "owner.left" ? change($0) : $0 }
      return try refusal(export)
    }
    let slip = try told { $0.merging(["LATCHKEY_EVENT": "owner.lef"]) { $1 } }
    #expect(slip.contains("phone.json: the orchestrator records no event 'owner.lef' (valid: owner.left"), "\(slip)")
    let field = try told { $0.merging(["LATCHKEY_FIELDS": "wey", "LATCHKEY_FIELD_WEY": "walk"]) { $1 } }
    #expect(field.contains("the event 'owner.left' has no field 'wey' (valid: away.at-least"), "\(field)")
    let machine = try told { $0.merging(["LATCHKEY_MACHINE": "car"]) { $1 } }
    #expect(
      machine.contains("is about a machine 'car', which is not in the scenario (valid: door, phone)"), "\(machine)")
    #expect(
      try refusal(JournalExport(story + Self.told(StoryJournal.dead))).contains(
        "the chapter 'days away' begins a second time"))
    let other = Self.told(StoryJournal.dead, chapter: "a week")
    #expect(try refusal(JournalExport(other)).contains("a chapter 'a week' where the scenario has 'days away'"))
    let export = try JournalExport(story)
    let door = try export.write("door")
    let error = #expect(throws: JournalExportError.self) {
      try JournalJudge.judge(
        Self.scenario(promises: ["unlocked-once"]),
        [ExportedJournal(of: "door", path: door), ExportedJournal(of: "phone", path: door)])
    }
    #expect(error?.description.contains("has lines that \(door) has, too") == true)
  }

  @Test("H1: a story that stopped is not proven: what it waited for in vain is broken, what comes later not reached")
  func stopped() throws {
    let closed = StoryJournal.dead.without(Recorded.Lock.boltMoved)
    let last = (closed.last?.t ?? 0) / 1_000_000_000 + 300
    let inVain = Self.told(closed) + [Self.mark(.waitFailed, at: last)]
    let more = """
        - name: later
          promises: [locked-on-leaving]
          steps:
            - check: [request-held]
      promises: [nothing-crashed]
      """
    let scenario = try Self.scenario(promises: ["unlocked-once", "unlock-answered"], more: more)
    let report = try judge(JournalExport(inVain), scenario)
    #expect(report.problem == "words of wait.failed")
    #expect(report.promises.map(\.judgement) == [.broken, .kept, .notReached, .notReached, .kept])
    #expect(!report.kept)
    let early = try judge(JournalExport(Self.told(StoryJournal.dead)), scenario)
    #expect(early.problem == "the journals end before the chapter 'later' begins")
    #expect(early.promises.map(\.judgement) == [.kept, .kept, .notReached, .notReached, .kept])
    #expect(!early.kept)
  }

  @Test("H1: deeds that the scenario has and the journals have not are told; checks between steps are not judged")
  func otherwise() throws {
    let steps = """
      - open app: {machine: phone, app: agent}
            - move: {machine: phone, to: [200, 0], as: departure}
            - check: [locked-on-leaving]
            - hang app: {machine: door, app: lock}
            - move: {machine: phone, to: [1, 0], over: 45s, as: arrival}
      """
    let report = try judge(
      JournalExport(Self.told(StoryJournal.dead)), Self.scenario(promises: ["unlocked-once"], steps: steps))
    #expect(report.remarks == ["line 12, the lock on door hangs (SIGSTOP): not recorded"])
    #expect(report.stepsNotDone == 1)
    #expect(report.promises.map(\.judgement) == [.notJudged, .kept])
    #expect(report.promises.first?.scope == "line 11")
    #expect(report.kept)
  }

  @Test("H1: systemd's word that latchkeyd was killed is a crash, unless the story killed it")
  func ends() throws {
    let exit = [
      "MESSAGE_ID": "98e322203f7a4ed290d09fe03c09fe15", "_PID": "1", "UNIT": "latchkeyd.service",
      "EXIT_CODE": "killed", "EXIT_STATUS": "KILL", "SYSLOG_IDENTIFIER": "systemd",
    ]
    func judgement(_ story: [JournalEntry]) throws -> Judgement? {
      let export = try JournalExport(Self.told(story))
      export.add(exit, to: "phone")
      return try judge(export, Self.scenario(promises: ["nothing-crashed"])).promises.first?.judgement
    }
    let last = (StoryJournal.dead.last?.t ?? 0) / 1_000_000_000
    #expect(try judgement(StoryJournal.dead) == .broken)
    #expect(try judgement(StoryJournal.dead + [Self.mark(.daemonKilled, machine: "phone", at: last)]) == .kept)
    // What was done to another machine, or to another part of this one, is no reason.
    #expect(try judgement(StoryJournal.dead + [Self.mark(.daemonKilled, machine: "door", at: last)]) == .broken)
    #expect(try judgement(StoryJournal.dead + [Self.mark(.fault, machine: "phone", at: last)]) == .broken)
  }

  @Test("H1: what the lab's scripts put on record is what the judge reads")
  func scripts() async throws {
    let program = """
      import sys
      sys.path.insert(0, sys.argv[1])
      import recorded
      fields = {"from.x": "1.0", "away.at-least": "5", "way": "walk"}
      sys.stdout.buffer.write(recorded.line(recorded.ORCHESTRATOR, "owner.left", "phone", fields, "left\\nhome"))
      """
    let outcome = try await TestProcess.run(
      "/usr/bin/env", ["python3", "-B", "-c", program, TestPlaces.package + "/scripts/vm"])
    var fields = ["__REALTIME_TIMESTAMP": "1790000000000000", "__CURSOR": "a"]
    for line in outcome.output.split(separator: "\n") {
      let sign = try #require(line.firstIndex(of: "="))
      fields[String(line[..<sign])] = String(line[line.index(after: sign)...])
    }
    let entry = try #require(SystemdJournalLine(JSONEncoder().encode(fields))).entry(machine: "phone", t: 1, wall: 1)
    #expect(entry?.is(Recorded.Story.ownerLeft) == true)
    #expect(entry?.fields == ["from.x": "1.0", "away.at-least": "5", "way": "walk"])
    #expect(entry?.message == "left home")
    #expect(fields["LATCHKEY_MACHINE"] == "phone")
  }
}
