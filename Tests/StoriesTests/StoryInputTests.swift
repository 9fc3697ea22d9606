import ChildProcesses
import Foundation
import Journal
import JournalEvents
import StoryTesting
import Testing
import TimeTypes

@testable import Stories
@testable import Worlds

@Suite("The content of scenario files, and the errors for wrong content")
struct StoryInputTests {
  /// The error for a file with these bytes.
  private func refusal(_ bytes: [UInt8]) throws -> String {
    let path = NSTemporaryDirectory() + "/latchkey-\(UUID().uuidString).yaml"
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    return refusal(ofFile: path).replacingOccurrences(of: path, with: "FILE")
  }

  private func refusal(ofFile path: String) -> String {
    do {
      _ = try ScenarioLibrary.load(path, environment: [:], executableFolder: "/")
      return "taken"
    } catch { return error.description }
  }

  private func refusal(_ text: String) throws -> String { try refusal(Array(text.utf8)) }

  private static let machines = "machines:\n  door: {position: [0, 0], apps: [lock]}\n"

  @Test("H1: a file in the present folder is read whatever its ending, and a scenario's name goes before it")
  func otherEnding() throws {
    let name = "latchkey-\(UUID().uuidString)"
    try Data("title: without a name\n".utf8).write(to: URL(fileURLWithPath: name))
    defer { try? FileManager.default.removeItem(atPath: name) }
    #expect(refusal(ofFile: name).hasPrefix("\(name)"))
    #expect(!refusal(ofFile: name).contains("no scenario of that name"))
    #expect(refusal(ofFile: name + "-missing").contains("no scenario of that name"))
    #expect(refusal(ofFile: "Sources").contains("no scenario of that name"))
  }

