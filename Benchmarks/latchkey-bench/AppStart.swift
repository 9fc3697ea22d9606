import AppLink
import AppLinkBus
import ChildProcesses
import Foundation
import Glibc
import LockCryptography
import Logging
import Stories
import Synchronization
import Worlds

/// What it costs to start a dead app for an event: its process, its attachment, its manager, and its first event. It is
/// measured beside `dbus-send`, a small program in C that only starts, connects to the same bus, and sends one message.
///
/// Processor time and page faults are those of the process from its start to its death. They depend much less on what else
/// the machine does than the time that passes.
enum AppStart {
  struct Cost: Sendable {
    /// The least of all starts, of user and system together.
    var seconds = Double.infinity
    /// The least of all starts: pages that the process touched for the first time.
    var pageFaults = Int.max

    mutating func add(_ other: Cost) {
      seconds = min(seconds, other.seconds)
      pageFaults = min(pageFaults, other.pageFaults)
    }
  }

  static func measure(
    _ count: Int, executables: Executables, progress: (String) -> Void
  ) throws -> (agent: Cost, least: Cost) {
    progress("\(count) starts of the agent, and of dbus-send")
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("latchkey-bench-\(UUID())").path
    for name in ["state", "lock"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
    }
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Provisioning.provision(lockDirectory: "\(folder)/lock", phoneDirectory: "\(folder)/keys")
    let keys: [String: Any] = [
      "CFBundleIdentifier": InstalledApp.agent.bundleIdentifier, "UIBackgroundModes": ["bluetooth-central"],
    ]
    try PropertyListSerialization.data(fromPropertyList: keys, format: .xml, options: 0)
      .write(to: URL(fileURLWithPath: "\(folder)/Info.plist"))
    let bus = try BusDaemon(
      socket: "\(folder)/bus", folder: folder, environment: ["PATH": "/usr/bin:/bin"], endsWithThisProcess: true)
    defer { bus.end() }
    let system = try StartingSystem(address: bus.address)
    defer { system.close() }
    let agent = ProcessStart(
      executable: try executables.app(.agent),
      environment: [
        "LATCHKEY_INFO_PLIST": "\(folder)/Info.plist", "STATE_DIRECTORY": "\(folder)/state",
        "CREDENTIALS_DIRECTORY": "\(folder)/keys", "DBUS_SYSTEM_BUS_ADDRESS": bus.address,
        "LATCHKEY_JOURNAL": "\(folder)/journal.jsonl", "PATH": "/usr/bin:/bin",
      ])
    let send = ProcessStart(
      executable: "/usr/bin/dbus-send",
      arguments: ["--bus=\(bus.address)", "--type=signal", "/", "org.latchkey.Bench.Hello"])
    var costs = (agent: Cost(), least: Cost())
    for _ in 0..<count {
      costs.least.add(try cost { try RunningProcess("dbus-send", send).waitForEnd() })
      costs.agent.add(
        try cost {
          let process = try RunningProcess("latchkey-agent", agent)
          try system.waitForHandled()
          process.signal(SIGKILL)
          try process.waitForEnd()
        })
    }
    return costs
  }

  /// What the children that ended meanwhile have cost.
  private static func cost(_ work: () throws -> Void) throws -> Cost {
    func now() -> (Double, Int) {
      var usage = rusage()
      getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
      func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
      return (seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_minflt)
    }
    let begin = now()
    try work()
    let end = now()
    return Cost(seconds: end.0 - begin.0, pageFaults: end.1 - begin.1)
  }
}

/// Accepts any app, tells its manager that Bluetooth is on, and waits until the app has handled that.
private final class StartingSystem: Sendable {
  private let server = Mutex<AppLinkServer?>(nil)
  private let handled = DispatchSemaphore(value: 0)

  init(address: String) throws {
    let logger = Logger(label: "latchkey-bench")
    let server = AppLinkServer(address: address, logger: logger) { [weak self] in self?.take($0) }
    self.server.withLock { $0 = server }
    try server.start()
  }

  private func take(_ event: AppLinkServerEvent) {
    guard let server = server.withLock({ $0 }) else { return }
    switch event {
    case .attach(_, _, _, let token):
      server.reply(to: token, .success(AttachReply(centralsToRestore: [], backgroundModes: ["bluetooth-central"])))
    case .request(let connection, let request):
      if case .createManager(let manager, _) = request {
        server.send(
          Event(sequence: EventSequence(1), manager: manager, body: .stateChanged(.poweredOff)), to: connection)
      }
      if case .handled = request { handled.signal() }
      server.handled(connection)
    case .query, .detached, .control, .withdrawn, .statusWatched, .busLost: break
    }
  }

  func waitForHandled() throws {
    guard handled.wait(timeout: .now() + .seconds(60)) == .success else {
      throw WorldError("the agent has not handled its first event")
    }
  }

  func close() { server.withLock { $0 }?.close() }
}
