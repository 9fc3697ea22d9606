import BusValue
import ChildProcesses
import Foundation
import Glibc
import JournalEvents

/// Latchkey under systemd, through everything that happens on a machine. Every step prints one line about what it
/// saw; the first failure ends the trial. Runs as root on a machine booted for it (scripts/with-systemd).
@main
struct Trial {
  private static let daemon = "latchkeyd.service"
  private static let agent = "latchkey-agent.service"
  private static let lock = "latchkey-lock.service"
  private static let agentApp = "org.latchkey.agent"
  private static let lockApp = "org.latchkey.lock"

  private let journal: JournalFollower
  private let units: Units
  private let home: Home

  static func main() {
    do {
      let trial = Trial(journal: try JournalFollower(), units: try Units(), home: try Home())
      do { try trial.run(kills: CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 100) } catch {
        say("failed: \(error)")
        for entry in trial.journal.recent(60) {
          let fields = entry.fields.filter { $0.key.hasPrefix("LATCHKEY_FIELD") }.map {
            "\($0.key.dropFirst(15))=\($0.value)"
          }
          say(
            "  \(entry.machine) \(entry.fields["SYSLOG_IDENTIFIER"] ?? "")[\(entry.process)] \(entry.message) \(fields)"
          )
        }
        exit(1)
      }
    } catch {
      say("failed: \(error)")
      exit(1)
    }
  }

  private func run(kills: Int) throws {
    try step("activation", activation)
    try step("keep-alive", keepAlive)
    try step("open", openAgent)
    try step("doctor", doctor)
    try step("freeze", freeze)
    try step("frozen-killed", killFrozen)
    try step("arrival", arrival)
    try step("adopted", adopted)
    try step("frozen-stopped", stopFrozen)
    try step("impostor", impostor)
    try step("hung", hung)
    try step("kills") { try storm(kills) }
    try step("watchdog-not-frozen", watchdogIsNotFrozen)
    try step("quiet", quiet)
    try step("undo", undo)
    Self.say("done")
    exit(0)
  }

  private func step(_ name: String, _ body: () throws -> String) throws {
    let start = ContinuousClock.now
    do {
      let seen = try body()
      let (seconds, attoseconds) = (ContinuousClock.now - start).components
      let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
      Self.say("ok \(name): \(seen) (\(milliseconds) ms)")
    } catch { throw TrialError("\(name): \(error)") }
  }

  private func expect(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    if !condition { throw TrialError(what()) }
  }

  private func user(of process: Int32) -> String {
    var status = stat()
    guard stat("/proc/\(process)", &status) == 0, let entry = getpwuid(status.st_uid) else { return "?" }
    return String(cString: entry.pointee.pw_name)
  }

  /// Prints a line at once, whatever standard output is.
  private static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

  // MARK: Steps

  /// A call to a latchkeyd that is not running starts it.
  private func activation() throws -> String {
    try home.start()
    let start = journal.end
    try expect(try units.state(Self.daemon) == "inactive", "latchkeyd runs before anybody asked for it")
    try units.activate("org.latchkey.System1")
    try units.control("GetStatus")
    let started = try journal.wait(Recorded.Daemon.started, from: start)
    try units.wait(Self.daemon, "ActiveState") { $0.stringValue == "active" }
    try expect(user(of: started.process) == "latchkey", "latchkeyd runs as \(user(of: started.process))")
    try expect(
      started.fields["_SYSTEMD_UNIT"] == Self.daemon, "its journal's unit is \(started.fields["_SYSTEMD_UNIT"] ?? "")")
    return "the bus started latchkeyd, as user latchkey; its events are fields of the journal"
  }

  private func quiet() throws -> String {
    let noise = journal.recent(.max).filter { $0.message.contains("thread priority") }
    try expect(noise.isEmpty, "\(noise.count) times in the journal: \(noise.first?.message ?? "")")
    return "no word of libdispatch's about what its sandbox refuses"
  }

  private func keepAlive() throws -> String {
    try units.wait(Self.lock, "ActiveState") { $0.stringValue == "active" }
    let process = try units.process(Self.lock)
    try journal.wait(for: "lock.started", from: 0) {
      $0.event == Recorded.Lock.started.rawValue && $0.process == process
    }
    try expect(user(of: process) == "latchkey-lock", "the lock runs as \(user(of: process))")
    return "latchkeyd started the lock's unit, as user latchkey-lock, with its key"
  }