  @Test("A15: text that is not UTF-8 is reported with its line, and only text files are read")
  func notText() throws {
    #expect(
      try refusal(Array("name: a\ntitle: ".utf8) + [0xC3, 0x28])
        == "FILE:2: is not text in UTF-8, as a scenario must be")
    #expect(refusal(ofFile: "/dev/zero/x.yaml").contains("no such scenario file"))
    #expect(refusal(ofFile: "/dev/null").contains("is not a text file"))
    #expect(refusal(ofFile: "/proc/self/").contains("that is a folder"))
    #expect(refusal(ofFile: "/dev/zero").contains("is not a text file"))
    #expect(
      try refusal(Array(repeating: 0x20, count: ScenarioParser.maximumSize + 1)).contains("at most 1048576 bytes"))
  }

  @Test("A15: however deep or long a file is, its error is a line that a person reads")
  func deep() throws {
    let error = try refusal("name: " + String(repeating: "[", count: 100_000))
    #expect(error.hasPrefix("FILE:1: not YAML: its lists and mappings are nested too deeply"))
    #expect(error.utf8.count < 300, "\(error.prefix(400))")
    let long = try refusal("\(String(repeating: "k", count: 50_000)): 1\n\(Self.machines)")
    #expect(long.utf8.count < 1100)
  }

  @Test("A15: too many steps are reported where they are, in the chapter that has the first one too many")
  func tooManySteps() throws {
    let steps = "steps:\n" + String(repeating: "  - pass: 1s\n", count: ScenarioParser.maximumSteps + 1)
    #expect(
      try refusal("name: x\n\(Self.machines)\(steps)")
        == "FILE:4: a scenario has at most 10000 steps, and here it has 10001")
    let chapters = """
      chapters:
        - name: first
          steps:
            - pass: 1s
        - name: second
          steps:

      """
    let many = String(repeating: "      - pass: 1s\n", count: ScenarioParser.maximumSteps)
    #expect(
      try refusal("name: x\n\(Self.machines)\(chapters)\(many)")
        == "FILE:9: a scenario has at most 10000 steps, and here it has 10001")
  }

  @Test("A15: another version of YAML is refused with what to do")
  func otherVersion() throws {
    let error = try refusal("%YAML 1.3\n---\nname: x\n\(Self.machines)steps:\n  - pass: 1s\n")
    #expect(error.hasSuffix("not YAML: '%YAML' names another version of YAML than 1.1 and 1.2; leave that line out"))
  }

  @Test("A15: characters that a terminal takes for commands are refused in texts, and shown as numbers in errors")
  func escapes() throws {
    let error = try refusal("name: x\ntitle: \"a\\e[31mred\"\n\(Self.machines)steps:\n  - pass: 1s\n")
    #expect(error == "FILE:2: 'title' of the scenario has a character in it that can't be printed, U+1b")
    let key = try refusal("name: x\n\"\\e[31m\": 1\n\(Self.machines)")
    #expect(key.contains("\\u{1b}[31m"))
    #expect(!key.contains("\u{1b}"))
  }

  @Test(
    "A15: a line break in a name is refused with its line, and makes no other name of it",
    arguments: [
      ("\"a\\nb\"", "has a line break in it, and must be one line of text"),
      ("\"a\\r\"", "has a line break in it, and must be one line of text"),
      ("\"a\\Lb\"", "has a line break in it, and must be one line of text"),
      ("\"a\\tb\"", "has a character in it that can't be printed, U+9"),
    ])
  func namesOfOneLine(_ text: String, _ problem: String) throws {
    let machines = "machines:\n  door: {position: [0, 0], apps: [lock]}\n  bob: {position: [1, 0], apps: [agent]}\n"
    func step(_ step: String) throws -> String { try refusal("name: x\n\(machines)steps:\n  - \(step)\n") }
    #expect(
      try step("invite guest: {machine: bob, guest: \(text)}")
        == "FILE:6: 'guest' of step 'invite guest' \(problem)")
    #expect(try step("revoke: {machine: bob, guest: \(text)}") == "FILE:6: 'guest' of step 'revoke' \(problem)")
    #expect(try step("unlock: {machine: \(text)}") == "FILE:6: 'machine' of step 'unlock' \(problem)")
    #expect(
      try step("wait for: {event: bolt.moved, fields: {record: \(text)}}")
        == "FILE:6: 'record' of 'fields' of step 'wait for' \(problem)")
    #expect(try refusal("name: \(text)\n\(machines)steps: [pass: 1s]\n") == "FILE:1: 'name' of the scenario \(problem)")
    let chapters = "chapters:\n  - name: \(text)\n    steps: [pass: 1s]\n"
    #expect(try refusal("name: x\n\(machines)\(chapters)") == "FILE:6: 'name' of a chapter \(problem)")
    let app = "apps:\n  own:\n    executable: own\n"
    #expect(
      try refusal("name: x\n\(app)    info plist: {CFBundleIdentifier: a.b, CFBundleName: \(text)}\n\(machines)")
        == "FILE:5: CFBundleName of app 'own' \(problem)")
    #expect(
      try refusal("name: x\n\(app)    info plist: {CFBundleIdentifier: a.b}\n    arguments: [\(text)]\n\(machines)")
        == "FILE:6: an argument of app 'own' \(problem)")
  }

  @Test("H1: a text in a block is one line, and a note has as many as it likes")
  func blocks() throws {
    let machines = "machines:\n  bob: {position: [1, 0], apps: [agent]}\n  door: {position: [0, 0], apps: [lock]}\n"
    let steps = "steps:\n  - note: \"two\\nlines\"\n    list guests: {machine: bob, saying: \"two\\nlines\"}\n"
    let story = try ScenarioParser.parse("name: |\n  small\n\(machines)\(steps)", file: "small.yaml")
    #expect(story.name == "small" && story.title == "small")
    #expect(story.chapters.first?.steps.first?.note == "two lines")
    let escape = try refusal("name: x\n\(machines)\(steps.replacingOccurrences(of: "lines\"}", with: "\\e[1m\"}"))")
    #expect(
      escape == "FILE:7: a text in 'saying' of step 'list guests' has a character in it that can't be printed, U+1b")
  }

  @Test("A15: an empty machine and an invalid number are reported with file and line")
  func slips() throws {
    let head = "name: x\n\(Self.machines)"
    #expect(
      try refusal(head + "steps:\n  - kill app:\n").hasPrefix("FILE:5: step 'kill app' does not say on which machine"))
    for text in ["0x10", "nan", "inf", "1_000", "ten"] {
      let error = try refusal("days: \(text)\n" + head + "steps:\n  - pass: 1s\n")
      #expect(error.hasPrefix("FILE:1: 'days' of the scenario must be a number"), "\(text): \(error)")
      #expect(DurationText.parse("\(text)s") == nil)
    }
    #expect(DurationText.parse("1e3s") == .seconds(1000))
  }

  @Test("L3: a story that is too long for a clock is refused with its step, and every length that is allowed is taken")
  func length() throws {
    func scenario(_ days: String, _ steps: String) throws -> Scenario {
      try ScenarioParser.parse("name: x\ndays: \(days)\n\(Self.machines)steps:\n\(steps)", file: "x.yaml")
    }
    let one = try scenario("0.001", "  - pass days: 36500\n")
    #expect(throws: ScenarioError.self) { try StoryLength.check(one, days: 36500, pace: nil) }
    try StoryLength.check(one, days: 0.001, pace: nil)
    let three = try scenario("1", String(repeating: "  - pass days: 36500\n", count: 3))
    let error = #expect(throws: ScenarioError.self) { try StoryLength.check(three, days: 1, pace: nil) }
    #expect(error?.line == 8 && error?.file == "x.yaml")
    let later = try scenario("1", "  - at: +36500d\n    pass: 1s\n")
    #expect(throws: ScenarioError.self) { try StoryLength.check(later, days: 36500, pace: nil) }
    #expect(StoryLength.duration(1e300) == .seconds(100_000 * 86400))
    #expect(StoryLength.duration(0.25) == .milliseconds(250))
  }

  @Test("L4: a journal's line with a time that no clock has is an entry without a time")
  func journalTimes() throws {
    func time(_ text: String) throws -> Int64? {
      try #require(
        SystemdJournalLine(JSONEncoder().encode(["_SOURCE_REALTIME_TIMESTAMP": text]))
      ).unixNanoseconds
    }
    #expect(try time("1700000000000001") == 1_700_000_000_000_001_000)
    for text in ["9223372036854775807", "-9223372036854775808", "-1", "x"] { #expect(try time(text) == nil) }
    #expect(MachineClock.unixNanoseconds(microseconds: .max) == nil)
  }

  @Test("A15: a bus's address takes any path")
  func busAddress() {
    #expect(BusConfiguration.address(ofSocket: "/tmp/a-b_c.d/1") == "unix:path=/tmp/a-b_c.d/1")
    #expect(BusConfiguration.address(ofSocket: "/tmp/a b%;<ü") == "unix:path=/tmp/a%20b%25%3b%3c%c3%bc")
    #expect(BusConfiguration.text(socket: "/tmp/a b").contains("<listen>unix:path=/tmp/a%20b</listen>"))
  }

  @Test("A11: a full disk is reported before anything is started")
  func space() throws {
    let folder = try RunFolder(keep: nil)
    defer { try? RunFolder.remove(folder.sockets, world: folder.world) }
    try folder.requireSpace()
    #expect(folder.shortage() == nil)
    let shortage = try #require(folder.shortage(below: .max))
    #expect(shortage.hasPrefix("no space left on the disk of \(folder.sockets)"))
    #expect(shortage.contains("TMPDIR"))
  }
}

