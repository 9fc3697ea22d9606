import BusTesting
import Foundation
import Glibc
import ProcessTesting
import Testing

@testable import Stories
@testable import Worlds

/// `latchkey` as shells and containers run it: with outputs that end, full disks, and unusual places.
@Suite("Where the output goes, and where a run may happen", .serialized, .timeLimit(.minutes(20)))
struct OutputTests {
  /// A folder with a short story, for a run and its report. It is removed with this object.
  private final class Place {
    let folder: String
    let story: String
    var report: String { folder + "/report.json" }
    var temporary: String { folder + "/tmp" }

    init() throws {
      folder = "/tmp/latchkey-out-\(UUID().uuidString.prefix(8))"
      story = folder + "/short.yaml"
      try FileManager.default.createDirectory(atPath: folder + "/tmp", withIntermediateDirectories: true)
      try """
      name: short
      machines:
        door: {position: [0, 0], apps: [lock]}
      steps:
        - wait for: {event: lock.started}
        - check: [nothing-crashed]
      """.write(toFile: story, atomically: true, encoding: .utf8)
      chmod(folder, 0o755)
      chmod(temporary, 0o777)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Runs a line of bash with `$latchkey`, `$story` and `$report` set.
    func bash(_ line: String, adding: [String: String] = [:]) async throws -> TestProcess.Outcome {
      let variables = [
        "latchkey": LatchkeyCommand.programs + "/latchkey", "simulator": LatchkeyCommand.programs + "/bluez-simulator",
        "lock": LatchkeyCommand.programs + "/latchkey-lock", "story": story, "report": report, "TMPDIR": temporary,
        "LATCHKEY_SCENARIOS": LatchkeyCommand.package + "/config/scenarios",
      ].merging(adding) { $1 }
      return try await TestProcess.run("/bin/bash", ["-c", line], adding: variables)
    }

    var left: [String] { (try? FileManager.default.contentsOfDirectory(atPath: temporary)) ?? [] }

    func isReportKept() throws -> Bool {
      try JSONDecoder().decode(Report.self, from: Data(contentsOf: URL(fileURLWithPath: report))).kept
    }
  }

  @Test("A5: an argument that is not UTF-8 is refused, before another name is made of it") func unreadableArgument()
    async throws
  {
    let place = try Place()
    for line in [#"$latchkey guests invite $'B\xffn'"#, #"$latchkey unlock $'\xc3'"#, #"$latchkey $'\xff'"#] {
      let outcome = try await place.bash(line)
      #expect(outcome.status == 64 && outcome.output.isEmpty, "\(line): \(outcome)")
      #expect(outcome.errors.contains("is not text in UTF-8"), "\(line): \(outcome)")
    }
    let umlaut = try await place.bash("$latchkey show 'keine Übersicht.json'")
    #expect(umlaut.errors.contains("keine Übersicht.json"), "\(umlaut)")
  }

  @Test("A5: a date that no lock takes is refused for its year, not for its form") func farDate() async throws {
    let place = try Place()
    for (option, date) in [("--until", "2020-01-01"), ("--from", "2100-01-01 10:00")] {
      let outcome = try await place.bash("$latchkey guests invite Ben \(option) '\(date)'")
      #expect(outcome.status == 64, "\(outcome)")
      #expect(outcome.errors.contains("\(option) is in the years 2024 to 2099, not \(date)."), "\(outcome)")
    }
    let form = try await place.bash("$latchkey guests invite Ben --until tomorrow")
    #expect(form.status == 64 && form.errors.contains("--until is a date like"), "\(form)")
  }

  @Test("A5: a code among the arguments, and two options of which only one can be meant, are refused with what to do")
  func arguments() async throws {
    let place = try Place()
    let mistakes = [
      ("enroll ABCD-EFGH-IJKL", "The code is no argument, because other users see those"),
      ("log --all --last 3", "--all and --last 3 can't both be meant: give one of them."),
      ("log --last 0", "--last is from 1 to "),
      ("guests invite Ben --hours 10:00-10:00", "not 10:00-10:00. For the whole day, leave --hours out."),
      ("guests accept --as front --door back", "The door is named by --as"),
    ]
    for (line, error) in mistakes {
      let outcome = try await place.bash("$latchkey \(line) </dev/null")
      #expect(outcome.status == 64 && outcome.output.isEmpty && outcome.errors.contains(error), "\(line): \(outcome)")
    }
  }