  private func openAgent() throws -> String {
    try home.startDoor()
    try journal.wait(Recorded.Lock.started, machine: "door", from: 0)
    try units.control("OpenApp", [.string(Self.agentApp)])
    try journal.wait(Recorded.Agent.subscribed, from: 0)
    let process = try units.process(Self.agent)
    try expect(user(of: process) == "latchkey-agent", "the agent runs as \(user(of: process))")
    // An owner who leaves unlocks the door first.
    try units.control("PerformAction", [.string(Self.agentApp), .string("unlock")])
    try journal.wait(Recorded.Lock.boltMoved, machine: "door", from: 0, [.to: "unlocked"])
    return "the agent's unit was started, it bonded with the door, and opened it at its owner's word"
  }

  private func freeze() throws -> String {
    let start = journal.end
    try units.control("LeaveApp", [.string(Self.agentApp)])
    try journal.wait(Recorded.Daemon.appSuspended, from: start, [.app: Self.agentApp])
    try waitFrozen()
    // The loss of the link is an event for the agent, which is thawed for it and freezes again.
    let away = journal.end
    try home.command(.move(machine: "phone", x: 400, y: 0))
    try journal.wait(Recorded.Daemon.appResumed, from: away, [.app: Self.agentApp])
    try journal.wait(Recorded.Agent.didDisconnect, from: away)
    try journal.wait(Recorded.Daemon.appSuspended, from: away, [.app: Self.agentApp])
    try waitFrozen()
    try journal.wait(Recorded.Lock.boltMoved, machine: "door", from: away, [.to: "locked", .cause: "leaving"])
    return "left, the agent's unit was frozen; it was thawed for a lost link, and frozen again"
  }

  /// The units are installed here, but nobody has set the machine up, so latchkeyd would not run after a boot.
  private func doctor() throws -> String {
    let ill = try LatchkeyCommand.diagnosis()
    try expect(ill.status == 1 && ill.broken == ["units.disabled"], "the doctor finds \(ill)")
    _ = try LatchkeyCommand.run("/usr/bin/systemctl", "enable", "--quiet", Self.daemon)
    let well = try LatchkeyCommand.diagnosis()
    try expect(well.status == 0 && well.broken.isEmpty, "the doctor finds \(well)")
    return "the doctor found that latchkeyd would not run after a boot, and nothing once it would"
  }

  /// Twice, because a second time does no harm.
  private func undo() throws -> String {
    let keys = ["/etc/latchkey/agent/phone-keys.json", "/etc/latchkey/lock/lock-keys.json"]
    for _ in 1...2 {
      let outcome = try LatchkeyCommand.run(LatchkeyCommand.path, "setup", "undo")
      try expect(outcome.end == .exited(0), "setup undo: \(outcome)")
      for unit in [Self.daemon, Self.agent, Self.lock] {
        let state = try units.state(unit)
        try expect(state == "inactive", "\(unit) is \(state): \(outcome)")
      }
      let file = try units.property(Self.daemon, "UnitFileState").stringValue
      try expect(file == "disabled", "latchkeyd is \(file ?? "?")")
      try expect(keys.allSatisfy { access($0, F_OK) == 0 }, "keys are gone")
    }
    for _ in 1...2 {
      let outcome = try LatchkeyCommand.run(LatchkeyCommand.path, "setup", "undo", "--forget-keys", "--yes")
      try expect(outcome.end == .exited(0), "setup undo --forget-keys: \(outcome)")
      try expect(keys.allSatisfy { access($0, F_OK) != 0 }, "keys are left")
    }
    return "undone twice: no unit runs or would after a boot; the keys stayed until they were to be forgotten"
  }