@Suite("The fingerprint of a run")
struct RunDigestTests {
  @Test("A4: the run's fingerprint has what apps and the bolt did, and nothing that is new in each run")
  func covers() {
    let story = StoryJournal.dead
    let digest = RunDigest(story)
    #expect(digest.events > 10)
    func check(_ event: some JournalEvent) {
      #expect(RunDigest(story.without(event)).text != digest.text, "\(event)")
      let later = story.map {
        var entry = $0
        if entry.is(event) { entry.t += 1 }
        return entry
      }
      #expect(RunDigest(later).text != digest.text, "\(event)")
    }
    check(Recorded.Lock.boltMoved)
    check(Recorded.Radio.linkUp)
    check(Recorded.Agent.started)
    let otherRun = story.map {
      var entry = $0
      entry.pid += 1
      entry.wall += 5
      entry.fields["operation"] = "drawn anew"
      return RadioDigest.covers(entry) ? $0 : entry
    }
    #expect(RunDigest(otherRun).text == digest.text)
    #expect(RunDigest(story.with(Recorded.Lock.boltMoved, .to, "elsewhere")).text != digest.text)
  }

  @Test("A4: the run's fingerprint does not depend on the order of processes within one moment")
  func moments() {
    func entry(_ t: Int64, _ process: String, _ event: String, _ fields: [String: String] = [:]) -> JournalEntry {
      JournalEntry(
        t: t, wall: 0, machine: "door", process: process, pid: 1, level: "notice", event: event, message: "",
        fields: fields)
    }
    let one = entry(5, "latchkeyd", "app.launched", ["app": "a"])
    let two = entry(5, "latchkeyd", "daemon.started", ["state": "/tmp/latchkey-1/state"])
    let other = entry(5, "latchkeyd", "daemon.started", ["state": "/tmp/latchkey-2/state"])
    #expect(RunDigest([one, two]).text == RunDigest([other, one]).text)
    #expect(RunDigest([one, two]).text != RunDigest([one]).text)
    let off = entry(6, "latchkey-lock", "stateUpdated", ["state": "poweredOff"])
    let on = entry(6, "latchkey-lock", "stateUpdated", ["state": "poweredOn"])
    #expect(RunDigest([one, off, on]).text == RunDigest([one, on]).text)
    #expect(RunDigest([one, on, off]).text != RunDigest([one, on]).text)
  }
}
