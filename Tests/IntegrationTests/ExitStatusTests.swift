import BusTesting
import Foundation
import Glibc
import JournalEvents
import ProcessTesting
import Testing

/// Every command ends with a status of the table in latchkey(1), and every status of that table is one with which a
/// command ends.
@Suite("Exit statuses", .serialized, .timeLimit(.minutes(20)))
struct ExitStatusTests {
  private static let latchkey = LatchkeyCommand.programs + "/latchkey"

  /// The statuses in the table of latchkey(1).
  static func table() throws -> Set<Int32> {
    let page = try String(contentsOfFile: LatchkeyCommand.package + "/docs/man/latchkey.1", encoding: .utf8)
    let part = page.components(separatedBy: ".Sh EXIT STATUS").last?.components(separatedBy: "\n.Sh ").first ?? ""
    return Set(part.matches(of: /\.It Sy (\d+)/).compactMap { Int32($0.1) })
  }

  /// The commands that have no parts, each as its words.
  private func commands() async throws -> [[String]] {
    struct Dump: Decodable {
      struct Command: Decodable {
        var commandName: String
        var shouldDisplay: Bool
        var subcommands: [Command]?
        func leaves(_ words: [String]) -> [[String]] {
          let parts = (subcommands ?? []).filter { $0.shouldDisplay && $0.commandName != "help" }
          return parts.isEmpty ? [words] : parts.flatMap { $0.leaves(words + [$0.commandName]) }
        }
      }
      var command: Command
    }
    let outcome = try await TestProcess.run(Self.latchkey, ["--experimental-dump-help"])
    return try JSONDecoder().decode(Dump.self, from: Data(outcome.output.utf8)).command.leaves([])
  }

  @Test("H7: every command refuses wrong arguments with 64 and the reason, and prints nothing else")
  func wrongArguments() async throws {
    let commands = try await commands()
    #expect(commands.count >= 19, "\(commands)")
    for command in commands {
      let outcome = try await TestProcess.run(Self.latchkey, command + ["--no-such-option"])
      #expect(outcome.status == 64 && outcome.output.isEmpty, "\(command): \(outcome)")
      #expect(outcome.errors.hasPrefix("Error: ") || outcome.errors.hasPrefix("latchkey: "), "\(outcome.errors)")
    }
    #expect(try await TestProcess.run(Self.latchkey, ["no-such-command"]).status == 64)
  }

