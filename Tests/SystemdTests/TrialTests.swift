import Foundation
import ProcessTesting
import Testing

/// Latchkey on a machine booted by systemd, once for all of these tests: Tests/Support/systemd-trial.
/// `LATCHKEY_KILLS` is the number of kills, 100 by default; `make test-systemd` uses 1,000.
@Suite(
  "Under a booted systemd", .serialized, .enabled("where systemd can be booted") { await Trial.canRun },
  .timeLimit(.minutes(60)))
struct TrialTests {
  @Test(
    arguments: [
      ("activation", "H3: a call to latchkeyd starts it, in its sandbox; its journal has structured fields"),
      ("keep-alive", "H3: latchkeyd starts the lock's unit, which has its key as a credential"),
      ("open", "H3: an app is opened as its unit, under its own user"),
      ("doctor", "Doctor: on a machine of systemd it finds what is not set up, and nothing once it is"),
      ("freeze", "F1 H3: an app that is left is frozen, thawed for its events, and frozen again"),
      ("frozen-killed", "H3: a frozen unit is thawed before it is killed, and can be started again"),
      ("arrival", "S9 L2 H3: the lock in range, the dead agent's unit is started, restored, and opens the door"),
      ("adopted", "H3: the next latchkeyd adopts a frozen app"),
      ("frozen-stopped", "H3: a frozen app that is stopped from outside is thawed and ends"),
      ("impostor", "H3: who is not in the app's unit is not the app"),
      ("hung", "H3: a latchkeyd that hangs is killed by its watchdog and started again"),
      ("kills", "H3: kill after kill, no unit is left dead"),
      ("watchdog-not-frozen", "H3: a unit whose watchdog runs is never frozen"),
      ("quiet", "H3: the journal has no complaint of a library's about the sandbox"),
      ("undo", "Undo: a setup is taken back, twice without harm, and its keys only if that is asked for"),
    ])
  func step(_ name: String, _ behaviour: String) async {
    let outcome = await Trial.run.value
    let line = outcome.output.split(separator: "\n").first { $0.hasPrefix("ok \(name): ") }
    #expect(line != nil, "\(behaviour)\n\(outcome.output)\n\(outcome.errors)")
    if let line { print(line) }
  }

  @Test("H3: the trial succeeds with the requested number of kills, and leaves nothing behind")
  func end() async throws {
    let outcome = await Trial.run.value
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    #expect(outcome.output.contains("\(Trial.kills) kills, no unit left dead"))
    let groups = try await TestProcess.run(
      "/usr/bin/find", ["/sys/fs/cgroup", "-maxdepth", "3", "-name", "with-systemd-*"])
    let mine = groups.output.split(separator: "\n").filter { path in
      // Another run at the same time has its own.
      guard let pid = path.split(separator: "-").last.flatMap({ Int32($0) }) else { return false }
      return kill(pid, 0) != 0
    }
    #expect(mine.isEmpty)
  }
}

@Suite(
  "A machine of its own for a command", .serialized, .enabled("where systemd can be booted") { await Trial.canRun })
struct WithSystemdTests {
  private let script = Places.package + "/scripts/with-systemd"

  @Test("H3: the command's output, errors and status come through; what it writes is gone", .timeLimit(.minutes(20)))
  func through() async throws {
    let file = "/latchkey-\(UUID().uuidString)"
    let outcome = try await TestProcess.run(
      script,
      [
        "--", "/bin/sh", "-c",
        "echo out; echo err >&2; touch \(file); systemctl is-system-running; cat /proc/1/comm; exit 7",
      ])
    #expect(outcome.status == 7)
    #expect(outcome.output.hasPrefix("out\n"))
    #expect(outcome.output.hasSuffix("systemd\n"))
    #expect(outcome.errors == "err\n")
    #expect(!FileManager.default.fileExists(atPath: file))
  }

  @Test("H3: a command that does not end is killed, and this is reported", .timeLimit(.minutes(20)))
  func late() async throws {
    let outcome = try await TestProcess.run(script, ["--limit", "3", "--", "/bin/sleep", "infinity"])
    #expect(outcome.status == 125)
    #expect(outcome.errors.contains("not done after 3 s"))
  }
}

enum Trial {
  static let kills = ProcessInfo.processInfo.environment["LATCHKEY_KILLS"].flatMap { Int($0) } ?? 100
  /// The limit for a trial that hangs. On a quiet machine a trial takes 90 s, most of which is a walk home, and half
  /// a second per kill. Beside all other tests it took more than twice that.
  private static let limitSeconds = 600 + 2 * kills

  /// Whether this machine and this user can boot one. If not, the script's reason is printed.
  static var canRun: Bool { get async { await probe.value } }

  private static let probe = Task {
    let outcome = await with(["--", "/bin/true"])
    // The script's status for it.
    let cannot = outcome.status == 77
    if cannot { print(outcome.errors) }
    return !cannot
  }

  static let run = Task {
    await with(
      [
        "--prepare", Places.package + "/Tests/SystemdTests/prepare-machine", "--limit", "\(limitSeconds)", "--",
        "/usr/libexec/latchkey/systemd-trial", "\(kills)",
      ], adding: ["LATCHKEY_PROGRAMS": Places.programs])
  }

  private static func with(_ arguments: [String], adding: [String: String] = [:]) async -> TestProcess.Outcome {
    do {
      return try await TestProcess.run(Places.package + "/scripts/with-systemd", arguments, adding: adding)
    } catch { return TestProcess.Outcome(status: -1, output: "", errors: "\(error)") }
  }
}
