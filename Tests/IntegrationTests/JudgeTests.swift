import Foundation
import Journal
import JournalEvents
import ProcessTesting
import StoryTesting
import Testing

@testable import Stories
@testable import Worlds

@Suite("Judging journals with `latchkey judge`", .timeLimit(.minutes(20)))
struct JudgeTests {
  /// The command's report, and how it ended.
  static func judge(_ scenario: String, _ export: JournalExport) async throws -> (report: Report, status: Int32) {
    let json = export.folder + "/report.json"
    let outcome = try await LatchkeyCommand.run(
      [
        "judge", scenario, "--journal", "door=\(export.write("door"))", "--journal", "phone=\(export.write("phone"))",
        "--json", json,
      ])
    #expect(outcome.output.contains("from the journals of door"), "\(outcome.output)\n\(outcome.errors)")
    let report = try JSONDecoder().decode(Report.self, from: Data(contentsOf: URL(fileURLWithPath: json)))
    return (report, outcome.status)
  }

  /// A scenario, and the journals of a story in which the door's lock starts and nothing else happens.
  private func place() throws -> (scenario: String, export: JournalExport) {
    func entry(_ machine: String, _ process: String, _ event: some JournalEvent, _ fields: [JournalField: String])
      -> JournalEntry
    {
      JournalEntry(
        t: 0, wall: 0, machine: machine, process: process, pid: 1, level: "notice", event: event.rawValue, message: "",
        fields: fields.named)
    }
    let export = try JournalExport([
      entry("", Recorded.orchestrator, Recorded.Story.chapterBegan, [.name: "the story"]),
      entry("phone", Recorded.daemon, Recorded.Daemon.started, [:]),
      entry("door", Recorded.daemon, Recorded.Daemon.started, [:]),
    ])
    let scenario = export.folder + "/story.yaml"
    try """
    name: quiet
    machines:
      door: {position: [0, 0], apps: [lock]}
      phone: {position: [1, 0], apps: [agent]}
    steps:
      - pass: 1s
    promises: [nothing-crashed]
    """.write(toFile: scenario, atomically: true, encoding: .utf8)
    return (scenario, export)
  }

  @Test("H1: latchkey judge reports errors by its status and in one line")
  func statuses() async throws {
    let (scenario, export) = try place()
    let door = "door=\(try export.write("door"))"
    let phone = "phone=\(try export.write("phone"))"
    let cases: [(arguments: [String], status: Int32, words: String)] = [
      (["--journal", door, "--journal", phone], 0, ""),
      ([], 64, "--journal"),
      (["--journal", "door"], 64, "door"),
      (["--journal", door], 64, "machine 'phone' has no journal: --journal phone=FILE"),
      (["--journal", door, "--journal", phone, "--journal", "car=x"], 64, "no machine 'car' (valid: door, phone)"),
      (["--journal", door, "--journal", "phone=\(scenario)"], 65, "story.yaml:1: is not a line of `journalctl"),
      (["--journal", door, "--journal", "phone=\(export.folder)/none"], 66, "can't be read: No such file"),
      (["--journal", door, "--journal", phone, "--json", "/dev/full"], 74, "/dev/full can't be written"),
    ]
    for (arguments, status, words) in cases {
      let outcome = try await LatchkeyCommand.run(["judge", scenario] + arguments)
      #expect(outcome.status == status, "\(arguments)\n\(outcome.output)\n\(outcome.errors)")
      #expect(words.isEmpty || outcome.errors.contains(words), "\(arguments): \(outcome.errors)")
    }
    let none = try await LatchkeyCommand.run(["judge", "weeks-away", "--journal", door])
    #expect(none.status == 64 && none.errors.contains("days-away"))
  }

  @Test("H1: a journal may come through a pipe")
  func pipe() async throws {
    let (scenario, export) = try place()
    let outcome = try await TestProcess.run(
      "/bin/bash",
      [
        "-c", #"exec "$0" judge "$1" --journal door=<(cat "$2") --journal phone=<(cat "$3")"#,
        TestPlaces.programs + "/latchkey", scenario, try export.write("door"), try export.write("phone"),
      ])
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    #expect(outcome.output.contains("KEPT: 1 of 1 promise kept in quiet"))
  }
}
