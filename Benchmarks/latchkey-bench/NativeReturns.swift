import AppLink
import AppLinkBus
import ChildProcesses
import Foundation
import Glibc
import HomePolicy
import Journal
import JournalEvents
import LockCryptography
import Worlds

/// The return of an owner whose agent is dead, with real processes and in real time: a simulated radio, two buses, a
/// lock, and on the phone latchkeyd, which starts the agent. There is no conductor, so the programs wait only for each
/// other.
///
/// The agent judges how the link came up by two readings of the signal, and rests in between
/// (`HomeConfiguration.signalInterval`). The simulated radio answers a reading at once, and reports a link at once. So
/// the time that is measured from the link-up on is that of the programs and of that rest, and the rest is subtracted.
final class NativeReturns {
  /// In milliseconds since the radio's link-up, of one return.
  struct Return: Sendable {
    /// latchkeyd has started the agent's process, and has stored and recorded that.
    var launched: Double
    /// The agent has its state.
    var restored: Double
    /// It has judged the approach, without the rest between its two readings of the signal.
    var judged: Double
    /// The processor time of each process in the `window` that begins when the phone comes into reach. It includes the
    /// link, the judgement, and some more readings of the signal.
    var processor: [Process: Double]
  }

  enum Process: String, CaseIterable, Sendable {
    case agent = "the agent"
    case daemon = "the phone's latchkeyd"
    case bus = "the phone's bus"
    case simulator = "bluez-simulator"
  }

  /// The folders for the machines' files: on the disk, whose flushes take time, and in memory.
  static let disk = FileManager.default.temporaryDirectory.path
  static let memory = "/dev/shm"

  /// The results as a table in Markdown, with a line for each part.
  static func table(_ returns: [Return]) -> String {
    func row(_ name: String, _ value: (Return) -> Double?) -> String {
      let times = Benchmark.Distribution(returns.compactMap(value))
      func text(_ percent: Double) -> String {
        times.percentile(percent).map { String(($0 * 10).rounded() / 10) } ?? ""
      }
      return "| \(name) | \(text(50)) | \(text(95)) |"
    }
    return
      ([
        "| milliseconds | p50 | p95 |", "|---|---|---|",
        row("from the link-up until latchkeyd has recorded the agent's start") { $0.launched },
        row("until the agent has its state") { $0.restored },
        row("until its first judgement, without its rest of 300 ms") { $0.judged },
      ]
      + Process.allCases.map { process in
        row("processor time of \(process.rawValue) in \(window / 1000) ms") { $0.processor[process] }
      })
      .joined(separator: "\n")
  }

  /// How long a return is left alone, in microseconds.
  private static let window: useconds_t = 1_500_000

  private let folder: String
  private let executables: String
  private var buses: [String: BusDaemon] = [:]
  private var daemons: [String: RunningProcess] = [:]
  private var simulator: LineProcess?
  private var control: MachineControl?
  private var requests = 0
  private let said = Announcements()
  private var journal: JournalReader
  /// Entries of the journal that no `wait` has returned or passed over yet.
  private var entries: ArraySlice<JournalEntry> = []

  /// - Parameter place: the folder that gets the machines' folders.
  static func measure(_ count: Int, in place: String, progress: (String) -> Void) throws -> [Return] {
    let folder = "\(place)/latchkey-bench-\(UUID())"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let returns = try NativeReturns(folder: folder)
    defer { returns.end() }
    try returns.start()
    return try (1...count).map { number in
      let one = try returns.comeBack()
      progress("return \(number) of a dead agent in \(place): \(one.judged) ms")
      return one
    }
  }

  private init(folder: String) throws {
    self.folder = folder
    executables = try Executables.ownFolder()
    let path = "\(folder)/journal.jsonl"
    guard FileManager.default.createFile(atPath: path, contents: nil) else { throw WorldError("\(path) can't be made") }
    journal = try JournalReader(path: path)
  }

  // MARK: The two machines

