import Foundation
import StoryTesting
import Testing

@testable import Stories
@testable import Worlds

/// The demo's story with real processes. It is slow, so if it fails, each step is shown as it happened.
@Suite("Away for days, with real processes", .serialized, .timeLimit(.minutes(20)))
struct DaysAwayTests {
  private func report(_ path: String) throws -> Report {
    try JSONDecoder().decode(Report.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
  }

  @Test("L2 L3 S9 S10: days later the dead agent is relaunched and the door opens, once; then with it suspended")
  func daysAway() async throws {
    let files = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent("latchkey-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: files) }
    let json = files.appendingPathComponent("report.json").path
    let command = try await LatchkeyCommand(["prove", "days-away", "--json", json, "--verbose"])
    let outcome = try await command.finish()
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    let report = try report(json)
    #expect(report.kept)
    #expect(report.problem == nil)
    #expect(report.promises.filter { !$0.kept } == [])
    #expect(report.promises.count >= 20)
    #expect(report.virtualSeconds > 10 * 86400)
    #expect(report.damagedLines == 0)
    for part in ["Timeline", "Verdict", "kept    unlocked-once", "bolt.moved", report.radio.digest] {
      #expect(outcome.output.contains(part))
    }
    #expect(command.processesLeft().isEmpty)
    #expect(command.filesLeft().isEmpty)
    try await judgeAgain(report)
  }

  /// What two machines' journals would have of the same run comes to the same, judged by `latchkey judge`.
  private func judgeAgain(_ report: Report) async throws {
    func outcomes(_ report: Report) -> [String] {
      report.promises.map { "\($0.scope): \($0.name) \($0.judgement.rawValue)" }
    }
    let (again, status) = try await JudgeTests.judge("days-away", JournalExport(report.timeline))
    #expect(status == 0)
    #expect(outcomes(again) == outcomes(report))
    #expect(again.stepsNotDone == 0, "\(again.remarks)")
    // A bolt that opens once more at the end is what breaks the same promises there.
    let opening = try #require(report.timeline.last { $0.isOpeningByPhone })
    var late = opening
    late.t = try #require(report.timeline.last).t + 3_600_000_000_000
    late[.record] = "999"
    let broken = try await JudgeTests.judge("days-away", JournalExport(report.timeline + [late]))
    #expect(broken.status == 1)
    #expect(
      broken.report.promises.filter { $0.judgement == .broken }.map(\.name) == [
        "unlocked-once", "opened-only-on-arrival",
      ])
  }

  @Test(
    "L3: unplugged, blocked, crashed and rebooted meanwhile, behind private addresses, or the lock hangs: the door opens",
    arguments: ["machine-faults", "private-addresses", "lock-faults", "open-request", "jammed-bolt"])
  func machinesStories(_ story: String) async throws {
    let command = try await LatchkeyCommand(["prove", story])
    let outcome = try await command.finish()
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    #expect(command.processesLeft().isEmpty)
  }

  @Test("H1: two at once, with one seed: both keep their promises, and their radios had the same timeline")
  func twoAtOnce() async throws {
    let files = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent("latchkey-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: files) }
    let paths = ["a", "b"].map { files.appendingPathComponent($0).path }
    var commands: [LatchkeyCommand] = []
    for path in paths {
      commands.append(
        try await LatchkeyCommand(["prove", "days-away", "--days", "1", "--seed", "11", "--json", path]))
    }
    for command in commands {
      let outcome = try await command.finish()
      #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    }
    let reports = try paths.map { try report($0) }
    #expect(reports[0].radio == reports[1].radio)
    #expect(reports[0].radio.events > 0)
    for report in reports { #expect(report.kept) }
  }

  @Test(
    "H1: nothing that a run started is left when it is killed with SIGKILL, or interrupted",
    arguments: [
      (SIGKILL, 9), (SIGINT, 130), (SIGTERM, 143),
    ] as [(Int32, Int32)])
  func nothingIsLeft(_ signal: Int32, status: Int32) async throws {
    let command = try await LatchkeyCommand(["prove", "days-away"])
    try await command.hear("the owner opens the agent for the first time")
    #expect(!command.processesLeft().isEmpty)
    command.signal(signal)
    let outcome = try await command.finish()
    #expect(outcome.status == status, "\(outcome.errors)")
    #expect(command.processesLeft().isEmpty)
    #expect(command.filesLeft().isEmpty)
  }

  @Test("H1: a run that is told to keep its files keeps them, and another can't have the same folder")
  func kept() async throws {
    let folder = NSTemporaryDirectory() + "/latchkey-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let scenario = folder + ".yaml"
    try """
    name: short
    machines:
      door: {position: [0, 0], apps: [lock]}
    steps:
      - wait for: {event: lock.started}
      - check: [nothing-crashed]
    """.write(toFile: scenario, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: scenario) }
    let first = try await LatchkeyCommand.run(["prove", scenario, "--keep", folder])
    #expect(first.status == 0, "\(first.output)\n\(first.errors)")
    #expect(FileManager.default.fileExists(atPath: folder + "/journal.jsonl"))
    #expect(FileManager.default.fileExists(atPath: folder + "/report.json"))
    let second = try await LatchkeyCommand.run(["prove", scenario, "--keep", folder])
    #expect(second.status == 1)
    #expect(second.errors.contains("belongs to another run"))
  }
}

@Suite("What a person may get wrong", .timeLimit(.minutes(20)))
struct BadInputTests {
  @Test("H1: an unknown scenario is answered with those that there are")
  func unknownScenario() async throws {
    let outcome = try await LatchkeyCommand.run(["prove", "weeks-away"])
    #expect(outcome.status == 64)
    #expect(outcome.errors.contains("days-away"))
  }

  @Test("H1: an unknown fault is answered with its line and the faults that there are")
  func unknownFault() async throws {
    let file = NSTemporaryDirectory() + "/latchkey-\(UUID().uuidString).yaml"
    try "name: x\nmachines:\n  door: {position: [0, 0]}\nsteps:\n  - meteor: door\n"
      .write(toFile: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: file) }
    let outcome = try await LatchkeyCommand.run(["prove", file])
    #expect(outcome.status == 64)
    #expect(outcome.errors.contains(":5: unknown step or fault 'meteor'"))
    #expect(outcome.errors.contains("kill daemon"))
  }

  @Test("H1: a latchkey without the other programs says what is missing, and one without a dbus-daemon too")
  func missing() throws {
    let folder = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent("latchkey-\(UUID().uuidString)")
      .path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let error = #expect(throws: WorldError.self) { try Executables(folder: folder) }
    #expect(error?.description.contains("bluez-simulator") == true)
  }

  @Test("keys are made once, for their owner only, and never overwritten")
  func provision() async throws {
    let folder = NSTemporaryDirectory() + "/latchkey-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let arguments = ["provision", "--lock", folder + "/lock", "--phone", folder + "/phone"]
    let first = try await LatchkeyCommand.run(arguments)
    #expect(first.status == 0, "\(first.errors)")
    let enumerator = FileManager.default.enumerator(atPath: folder)
    var files = 0
    while let path = enumerator?.nextObject() as? String {
      var status = stat()
      #expect(stat(folder + "/" + path, &status) == 0)
      #expect(status.st_mode & 0o077 == 0, "\(path)")
      if status.st_mode & S_IFMT == S_IFREG { files += 1 }
    }
    #expect(files >= 2)
    let second = try await LatchkeyCommand.run(arguments)
    #expect(second.status == 1)
  }
}