  /// Waits until the kernel reports it, and then asks systemd, which does not announce it.
  private func waitFrozen() throws {
    let group = try units.property(Self.agent, "ControlGroup", of: "Service").stringValue ?? ""
    let path = "/sys/fs/cgroup\(group)/cgroup.events"
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw TrialError("\(path) can't be read") }
    defer { close(file) }
    while true {
      var buffer = [UInt8](repeating: 0, count: 256)
      let count = pread(file, &buffer, buffer.count, 0)
      if String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self).contains("frozen 1") { break }
      var poller = pollfd(fd: file, events: Int16(POLLPRI), revents: 0)
      guard poll(&poller, 1, 120_000) > 0 else { throw TrialError("the agent is not frozen after 120 s") }
    }
    let state = try units.property(Self.agent, "FreezerState").stringValue ?? ""
    try expect(state == "frozen" || state == "freezing", "systemd says that the frozen agent is \(state)")
  }

  private func killFrozen() throws -> String {
    let start = journal.end
    try units.control("ReclaimApp", [.string(Self.agentApp)])
    let ended = try journal.wait(Recorded.Daemon.appEnded, from: start, [.app: Self.agentApp])
    // Failed; or inactive, if systemd has forgotten the unit with its failure (`CollectMode=`) and loaded it again.
    try units.wait(Self.agent, "ActiveState") { ["failed", "inactive"].contains($0.stringValue) }
    try expect(ended["status"] == "signal 9", "it ended by \(ended["status"] ?? "")")
    let freezer = try units.property(Self.agent, "FreezerState").stringValue
    try expect(freezer == "running", "its freezer is \(freezer ?? "")")
    return "the frozen agent was thawed, then killed; its unit can be started again"
  }

  private func arrival() throws -> String {
    let start = journal.end
    // Still out of range. From here the owner walks up to the door, as slowly as a busy machine may need to launch an
    // app.
    try home.command(.move(machine: "phone", x: 60, y: 0))
    try home.command(.walk(machine: "phone", x: 1, y: 0, seconds: 50))
    let launched = try journal.wait(
      Recorded.Daemon.appLaunched, from: start, [.app: Self.agentApp, .reason: "restore"])
    let process = try units.process(Self.agent)
    try expect(launched["pid"] == "\(process)", "launched \(launched["pid"] ?? ""), and the unit's is \(process)")
    let started = try journal.wait(Recorded.Agent.started, from: start)
    try expect(started["centralsToRestore"]?.isEmpty == false, "it has nothing to restore")
    try journal.wait(Recorded.Agent.willRestoreState, from: start)
    try journal.wait(Recorded.Agent.unlockAnswered, from: start)
    try journal.wait(Recorded.Lock.boltMoved, machine: "door", from: start, [.to: "unlocked"])
    return "the lock in range, the dead agent's unit was started, restored its state and opened the door"
  }

  /// A daemon's death does not end its apps, not even a frozen one.
  private func adopted() throws -> String {
    try waitFrozen()
    let process = try units.process(Self.agent)
    try killDaemon()
    let start = journal.end
    try home.command(.move(machine: "phone", x: 400, y: 0))
    try journal.wait(Recorded.Daemon.appResumed, from: start, [.app: Self.agentApp])
    let after = try units.process(Self.agent)
    try expect(after == process, "the agent is another process")
    try journal.wait(Recorded.Daemon.appSuspended, from: start, [.app: Self.agentApp])
    try waitFrozen()
    return "the next latchkeyd adopted the frozen agent, thawed it for an event and froze it again"
  }

  /// An administrator's `systemctl stop`, as when a package is removed or the machine goes down.
  private func stopFrozen() throws -> String {
    let process = try units.process(Self.agent)
    let start = journal.end
    try units.call("StopUnit", [.string(Self.agent), .string("replace")])
    let ended = try journal.wait(Recorded.Daemon.appEnded, from: start, [.app: Self.agentApp])
    // "gone" if systemd has forgotten the unit, and how it ended, before it was asked.
    try expect(["exit 0", "gone"].contains(ended["status"]), "it ended by \(ended["status"] ?? "")")
    try expect(kill(process, 0) != 0, "it still runs")
    try units.wait(Self.agent, "ActiveState") { ["failed", "inactive"].contains($0.stringValue) }
    return "the frozen agent, stopped from outside, was thawed and ended by itself"
  }

  /// A process outside the app's unit is not the app, whatever its user.
  private func impostor() throws -> String {
    let start = journal.end
    let environment = ProcessInfo.processInfo.environment.merging([
      "LATCHKEY_INFO_PLIST": "/usr/share/latchkey/apps/\(Self.agentApp)/Info.plist",
      "STATE_DIRECTORY": "/run/unused", "CREDENTIALS_DIRECTORY": "/etc/latchkey/agent", "JOURNAL_STREAM": "0:0",
      "LATCHKEY_MACHINE": "impostor",
    ]) { $1 }
    let process = try RunningProcess(
      "the impostor",
      ProcessStart(
        executable: Home.programs + "/latchkey-agent", environment: environment, standardOutput: STDOUT_FILENO,
        standardError: STDERR_FILENO))
    defer {
      process.signal(SIGKILL)
      try? process.waitForEnd()
    }
    let refusal = try journal.wait(for: "a refusal", from: start) {
      $0.message.contains("is refused as \(Self.agentApp)")
    }
    try expect(refusal.message.contains(Self.agent), refusal.message)
    return "root's own process outside of the unit was refused as the agent"
  }

  /// A loop that hangs gives no sign of life, so systemd kills it and starts another.
  private func hung() throws -> String {
    let process = try units.process(Self.daemon)
    let start = journal.end
    kill(process, SIGSTOP)
    try journal.wait(for: "daemon.started", from: start) {
      $0.event == Recorded.Daemon.started.rawValue && $0.process != process
    }
    try expect(kill(process, 0) != 0, "the hung one lives")
    return "a stopped latchkeyd was killed by its watchdog and started again"
  }

  @discardableResult
  private func killDaemon() throws -> Duration {
    let process = try units.process(Self.daemon)
    let time = ContinuousClock.now
    kill(process, SIGKILL)
    try waitSuccessor(Self.daemon, of: process)
    return ContinuousClock.now - time
  }

  /// Waits until a unit is in service again, with another main process.
  private func waitSuccessor(_ unit: String, of process: Int32) throws {
    try units.wait(unit, "MainPID", of: "Service") { $0.integerValue != 0 && $0.integerValue != Int(process) }
    try units.wait(unit, "ActiveState") { $0.stringValue == "active" }
  }

  /// Kills an app, and opens it again at once, because an app that dies early is otherwise started ever more rarely.
  private func killApp(_ unit: String, _ app: String) throws -> Duration {
    let process = try units.process(unit)
    let time = ContinuousClock.now
    kill(process, SIGKILL)
    try units.wait(unit, "MainPID", of: "Service") { $0.integerValue != Int(process) }
    // latchkeyd learns of it at the same moment. If the app were opened earlier, it would still count as running.
    var questions = 0
    while try units.isRunning(app), questions < 10_000 { questions += 1 }
    try units.control("OpenApp", [.string(app)])
    try waitSuccessor(unit, of: process)
    return ContinuousClock.now - time
  }

  private func storm(_ count: Int) throws -> String {
    let start = journal.end
    try units.control("OpenApp", [.string(Self.agentApp)])
    try units.wait(Self.agent, "MainPID", of: "Service") { $0.integerValue != 0 }
    var slowest = Duration.zero
    var total = Duration.zero
    for number in 0..<count {
      let time =
        switch number % 4 {
        case 0: try killApp(Self.agent, Self.agentApp)
        case 2: try killApp(Self.lock, Self.lockApp)
        default: try killDaemon()
        }
      total += time
      slowest = max(slowest, time)
    }
    for unit in [Self.daemon, Self.agent, Self.lock] {
      try units.wait(unit, "ActiveState") { $0.stringValue == "active" }
    }
    // Being in service is more than running, so the last ones are asked.
    try units.control("GetStatus")
    let started = [
      Recorded.Daemon.started.rawValue, Recorded.Agent.started.rawValue, Recorded.Lock.started.rawValue,
    ]
    for (event, unit) in zip(started, [Self.daemon, Self.agent, Self.lock]) where count >= 4 {
      let process = try units.process(unit)
      try journal.wait(for: "\(event) of \(process)", from: start) { $0.event == event && $0.process == process }
    }
    let mean = total / count
    return "\(count) kills, no unit left dead; serving again after \(mean.milliseconds) ms, at most "
      + "\(slowest.milliseconds) ms"
  }

  /// A unit with a watchdog is left running, and this is reported: systemd would kill it while it is frozen.
  private func watchdogIsNotFrozen() throws -> String {
    let folder = "/run/systemd/system/\(Self.agent).d"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try "[Service]\nWatchdogSec=600\n".write(toFile: folder + "/90-watchdog.conf", atomically: true, encoding: .utf8)
    try units.call("Reload")
    _ = try killApp(Self.agent, Self.agentApp)
    let start = journal.end
    try units.control("LeaveApp", [.string(Self.agentApp)])
    try journal.wait(Recorded.Daemon.appSuspended, from: start, [.app: Self.agentApp])
    try journal.wait(for: "a refusal to freeze", from: start) {
      $0.message.contains("\(Self.agent) is not frozen: it has a watchdog")
    }
    let freezer = try units.property(Self.agent, "FreezerState").stringValue
    try expect(freezer == "running", "its freezer is \(freezer ?? "")")
    return "an app's unit that has a watchdog was not frozen, and the journal says why"
  }
}

extension Duration {
  fileprivate var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