  private static let apps = ["door": InstalledApp.lock, "phone": InstalledApp.agent]

  private func start() throws {
    for (machine, app) in Self.apps { try install(app, on: machine) }
    try Provisioning.provision(
      lockDirectory: "\(folder)/door/credentials/\(InstalledApp.lock.bundleIdentifier)",
      phoneDirectory: "\(folder)/phone/credentials/\(InstalledApp.agent.bundleIdentifier)")
    for machine in Self.apps.keys {
      buses[machine] = try BusDaemon(
        socket: "\(folder)/\(machine)/bus", folder: "\(folder)/\(machine)", environment: environment(machine),
        endsWithThisProcess: true)
    }
    simulator = try LineProcess(
      "bluez-simulator", executable: "\(executables)/bluez-simulator",
      arguments: Self.apps.keys.sorted().flatMap { ["--machine", "\($0)=\(busAddress($0))"] } + ["--radio", "clear"],
      environment: environment(""), log: "\(folder)/simulator.log",
      onLine: { [said] in said.add(String(decoding: $0, as: UTF8.self)) }, onEnd: { [said] in said.end() })
    try said.wait(for: "\"ready\"", limit: .seconds(30))
    try startDaemon(on: "door")
    try wait(for: Recorded.Lock.started)
    try startDaemon(on: "phone")
    try wait(for: Recorded.Daemon.started)
    try move(x: 1)
    control = try MachineControl(address: busAddress("phone"))
    let agent = InstalledApp.agent.bundleIdentifier
    try control?.perform(.openApp(bundleIdentifier: agent))
    try wait(for: Recorded.Agent.subscribed)
    try control?.perform(.leaveApp(bundleIdentifier: agent))
    // An agent that has never met the lock has no request to come back to.
    try wait(for: Recorded.Agent.statusAnswered)
    try move(x: 500)
    try wait(for: Recorded.Radio.linkDown)
    try wait(for: Recorded.Agent.didDisconnect)
  }

  private func busAddress(_ machine: String) -> String {
    BusConfiguration.address(ofSocket: "\(folder)/\(machine)/bus")
  }

  private func environment(_ machine: String) -> [String: String] {
    [
      "PATH": "/usr/bin:/bin", "DBUS_SYSTEM_BUS_ADDRESS": busAddress(machine), "LANG": "C.UTF-8",
      "LATCHKEY_JOURNAL": "\(folder)/journal.jsonl", "LATCHKEY_MACHINE": machine,
    ]
  }

