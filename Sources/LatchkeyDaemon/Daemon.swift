import BluetoothSystem
import CSystemd
import Foundation
import Glibc
import Journal
import JournalEvents
import Logging
import Synchronization
import Timekeeping

/// latchkeyd: the system with its store, its apps and its two buses.
///
/// This is a class so that its owners do not hold a copy of the system's first state beside the running one. The
/// library that runs services also describes each service as text, and would print the whole state of a structure.
package final class Daemon: Sendable {
  package struct Options: Sendable {
    package var state: String
    package var apps: String
    package var credentials: String?
    /// Which Bluetooth adapter to use.
    package var adapter: AdapterChoice
    /// The address of bluetoothd's bus, if it differs from the apps' bus.
    package var bluetoothBus: String?
    /// The wake budget of apps whose Info.plist gives none. `nil` for the default.
    package var wakeBudget: Duration?
    /// The company identifier of the manufacturer data for the services of apps in the background (`OverflowArea`).
    /// `nil` switches that off.
    package var overflowCompany: UInt16?
    package init(
      state: String, apps: String, credentials: String? = nil, adapter: AdapterChoice = .first,
      bluetoothBus: String? = nil, wakeBudget: Duration? = nil,
      overflowCompany: UInt16? = BluetoothSystem.Configuration().overflowCompany
    ) {
      self.state = state
      self.apps = apps
      self.credentials = credentials
      self.adapter = adapter
      self.bluetoothBus = bluetoothBus
      self.wakeBudget = wakeBudget
      self.overflowCompany = overflowCompany
    }
  }

  private let loop: SystemLoop
  private let carriers: Carriers
  private let supervisor: MachineSupervisor
  private let store: Store
  private let folder: StateFolder
  /// The system in its first state, until `run` takes it.
  private let initial: Mutex<BluetoothSystem?>
  private let logger: Logger

  /// Takes the state folder and reads the apps. Nothing is started yet.
  /// - Throws: `DaemonError`, which says what is wrong and what to do.
  package init(
    _ options: Options, time: any TimeSource, executor: (any TaskExecutor)? = nil, logger: Logger
  ) throws(DaemonError) {
    let environment = ProcessInfo.processInfo.environment
    let folder = try StateFolder(path: options.state, machine: environment[Journal.machineVariable])
    store = try Store(folder)
    self.folder = folder
    let registry = try AppRegistry(folder: Self.absolute(options.apps), programFolder: Self.programFolder)
    for app in registry.leftOut { logger.error("an app is left out: \(app.reason)") }
    let variables = AppEnvironment(
      folder: folder, credentials: options.credentials.map(Self.absolute), inherited: environment)
    let children: ChildProcessSupervisor
    do {
      children = try ChildProcessSupervisor(
        environment: { try variables.variables(for: $0) },
        logPath: { try folder.logPath($0.declaration.bundleIdentifier) })
    } catch { throw DaemonError("\(error)") }
    let withUnit = registry.apps.values.filter { $0.systemdUnit != nil }
    var systemd: SystemdSupervisor?
    if !withUnit.isEmpty, try Self.isSystemdThere(environment) {
      systemd = try SystemdSupervisor(apps: Array(withUnit), logger: logger)
    }
    supervisor = MachineSupervisor(
      children: children, systemd: systemd, unitApps: Set(withUnit.map(\.declaration.bundleIdentifier)),
      executor: executor)
    var random = SystemRandomNumberGenerator()
    var configuration = BluetoothSystem.Configuration()
    configuration.adapter = options.adapter
    configuration.overflowCompany = options.overflowCompany
    if let budget = options.wakeBudget { configuration.wakeBudget = budget }
    initial = Mutex(
      BluetoothSystem(
        configuration: configuration, apps: registry.apps.values.map(\.declaration), leftOut: registry.leftOut,
        stored: try store.load(),
        seed: WorldSeed.of(machine: environment[Journal.machineVariable] ?? "") ?? random.next()))
    let turns = Self.isSimulated ? AppTurns(time: time) : nil
    loop = SystemLoop(
      time: time, store: store, supervisor: supervisor, registry: registry, logger: logger, turns: turns,
      executor: executor)
    carriers = Carriers(
      loop: loop, supervisor: supervisor, bluetoothBus: options.bluetoothBus, time: time, turns: turns, logger: logger)
    self.logger = logger
  }

  /// Runs until `stop`, once. The apps go on, and the next latchkeyd adopts them.
  package func run() async throws {
    guard let system = initial.withLock({ $0.take() }) else { preconditionFailure("a daemon runs once") }
    try carriers.start()
    // In a simulated world, this machine's memory says nothing about the world's machines.
    let pressure = Self.isSimulated ? nil : MemoryPressure { [loop] in loop.handle(.memoryPressure) }
    defer {
      pressure?.close()
      carriers.close()
      supervisor.close()
      store.close()
    }
    await loop.run(consume system, ports: carriers.ports, watchdogInterval: Self.watchdogInterval) { [logger, folder] in
      logger.record(Recorded.Daemon.started, [.state: folder.path])
      sd_notify(0, "READY=1\nSTATUS=" + SystemLoop.healthyStatus)
    }
    sd_notify(0, "STOPPING=1")
    logger.record(Recorded.Daemon.stopped)
  }

  package func stop() { loop.stop() }

  private static var isSimulated: Bool {
    ProcessInfo.processInfo.environment[ProcessClock.variable].map { !$0.isEmpty } ?? false
  }

  /// Whether systemd runs apps' units here. If systemd runs the machine but is not on the bus yet, latchkeyd ends and
  /// is started again. Otherwise apps with units would become latchkeyd's children, with its rights.
  private static func isSystemdThere(_ environment: [String: String]) throws(DaemonError) -> Bool {
    if SystemdSupervisor.isAvailable() { return true }
    // A bus other than the machine's own has no systemd to wait for.
    guard environment["DBUS_SYSTEM_BUS_ADDRESS"] == nil, sd_booted() > 0 else { return false }
    throw DaemonError("systemd runs this machine and is not on its bus yet; latchkeyd is to be started again.")
  }

  /// Half the time that systemd allows between two signs of life, or `nil` if it expects none.
  private static var watchdogInterval: Duration? {
    var microseconds: UInt64 = 0
    guard sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
    return .microseconds(Int64(clamping: microseconds / 2))
  }

  private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }

  private static var programFolder: String {
    let program = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return (program as NSString).deletingLastPathComponent
  }
}
