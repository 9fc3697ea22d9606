import Foundation
import ProcessTesting
import Testing

/// The unit files, as systemd itself reads them. systemd need not be running.
@Suite("Unit files", .enabled(if: UnitFiles.canAnalyze, "systemd-analyze is not installed"), .timeLimit(.minutes(20)))
struct UnitFileTests {
  @Test(
    "H3: the sandbox is tight: exposure at most 0.5 for the apps, 1.5 for latchkeyd",
    arguments: [("latchkeyd", 15), ("latchkey-agent", 5), ("latchkey-lock", 5)])
  func exposure(_ unit: String, _ tenths: Int) async throws {
    let outcome = try await TestProcess.run(
      UnitFiles.analyze,
      [
        "security", "--offline=true", "--no-pager", "--threshold=\(tenths)",
        Places.package + "/config/systemd/system/\(unit).service",
      ])
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    #expect(outcome.output.contains("Overall exposure level for \(unit).service"))
  }

  @Test("H3: systemd finds nothing wrong with the units")
  func valid() async throws {
    let files = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent("latchkey-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: files) }
    var paths: [String] = []
    for unit in UnitFiles.names {
      // The programs are used from the build folder instead of their installed place.
      let text = try UnitFiles.text(unit).replacing("/usr/libexec/latchkey/", with: Places.programs + "/")
      let path = files.appendingPathComponent(unit + ".service").path
      try text.write(toFile: path, atomically: true, encoding: .utf8)
      paths.append(path)
    }
    let outcome = try await TestProcess.run(UnitFiles.analyze, ["verify", "--man=no", "--recursive-errors=no"] + paths)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.errors.isEmpty)
  }

  @Test("H3: no unit gives up starting; only latchkeyd, which is never frozen, has a watchdog")
  func lasting() throws {
    for unit in UnitFiles.names {
      let lines = try UnitFiles.text(unit).split(separator: "\n").map(String.init)
      #expect(lines.contains("StartLimitIntervalSec=0"))
      #expect(lines.contains("Type=notify"))
      #expect(lines.contains("NotifyAccess=main"))
      #expect(lines.contains(unit == "latchkeyd" ? "WatchdogSec=30s" : "WatchdogSec=0"))
      #expect(lines.contains("WatchdogSignal=SIGKILL") == (unit == "latchkeyd"))
      // An app that was killed while frozen can be started again only once systemd has forgotten that it was frozen.
      #expect(lines.contains("CollectMode=inactive-or-failed") == (unit != "latchkeyd"))
      // A dynamic user can't own a name on the bus.
      #expect(!lines.contains("DynamicUser=yes"))
    }
  }

  @Test("An arrival after a boot does not wait for polkit, which is started with latchkeyd and not with the first app")
  func polkit() throws {
    let lines = try UnitFiles.text("latchkeyd").split(separator: "\n").map(String.init)
    let wanted = lines.filter { $0.hasPrefix("Wants=") }.flatMap { $0.dropFirst(6).split(separator: " ") }
    #expect(wanted.contains("polkit.service"))
    #expect(!lines.contains { $0.hasPrefix("Requires=") && $0.contains("polkit") })
  }
}

/// How long latchkeyd's unit waits before it is started again. The sleep is replaced by one that only prints its
/// duration.
@Suite("A latchkeyd that fails", .timeLimit(.minutes(20)))
struct RestartTests {
  private let folder = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent(
    "latchkey-\(UUID().uuidString)")

  /// - Returns: how many seconds it waits, or `nil` if it is started again at once.
  private func end(result: String, status: String, uptime: Int? = nil) async throws -> Int? {
    var script = try UnitFiles.endingScript(marks: "-")
    if let uptime { script = script.replacing("</proc/uptime", with: "<<<'\(uptime).50 7.00'") }
    let outcome = try await TestProcess.run(
      "/bin/bash", ["-c", "sleep() { echo \"$*\"; }; " + script],
      adding: ["SERVICE_RESULT": result, "EXIT_STATUS": status, "RUNTIME_DIRECTORY": folder.path])
    #expect(outcome.errors.isEmpty)
    return Int(outcome.output.trimmingCharacters(in: .whitespacesAndNewlines))
  }