  @Test("H7: every command that asks latchkeyd says in one line that there is no bus, and ends with 1")
  func noBus() async throws {
    for command in [
      ["status"], ["apps"], ["wakes"], ["watch", "--json"], ["unlock"], ["open", "a"], ["leave", "a"], ["quit", "a"],
      ["reclaim", "a"], ["bluetooth", "on"], ["pair", "x"], ["pairings", "--for", "1"], ["status", "--json"],
    ] {
      let outcome = try await TestProcess.run(
        Self.latchkey, command, adding: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus"])
      #expect(outcome.status == 1 && outcome.output.isEmpty, "\(command): \(outcome)")
      #expect(outcome.errors.hasPrefix("latchkey: ") && outcome.errors.hasSuffix("\n"), "\(command): \(outcome)")
      #expect(outcome.errors.split(separator: "\n").count == 1, "\(command): \(outcome.errors)")
    }
  }

  @Test("H7: the statuses with which commands end are those of the table in the manual, with one line each")
  func table() async throws {
    let folder = NSTemporaryDirectory() + "/latchkey-status-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try """
    name: short
    machines:
      door: {position: [0, 0], apps: [lock]}
    steps:
      - wait for: {event: lock.started}
      - check: [nothing-crashed]
    """.write(toFile: folder + "/short.yaml", atomically: true, encoding: .utf8)
    let bus = try PrivateBus()
    func bash(_ line: String) async throws -> TestProcess.Outcome {
      try await TestProcess.run(
        "/bin/bash", ["-c", line],
        adding: [
          "latchkey": Self.latchkey, "folder": folder, "DBUS_SYSTEM_BUS_ADDRESS": bus.address.text,
          "LATCHKEY_SCENARIOS": LatchkeyCommand.package + "/config/scenarios",
        ])
    }
    var seen: Set<Int32> = []
    func expect(_ status: Int32, _ line: String, says words: String? = "latchkey: ") async throws {
      let outcome = try await bash(line)
      seen.insert(outcome.status)
      #expect(outcome.status == status, "\(line): \(outcome)")
      guard let words else {
        #expect(outcome.errors.isEmpty, "\(line): \(outcome.errors)")
        return
      }
      #expect(outcome.errors.hasPrefix(words), "\(line): \(outcome.errors)")
      if words == "latchkey: " { #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)") }
    }
    try await expect(0, "exec $latchkey prove $folder/short.yaml --json $folder/report.json", says: nil)
    try await expect(0, "exec $latchkey show $folder/report.json", says: nil)
    // The same report with a promise that was broken.
    let report = try String(contentsOfFile: folder + "/report.json", encoding: .utf8)
    let broken = report.replacing(/"judgement" ?: ?"kept"/, with: "\"judgement\":\"broken\"")
      .replacing(/"kept" ?: ?true/, with: "\"kept\":false")
    #expect(broken != report)
    try broken.write(toFile: folder + "/broken.json", atomically: true, encoding: .utf8)
    try await expect(1, "exec $latchkey show $folder/broken.json", says: nil)
    try await expect(1, "exec $latchkey doctor", says: nil)
    for command in ["open", "leave", "quit", "reclaim"] { try await expect(1, "exec $latchkey \(command) no.such.app") }
    try await expect(1, "exec $latchkey provision --lock /proc/no --phone /proc/no")
    try await expect(64, "exec $latchkey prove no-such-scenario")
    try await expect(64, "exec $latchkey watch")
    try await expect(64, "exec $latchkey setup lock --phone nonsense", says: "Error: ")
    try await expect(64, "exec $latchkey setup phone --lock nonsense", says: "Error: ")
    try await expect(64, "exec $latchkey setup undo --forget-keys", says: "Error: ")
    try await expect(64, "exec $latchkey judge no-such-scenario --journal door=/dev/null")
    try await expect(65, "exec $latchkey judge $folder/short.yaml --journal door=$folder/short.yaml")
    try await expect(65, "exec $latchkey show $folder/short.yaml")
    try await expect(66, "exec $latchkey judge $folder/short.yaml --journal door=$folder/none")
    try await expect(66, "exec $latchkey show $folder/none")
    for line in [
      "show $folder/report.json", "prove --list", "doctor", "doctor --json", "watch --json",
      "provision --lock $folder/lock --phone $folder/phone",
    ] { try await expect(74, "exec $latchkey \(line) >/dev/full") }
    for option in ["--json", "--html"] {
      try await expect(74, "exec $latchkey show $folder/report.json \(option) /dev/full")
    }
    try await expect(141, "$latchkey watch --json | head -n 1; exit ${PIPESTATUS[0]}", says: nil)
    for (number, name) in [(SIGHUP, "HUP"), (SIGINT, "INT"), (SIGQUIT, "QUIT"), (SIGTERM, "TERM")] {
      let terminal = try await TestProcess(
        "/usr/bin/script",
        [
          "--quiet", "--return", "--command", "stty cols 80 rows 24; echo process $$.; exec $latchkey watch",
          "/dev/null",
        ],
        environment: TestProcess.inherited.merging([
          "latchkey": Self.latchkey, "TERM": "xterm", "DBUS_SYSTEM_BUS_ADDRESS": bus.address.text,
        ]) { $1 })
      try await terminal.hear("process ")
      let process = try #require(Int32(try await terminal.hear(".").dropLast()))
      try await terminal.hear("latchkeyd is away")
      kill(process, number)
      let status = try await terminal.finish().status
      #expect(status == 128 + number, "SIG\(name)")
      seen.insert(status)
    }
    #expect(try seen == Self.table())
  }

  @Test("H7: a story that is interrupted ends in order, with 128 and the number of the signal")
  func interrupted() async throws {
    let command = try await LatchkeyCommand(["prove", "days-away"])
    try await command.hear("at home")
    command.signal(SIGINT)
    let outcome = try await command.finish()
    #expect(outcome.status == 128 + SIGINT, "\(outcome)")
    #expect(try Self.table().contains(outcome.status))
    #expect(command.processesLeft().isEmpty && command.filesLeft().isEmpty)
  }
}
