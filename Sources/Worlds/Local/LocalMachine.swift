import AppLink
import AppLinkBus
import BlueZSimulator
import ChildProcesses
import Foundation
import Glibc
import JournalEvents
import LockCryptography
import TimeTypes
import Timekeeping

/// A machine of a simulated world: a folder, a private bus, a latchkeyd, and a Bluetooth of the simulator. The
/// orchestrator is its init.
final class LocalMachine: Machine {
  let description: MachineDescription
  private let run: RunFolder
  private let executables: Executables
  private let simulator: SimulatorProcess
  private let worldEnvironment: [String: String]
  private let calendar: MachineCalendar
  private let log: FileHandle
  /// What the story's own apps print.
  let outputs: [AppOutput]

  private var bus: BusDaemon?
  private var daemon: RunningProcess?
  private var control: MachineControl?
  private(set) var isUp = false
  /// Whether the simulator is running this machine's Bluetooth.
  private var hasBluetooth = true
  private var restarts = 0
  private var boots = 0
  /// How many commands were typed here.
  private var commands = 0
  static let maximumRestarts = 5

  var name: String { description.name }
  var busAddress: String { BusConfiguration.address(ofSocket: run.busSocket(of: name)) }
  private var folder: String { run.folder(of: name) }
  private var logPath: String { "\(folder)/processes.log" }

  init(
    _ description: MachineDescription, bus: BusDaemon?, run: RunFolder, executables: Executables,
    simulator: SimulatorProcess,
    environment: [String: String]
  ) throws {
    self.description = description
    self.bus = bus
    self.run = run
    self.executables = executables
    self.simulator = simulator
    worldEnvironment = environment
    let folder = run.folder(of: description.name)
    for part in ["state", "apps", "credentials"] { try RunFolder.make("\(folder)/\(part)") }
    calendar = try MachineCalendar(path: "\(folder)/calendar")
    func output(of app: InstalledApp) -> String { "\(folder)/state/logs/\(app.bundleIdentifier).log" }
    let storyTime = try Self.linked(executables.storyTime, in: run.sockets)
    for app in description.apps {
      try RunFolder.make("\(folder)/apps/\(app.name)")
      let home = "\(folder)/state/apps/\(app.bundleIdentifier)"
      let keys = try AppDescription(app, home: home, machine: description.name, output: output(of: app))
        .propertyList(executable: executables.app(app), storyTime: storyTime)
      try keys.write(to: URL(fileURLWithPath: "\(folder)/apps/\(app.name)/Info.plist"), options: .atomic)
    }
    outputs = description.apps.filter(\.isDescribed).map { app in
      AppOutput(app, on: description.name, path: output(of: app))
    }
    log = try Self.openLog("\(folder)/processes.log")
  }

  /// A path of the library that LD_PRELOAD can name: spaces and colons separate its paths.
  private static func linked(_ library: String?, in folder: String) throws -> String? {
    func canBeNamed(_ path: String) -> Bool { !path.contains { $0 == " " || $0 == ":" } }
    guard let library, !canBeNamed(library) else { return library }
    let path = "\(folder)/story-time.so"
    guard canBeNamed(path) else {
      throw WorldError(
        "apps can't be given the story's time from \(folder): set TMPDIR to a folder without spaces and colons")
    }
    guard symlink(library, path) == 0 || errno == EEXIST else { throw WorldError.system(path, errno) }
    return path
  }