  @Test("A5: a bad argument is answered with what was wrong and what to type")
  func whatToType() async throws {
    let place = try Place()
    let mistakes = [
      ("dor", ["There is no command \"dor\".", "latchkey door", "latchkey --help"]),
      ("guests invit Ben", ["latchkey guests has no command \"invit\".", "latchkey guests invite"]),
      ("setup xyzzy", ["latchkey setup has no command \"xyzzy\". It has: lock, phone"]),
      ("enroll", ["There is no code on standard input.", "Usage: latchkey enroll [--as <name>]"]),
      ("guests accept --as front", ["There is no invitation", "Usage: latchkey guests accept --as <name>"]),
      ("guests invite Ben --uses 70000", ["'70000' is invalid", "1 to 65535"]),
      ("log --last x", ["'x' is invalid", "1 to 128"]),
      ("unlock --door garden", ["The door is named without --door", "Usage: latchkey unlock [<door>]"]),
      ("log --door garden --all", ["The door is named without --door", "Usage: latchkey log [<door>]"]),
      ("guests accept --as front invite-1-00", ["The invitation is no argument", "standard input"]),
    ]
    for (line, parts) in mistakes {
      let outcome = try await place.bash("$latchkey \(line) </dev/null")
      #expect(outcome.status == 64 && outcome.output.isEmpty, "\(line): \(outcome)")
      for part in parts { #expect(outcome.errors.contains(part), "\(line): \(outcome)") }
    }
    let help = try await place.bash("$latchkey help guests invite; $latchkey --help; $latchkey guests --help")
    #expect(help.status == 0 && help.errors.isEmpty, "\(help)")
  }

  @Test("A5: if the reader goes away, the command ends quietly with 141, and still writes its JSON file")
  func readerGone() async throws {
    let place = try Place()
    let followed = try await place.bash("$latchkey prove $story --json $report | head -1; echo status ${PIPESTATUS[0]}")
    #expect(followed.output.hasSuffix("status 141\n"), "\(followed)")
    #expect(followed.errors.isEmpty, "\(followed.errors.prefix(500))")
    #expect(try place.isReportKept())
    let alone = try await place.bash("$latchkey prove $story | head -1; echo status ${PIPESTATUS[0]}")
    #expect(alone.output.hasSuffix("status 141\n"), "\(alone)")
    #expect(alone.errors.isEmpty, "\(alone.errors.prefix(500))")
    #expect(place.left.isEmpty)
  }

  @Test(
    "A5: an output that is full or closed ends the command with 74 and the reason, and its file of JSON is written",
    arguments: [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
  func outputBroken(_ redirection: String, reason: String) async throws {
    let place = try Place()
    let outcome = try await place.bash("exec $latchkey prove $story --json $report \(redirection)")
    #expect(outcome.status == 74, "\(outcome)")
    #expect(outcome.errors == "latchkey: the output can't be written: \(reason)\n")
    #expect(try place.isReportKept())
    #expect(place.left.isEmpty)
  }

  @Test("A5: the simulator ends quietly with 141 when its output is closed")
  func simulator() async throws {
    let bus = try PrivateBus()
    let place = try Place()
    let outcome = try await place.bash(
      """
      (echo nonsense; sleep 5) | $simulator --machine a=$address | (exec 0<&-; sleep 0.2); echo status ${PIPESTATUS[1]}
      """, adding: ["address": bus.address.text])
    #expect(outcome.output == "status 141\n", "\(outcome)")
    #expect(!outcome.errors.contains("Fatal"), "\(outcome.errors.prefix(500))")
  }

  @Test(
    "A15: what --json and --keep name is looked at before anything runs",
    arguments: [
      ("--json /tmp", "/tmp is a folder, not a file"), ("--json ''", "--json needs the name of a file"),
      ("--json /nonexistent/a", "there is no folder /nonexistent"), ("--keep ''", "--keep needs the name of a folder"),
      ("--keep /nonexistent/a/b", "there is no folder /nonexistent/a"), ("--keep $story", "is not a folder"),
    ])
  func badPlaces(_ options: String, words: String) async throws {
    let place = try Place()
    let outcome = try await place.bash("exec $latchkey prove $story \(options)")
    #expect(outcome.status == 64, "\(outcome)")
    #expect(outcome.errors.contains(words), "\(outcome.errors)")
    #expect(!FileManager.default.fileExists(atPath: "/nonexistent"))
  }

  @Test("A15: a JSON file that can't be written ends in a clear error and status 74")
  func fullReport() async throws {
    let place = try Place()
    let outcome = try await place.bash("exec $latchkey prove $story --json /dev/full")
    #expect(outcome.status == 74, "\(outcome)")
    #expect(outcome.errors == "latchkey: --json: /dev/full can't be written: No space left on device\n")
  }

  @Test("A15: prove without a scenario, and with --list, lists those that there are; so do completions")
  func lists() async throws {
    let place = try Place()
    let list = try await place.bash("exec $latchkey prove --list")
    #expect(list.status == 0)
    #expect(list.output.contains("\ndays-away  ") || list.output.hasPrefix("days-away  "))
    #expect(list.output.contains("lock-faults  "))
    let bare = try await place.bash("exec $latchkey prove")
    #expect(bare.status == 64)
    #expect(bare.errors.contains("  days-away  "))
    let script = try await place.bash("exec $latchkey --generate-completion-script bash")
    #expect(script.output.contains("---completion"))
  }

  @Test("A15: a run happens in any folder, whatever is in its name")
  func oddFolder() async throws {
    let place = try Place()
    let folder = place.temporary + "/a b&<ü%"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let outcome = try await place.bash("exec $latchkey prove $story", adding: ["TMPDIR": folder])
    #expect(outcome.status == 0, "\(outcome)")
    let relative = try await place.bash("cd $TMPDIR && TMPDIR='a b&<ü%' exec $latchkey prove $story")
    #expect(relative.status == 0, "\(relative)")
  }

  @Test("A15: a user who is not in /etc/passwd gets a clear error", .enabled(if: geteuid() == 0))
  func unknownUser() async throws {
    let place = try Place()
    let outcome = try await place.bash(
      "exec setpriv --reuid 54321 --regid 54321 --clear-groups $latchkey prove $story")
    #expect(outcome.status == 1, "\(outcome)")
    #expect(outcome.errors.contains("user 54321 has no entry in /etc/passwd"), "\(outcome.errors)")
    #expect(place.left.isEmpty)
  }

  @Test("A11: too few file descriptors are reported with the limit, and no files are left")
  func fewDescriptors() async throws {
    let place = try Place()
    for limit in [24, 64, 200] {
      let outcome = try await place.bash("ulimit -n \(limit); exec $latchkey prove $story")
      #expect(outcome.status == 1, "\(limit): \(outcome)")
      #expect(outcome.errors.contains("only \(limit) files may be open"), "\(limit): \(outcome.errors.prefix(500))")
      #expect(place.left.isEmpty)
    }
  }

  @Test(
    "A11: a full disk is told as such, and nothing is left running", .enabled(if: geteuid() == 0),
    arguments: [100, 300, 330, 400])
  func fullDisk(_ kibibytes: Int) async throws {
    let place = try Place()
    let outcome = try await place.bash(
      """
      exec unshare -m bash -c 'mount -t tmpfs -o size=\(kibibytes)k tmpfs $TMPDIR && exec $latchkey prove lock-faults'
      """)
    #expect(outcome.status == 1 || outcome.status == 0, "\(outcome)")
    if outcome.status != 0 {
      #expect((outcome.output + outcome.errors).contains("no space left on the disk"), "\(outcome)")
    }
    #expect(!outcome.errors.contains("Fatal"))
    #expect(kibibytes > 256 || outcome.status == 1)
    // Its backtraces would be processes without the world's mark.
    let names = try FileManager.default.contentsOfDirectory(atPath: "/proc")
    for name in names where Int32(name) != nil {
      let data = FileManager.default.contents(atPath: "/proc/\(name)/cmdline") ?? Data()
      #expect(!String(decoding: data, as: UTF8.self).contains(place.temporary))
    }
  }

  @Test("A15: the lock says once why it can't start")
  func lockError() async throws {
    let place = try Place()
    let outcome = try await place.bash("exec $lock --state /nonexistent --credentials /nonexistent")
    #expect(outcome.status == 1)
    let text = outcome.output + outcome.errors
    #expect(text.components(separatedBy: "does not exist").count == 2, "\(text)")
  }
}