  private func install(_ app: InstalledApp, on machine: String) throws {
    let place = "\(folder)/\(machine)/apps/\(app.name)"
    for folder in [place, "\(folder)/\(machine)/state", "\(folder)/\(machine)/credentials"] {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
    var keys = try PropertyListSerialization.propertyList(from: app.propertyList, format: nil) as? [String: Any] ?? [:]
    keys["CFBundleExecutable"] = "\(executables)/\(app.executable)"
    try PropertyListSerialization.data(fromPropertyList: keys, format: .xml, options: 0)
      .write(to: URL(fileURLWithPath: "\(place)/Info.plist"))
  }

  private func startDaemon(on machine: String) throws {
    let own = "\(folder)/\(machine)"
    let log = open("\(own)/processes.log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    defer { close(log) }
    daemons[machine] = try RunningProcess(
      "latchkeyd on \(machine)",
      ProcessStart(
        executable: "\(executables)/latchkeyd",
        arguments: ["--state", "\(own)/state", "--apps", "\(own)/apps", "--credentials", "\(own)/credentials"],
        environment: environment(machine), standardOutput: log, standardError: log))
  }

  private func move(x: Int) throws {
    requests += 1
    try simulator?.say(Data(#"{"id":\#(requests),"command":{"move":{"machine":"phone","x":\#(x),"y":0}}}"#.utf8))
  }

  private func end() {
    for process in daemons.values {
      process.signal(SIGKILL)
      try? process.waitForEnd()
    }
    // Apps outlive latchkeyd.
    for pid in agents { kill(pid, SIGKILL) }
    simulator?.process.signal(SIGKILL)
    try? simulator?.process.waitForEnd()
    for bus in buses.values { bus.end() }
  }

  // MARK: Returns

  /// The processes of the agent so far, by latchkeyd's records.
  private var agents: Set<pid_t> = []
  private var agent: pid_t = 0

  private func comeBack() throws -> Return {
    // The agent has asked for the next link, and rests.
    usleep(500_000)
    // As when memory is short: an app that is killed by somebody else again and again is not started again at once.
    try control?.perform(.reclaimApp(bundleIdentifier: InstalledApp.agent.bundleIdentifier))
    try wait(for: Recorded.Daemon.appEnded)
    // Longer than the shortest loss of a link after which a return begins an approach. All that had to be done about the
    // end is done then.
    usleep(useconds_t(HomeConfiguration().awayDuration / .microseconds(1)) + 1_000_000)
    let before = processorTimes()
    // At the edge of the range: the link comes up weak.
    try move(x: 25)
    // Nothing is read in this time, so that the machine works only on the return.
    usleep(Self.window)
    let up = try wait(for: Recorded.Radio.linkUp)
    let launched = try wait(for: Recorded.Daemon.appLaunched)
    let after = processorTimes()
    let restored = try wait(for: Recorded.Agent.willRestoreState)
    let judged = try wait(for: Recorded.Agent.approachBegan)
    func milliseconds(_ entry: JournalEntry) -> Double { Double((entry.t - up.t) / 1000) / 1000 }
    let rest = HomeConfiguration().signalInterval / .milliseconds(1)
    // The approach comes to its end, and the phone leaves again.
    try move(x: 1)
    try wait(for: Recorded.Agent.unlockAnswered)
    try move(x: 500)
    try wait(for: Recorded.Agent.didDisconnect)
    return Return(
      launched: milliseconds(launched), restored: milliseconds(restored), judged: milliseconds(judged) - rest,
      processor: after.merging(before.filter { $0.key != .agent }) { $0 - $1 })
  }

  /// The processor time of each process since its start, in milliseconds.
  private func processorTimes() -> [Process: Double] {
    let processes: [Process: pid_t?] = [
      .agent: agent, .daemon: daemons["phone"]?.pid, .bus: busProcess, .simulator: simulator?.process.pid,
    ]
    return processes.compactMapValues { pid in
      var clock = clockid_t()
      var time = timespec()
      guard let pid, clock_getcpuclockid(pid, &clock) == 0, clock_gettime(clock, &time) == 0 else { return nil }
      return Double(time.tv_sec) * 1000 + Double(time.tv_nsec) / 1e6
    }
  }

  /// The bus's own process, a child of the shell that ends the bus with this process.
  private lazy var busProcess: pid_t? = buses["phone"].flatMap { bus in
    let children = try? String(
      contentsOfFile: "/proc/\(bus.process.pid)/task/\(bus.process.pid)/children", encoding: .utf8)
    return children?.split(separator: " ").compactMap { pid_t($0) }.first
  }

  /// Returns when this was recorded, and forgets all entries before it.
  @discardableResult
  private func wait(for event: some JournalEvent) throws -> JournalEntry {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      for entry in entries {
        entries = entries.dropFirst()
        if entry.is(event) { return entry }
      }
      entries = try journal.read()[...]
      for entry in entries where entry.is(Recorded.Daemon.appLaunched) {
        guard let pid = entry[.pid].flatMap({ pid_t($0) }) else { continue }
        agents.insert(pid)
        if entry.machine == "phone" { agent = pid }
      }
      guard entries.isEmpty else { continue }
      guard ContinuousClock.now < deadline else {
        throw WorldError("\(event.rawValue) was not recorded in a minute")
      }
      usleep(20_000)
    }
  }
}