  private static func openLog(_ path: String) throws -> FileHandle {
    let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw WorldError.system(path, errno) }
    return FileHandle(fileDescriptor: file, closeOnDealloc: true)
  }

  func credentials(of app: InstalledApp) -> String { "\(folder)/credentials/\(app.bundleIdentifier)" }
  func state(of app: InstalledApp) -> String { "\(folder)/state/apps/\(app.bundleIdentifier)" }
  /// Where the agent has the keys of doors that it did not get at its setup.
  var doorKeys: String { "\(state(of: .agent))/doors" }

  private var environment: [String: String] {
    worldEnvironment.merging([
      WorldProcesses.machineVariable: name,
      "DBUS_SYSTEM_BUS_ADDRESS": busAddress,
      BootIdentifier.variable: bootIdentifier,
      ProcessClock.calendarVariable: calendar.path,
    ]) { $1 }
  }

  /// A UUID of this machine's present boot, the same in each run of a story.
  private var bootIdentifier: String {
    // Each machine has its own.
    let number = WorldSeed.number(of: name)
    let digits = String(number & 0xffff_ffff, radix: 16)
    let count = String(boots, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits + "-0000-4000-8000-"
      + String(repeating: "0", count: 12 - count.count) + count
  }

  private func startBus() throws {
    bus = try BusDaemon(
      executable: executables.busDaemon, socket: run.busSocket(of: name), folder: folder, environment: environment,
    )
  }

  func boot() throws {
    guard !isUp else { throw WorldError("\(name) is up already") }
    boots += 1
    if bus == nil { try startBus() }
    if !hasBluetooth {
      try simulator.send(.boot(machine: name))
      hasBluetooth = true
    }
    try startDaemon()
    isUp = true
  }

  func startDaemon() throws {
    guard daemon == nil else { throw WorldError("latchkeyd runs already on \(name)") }
    daemon = try RunningProcess(
      "latchkeyd on \(name)",
      ProcessStart(
        executable: executables.daemon,
        arguments: [
          "--state", "\(folder)/state", "--apps", "\(folder)/apps", "--credentials", "\(folder)/credentials",
        ], environment: environment, standardOutput: log.fileDescriptor, standardError: log.fileDescriptor))
  }

  func killDaemon(staysDown: Bool) throws {
    guard let daemon else { throw WorldError("latchkeyd does not run on \(name)") }
    self.daemon = nil
    daemon.signal(SIGKILL)
    try daemon.waitForEnd()
  }

  private func processes(of app: InstalledApp) -> [WorldProcesses.Found] {
    let plist = "\(folder)/apps/\(app.name)/Info.plist"
    let all = WorldProcesses(world: run.world).all().filter { $0.machine == name && $0.infoPlist == plist }
    // A process that an app starts has the app's environment, too, so only the topmost one counts.
    let pids = Set(all.map(\.pid))
    return all.filter { !pids.contains($0.parent) }
  }

  func process(of app: InstalledApp) throws -> Int32 {
    let found = processes(of: app)
    guard let process = found.first else { throw WorldError("the \(app) does not run on \(name)") }
    guard found.count == 1 else { throw WorldError("\(found.count) processes of the \(app) run on \(name)") }
    return process.pid
  }

  func kill(_ app: InstalledApp) throws {
    let pid = try process(of: app)
    try WorldProcesses(world: run.world).kill { $0.pid == pid }
  }

  func hold(_ app: InstalledApp, isHung: Bool) throws {
    // latchkeyd may have ended an app that hung. Then there is nothing to continue.
    if !isHung, processes(of: app).isEmpty { return }
    let pid = try process(of: app)
    WorldProcesses(world: run.world).signal(isHung ? SIGSTOP : SIGCONT) { $0.pid == pid }
  }

  func shutDown(clean: Bool) throws {
    guard isUp else { throw WorldError("\(name) is down already") }
    isUp = false
    control = nil
    let daemon = daemon
    self.daemon = nil
    if clean {
      // The order is that of a shutdown: latchkeyd is stopped first, and gets real time for that. It does not need the
      // others for it.
      daemon?.signal(SIGTERM)
      try? daemon?.waitForEnd()
    }
    // Everything else ends at one moment: no process lives to see the radio or the bus go.
    let processes = WorldProcesses(world: run.world)
    processes.signal(SIGSTOP) { $0.machine == name && $0.program != "dbus-daemon" }
    try simulator.send(clean ? .shutDown(machine: name) : .cutPower(machine: name))
    hasBluetooth = false
    let bus = bus
    self.bus = nil
    try processes.kill { $0.machine == name }
    try bus?.process.waitForEnd()
  }

  func control(_ request: ControlRequest) throws {
    try openControl().perform(request, limit: RunningProcess.patience)
  }

  func say(_ request: ControlRequest) throws { try openControl().say(request, limit: RunningProcess.patience) }

  func type(_ words: [String], input: String?) throws -> any TypedCommand {
    guard isUp else { throw WorldError("\(name) is down") }
    commands += 1
    return try LocalCommand(
      "latchkey \(words.first ?? "") on \(name)", executable: executables.latchkey, words: words, input: input,
      environment: environment.merging(["TZ": "UTC"]) { $1 }, folder: "\(folder)/command-\(commands)")
  }

  func phoneKey(at door: String?) throws -> String {
    func owners() throws -> PhoneKeys? {
      do { return try PhoneKeys.read(fromDirectory: credentials(of: .agent)) } catch KeyFileError.missing { return nil }
    }
    // A guest may give the door any name, so the first one is taken.
    let keys =
      try door == nil
      ? owners() ?? DoorKeys.read(fromDirectory: doorKeys).first?.keys
      : DoorKeys.read(fromDirectory: doorKeys).first { $0.name == door }?.keys
    guard let keys else {
      throw WorldError("\(name)'s phone has no key of \(door.map { "the door '\($0)'" } ?? "a lock")")
    }
    return Hex.text(Array(keys.staticKey.publicKey.rawRepresentation))
  }

  private func openControl() throws -> MachineControl {
    guard isUp else { throw WorldError("\(name) is down") }
    let control = try control ?? MachineControl(address: busAddress)
    self.control = control
    return control
  }

  var powerCut: Ability { .exact }

  func ability(_ fault: MachineFault) -> Ability { .exact }

  func perform(_ fault: MachineFault) throws {
    let command: SimulatorCommand
    switch fault {
    case .clock(let change): return try calendar.set(by: change)
    case .restartBluetoothd(let killed): command = .restartBluetoothd(machine: name, killed: killed)
    case .adapterPower(let isOn): command = .power(machine: name, isOn: isOn)
    case .forgetPairings: command = .forgetPairings(machine: name)
    case .controller(let isOn): command = .plug(machine: name, isOn: isOn)
    case .rfkill(let isBlocked): command = .block(machine: name, isOn: isBlocked)
    case .radio(let isBlocked): command = .shield(machine: name, isOn: isBlocked)
    case .move(let place, _, nil): command = .move(machine: name, x: place.x, y: place.y)
    case .move(let place, _, .some(let over)):
      command = .walk(machine: name, x: place.x, y: place.y, seconds: Double(over.wholeNanoseconds) / 1e9)
    case .malformedAdvertisement: command = .hear(machine: name, input: .malformedAdvertisement)
    case .unknownNotification: command = .hear(machine: name, input: .notificationForUnknownHandle)
    }
    try simulator.send(command)
  }

  func lockHardware() throws -> LockHardware {
    guard description.apps.contains(.lock) else { throw WorldError("\(name) has no lock") }
    // The simulated mechanism is part of its process.
    if let pid = try? process(of: .lock), WorldProcesses.isStopped(pid) {
      throw WorldError(
        "the lock on \(name) hangs, and its simulated bolt and door with it: nothing can be done to them before "
          + "`continue app`")
    }
    return LockHardware(stateFolder: state(of: .lock))
  }

  func tend() throws -> [UnexpectedEnd] {
    if let bus, let end = bus.process.end {
      return [
        UnexpectedEnd(
          process: "dbus-daemon", pid: bus.process.pid, end: end,
          fatal: "dbus-daemon on \(name) ended by itself: \(end)\(logTail("\(folder)/bus.log"))")
      ]
    }
    guard let daemon, let end = daemon.end else { return [] }
    restarts += 1
    guard restarts <= Self.maximumRestarts else {
      return [
        UnexpectedEnd(
          process: Recorded.daemon, pid: daemon.pid, end: end,
          fatal: "latchkeyd on \(name) ended by itself \(restarts) times, last with \(end)\(logTail(logPath))")
      ]
    }
    self.daemon = nil
    try startDaemon()
    return [UnexpectedEnd(process: Recorded.daemon, pid: daemon.pid, end: end)]
  }
}