  private func inFolder(_ body: () async throws -> Void) async throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body()
  }

  @Test("M5: a service that fails repeatedly is restarted ever more slowly, and a minute without a failure resets this")
  func backsOff() async throws {
    try await inFolder {
      var waits: [Int?] = []
      for number in 0..<13 { waits.append(try await end(result: "exit-code", status: "1", uptime: 1000 + number)) }
      #expect(waits == [nil, nil, nil, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8])
      let soon = try await end(result: "signal", status: "ILL", uptime: 1071)
      let late = try await end(result: "signal", status: "ILL", uptime: 1131)
      #expect(soon == 8 && late == nil)
    }
  }

  @Test("M5: a count that is damaged, or from another uptime, causes no delay")
  func damaged() async throws {
    try await inFolder {
      for text in ["", "x y\n", "99\n", "99 99999999\n"] {
        try text.write(to: folder.appendingPathComponent("failures"), atomically: true, encoding: .utf8)
        let wait = try await end(result: "core-dump", status: "ILL")
        #expect(wait == nil || wait == 8, "\(text)")
      }
    }
  }

  @Test(
    "M5: there is no delay after a clean end, a kill from outside, or an error that needs a person",
    arguments: [("success", "0"), ("signal", "KILL"), ("exit-code", "78"), ("exit-code", "64")])
  func atOnce(_ result: String, _ status: String) async throws {
    try await inFolder {
      for _ in 0..<6 {
        let wait = try await end(result: result, status: status)
        #expect(wait == nil)
      }
    }
  }

  @Test("M5: the longest wait is within the time that systemd gives the end; what needs a person is not tried again")
  func settings() throws {
    let lines = try UnitFiles.text("latchkeyd").split(separator: "\n")
    #expect(lines.contains("TimeoutStopSec=10s"))
    #expect(lines.contains("RestartPreventExitStatus=64 78"))
    #expect(lines.contains("Restart=always"))
  }

  @Test("L6: a trap leaves no core, in which a key could be", arguments: UnitFiles.names)
  func noCore(_ unit: String) throws {
    let lines = try UnitFiles.text(unit).split(separator: "\n")
    #expect(lines.contains("LimitCORE=0"))
    #expect(lines.contains("PrivateMounts=yes"))
  }
}

/// What latchkeyd's unit does after it has ended, with a systemctl that answers as a test says and prints what it is
/// told.
@Suite("A frozen app on a machine that goes down", .timeLimit(.minutes(20)))
struct ShutdownTests {
  /// - Returns: the requests to systemd, without queries.
  private func end(result: String, machine: String, frozen: [String]) async throws -> [String] {
    let states = frozen.map { "*FreezerState*\($0)) echo frozen ;;" }.joined(separator: "\n")
    let systemctl = """
      systemctl() {
        case "$*" in
        is-system-running) echo \(machine); [ \(machine) = running ] ;;
        *WantedBy*) echo "latchkey-lock.service multi-user.target latchkey-agent.service" ;;
        \(states)
        *FreezerState*) echo running ;;
        *) echo "$*" ;;
        esac
      }

      """
    let outcome = try await TestProcess.run(
      "/bin/sh", ["-c", systemctl + UnitFiles.endingScript()], adding: ["SERVICE_RESULT": result])
    #expect(outcome.status == 0)
    #expect(outcome.errors.isEmpty)
    return outcome.output.split(separator: "\n").map(String.init)
  }

  @Test("H3: a frozen unit is thawed and then stopped; a running one is left to systemd")
  func frozen() async throws {
    let agent = "latchkey-agent.service"
    #expect(
      try await end(result: "success", machine: "stopping", frozen: [agent]) == ["thaw \(agent)", "stop \(agent)"])
    #expect(try await end(result: "success", machine: "stopping", frozen: []) == [])
  }

  @Test(
    "H3: nothing is touched while the machine stays up, or where latchkeyd did not end by itself",
    arguments: [("success", "running"), ("success", "degraded"), ("watchdog", "stopping"), ("signal", "running")])
  func up(_ result: String, _ machine: String) async throws {
    #expect(try await end(result: result, machine: machine, frozen: UnitFiles.names.map { "\($0).service" }) == [])
  }
}

enum UnitFiles {
  /// The shell command in latchkeyd's `ExecStopPost=`, read according to systemd.service(5).
  /// - Parameter marks: the special characters before its path, which distinguish the lines.
  static func endingScript(marks: String = "+-") throws -> String {
    let lines = try text("latchkeyd").replacing("\\\n", with: " ").split(separator: "\n")
    let start = "ExecStopPost=\(marks)/bin/sh -c '"
    guard let line = lines.first(where: { $0.hasPrefix(start) }), line.hasSuffix("'") else {
      throw TestProcess.Failure("latchkeyd.service has no ExecStopPost= for a shell")
    }
    return String(line.dropFirst(start.count).dropLast()).replacing("$$", with: "$").replacing("%%", with: "%")
  }

  static let names = ["latchkeyd", "latchkey-agent", "latchkey-lock"]
  static let analyze = "/usr/bin/systemd-analyze"
  static let canAnalyze = FileManager.default.isExecutableFile(atPath: analyze)

  static func text(_ unit: String) throws -> String {
    try String(contentsOfFile: Places.package + "/config/systemd/system/\(unit).service", encoding: .utf8)
  }
}
