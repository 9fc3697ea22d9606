import BluetoothSystem
import BusValue
import Logging
import Synchronization
import SystemBus

/// Runs apps as units of the machine's systemd, over org.freedesktop.systemd1 (org.freedesktop.systemd1(5)).
///
/// Units are started, frozen, thawed and killed by calls. systemd's signals report a unit's main process and its end.
/// A process counts as an app if it belongs to the app's unit and runs as the unit's user.
package final class SystemdSupervisor: Supervisor {
  package let news: AsyncStream<SupervisorNews>

  private struct Entry {
    let bundleIdentifier: String
    let path: ObjectPath
    var unit: SystemdUnit
  }

  private let continuation: AsyncStream<SupervisorNews>.Continuation
  private let bus: Bus
  private let logger: Logger
  /// By bundle identifier.
  private let entries: Mutex<[String: Entry]>
  /// systemd's name on the bus.
  private let owner: Mutex<String?>

  /// Whether systemd is on this bus as process 1. Otherwise apps can't be supervised through this bus.
  package static func isAvailable(at address: BusAddress = .system) -> Bool {
    guard let bus = try? Bus(address: address) else { return false }
    defer { bus.close() }
    guard (try? bus.start()) != nil else { return false }
    // Not GetConnectionCredentials, which also passes a descriptor since dbus-daemon 1.16.
    func number(_ member: String) -> Int64? {
      let reply = try? bus.callAndWait(
        MethodCall(
          to: BusName.bus, path: Self.busPath, interface: BusName.bus, member: member,
          arguments: [.string(Systemd.name)]))
      return reply?.first?.integerValue.flatMap { Int64(exactly: $0) }
    }
    return number("GetConnectionUnixProcessID") == 1 && number("GetConnectionUnixUser") == 0
  }

  /// Connects, and asks systemd for the units. Blocks until it has answered.
  /// - Parameter apps: the apps that have a unit.
  /// - Throws: `DaemonError` if there is no systemd, or it can't answer now. Whoever started this process starts it again
  ///   then. Without the answer the apps would be missing until a restart, because each unit is asked for once.
  package init(apps: [InstalledApp], address: BusAddress = .system, logger: Logger) throws(DaemonError) {
    (news, continuation) = AsyncStream.makeStream()
    self.logger = logger
    do {
      bus = try Bus(address: address)
    } catch { throw DaemonError("The system bus can't be had (\(error)).") }
    entries = Mutex([:])
    owner = Mutex(nil)
    do {
      try bus.start(
        BusHandlers(
          onSignal: { [weak self] _, signal in self?.receive(signal) },
          onClose: { [weak self] _, error in self?.logger.error("systemd is out of reach: \(error)") }))
    } catch {
      bus.close()
      throw DaemonError("systemd is out of reach (\(error)).")
    }
    for app in apps {
      guard let name = app.systemdUnit else { continue }
      do throws(BusError) {
        let reply = try bus.callAndWait(Systemd.manager("LoadUnit", [.string(name)]))
        guard let path = reply.first?.pathValue else { throw BusError.invalidArguments("LoadUnit has no answer") }
        entries.withLock {
          $0[app.declaration.bundleIdentifier] = Entry(
            bundleIdentifier: app.declaration.bundleIdentifier, path: path, unit: SystemdUnit(name: name))
        }
      } catch {
        guard Self.isAboutUnit(error) else {
          bus.close()
          throw DaemonError("systemd does not say which unit \(name) is (\(error)).")
        }
        // One bad app does not stop the others.
        logger.error(
          "an app can't be started: systemd has no unit \(name) (\(error)); see LatchkeySystemdUnit in \(app.infoPlist)"
        )
      }
    }
    bus.enqueue { [weak self] bus in self?.follow(bus) }
  }

  /// Whether systemd answered, and would answer the same again. A unit that does not exist is no error to it.
  static func isAboutUnit(_ error: BusError) -> Bool {
    error.name == BusError.Name.invalidArguments || error.name.hasPrefix("org.freedesktop.systemd1.")
  }

  deinit { bus.close() }

  /// Stops watching. The apps go on.
  package func close() {
    bus.close()
    continuation.finish()
  }

  // MARK: Supervisor

  package func launch(_ app: InstalledApp, _ options: LaunchOptions) throws -> ProcessIdentity? {
    guard entries.withLock({ $0[app.declaration.bundleIdentifier] }) != nil else {
      throw DaemonError("\(app.declaration.bundleIdentifier) has no unit.")
    }
    handle(.launch, app.declaration.bundleIdentifier)
    return nil
  }

  package func adopt(_ bundleIdentifier: String, _ process: ProcessIdentity) {
    handle(.adopt(process), bundleIdentifier)
  }
  package func suspend(_ bundleIdentifier: String, _ process: ProcessIdentity) {
    handle(.suspend(process), bundleIdentifier)
  }
  package func resume(_ bundleIdentifier: String, _ process: ProcessIdentity) {
    handle(.resume(process), bundleIdentifier)
  }
  package func kill(_ bundleIdentifier: String, _ process: ProcessIdentity) { handle(.kill(process), bundleIdentifier) }

  package func verify(_ claim: AppClaim, answer: @escaping @Sendable (ClaimRefusal?) -> Void) {
    guard let entry = entries.withLock({ $0[claim.bundleIdentifier] }) else {
      return answer(.notThatApp("\(claim.bundleIdentifier) is not an app of this machine with a systemd unit."))
    }
    let call = Systemd.manager("GetUnitByPID", [.uint32(UInt32(bitPattern: claim.process.processIdentifier))])
    bus.enqueue { [self] bus in
      bus.call(call) { [self] result in
        let belongs = UnitAnswer(result, unit: entry.path)
        guard belongs == .belongs else {
          return answer(
            belongs.refusal("Process \(claim.process.processIdentifier)", unit: entry.unit.name))
        }
        if let user = entries.withLock({ $0[claim.bundleIdentifier]?.unit.user }) {
          return answer(Self.compare(user, claim, entry.unit.name))
        }
        // systemd has not described the unit yet, so it is asked.
        self.bus.enqueue { bus in
          bus.call(Systemd.properties(of: entry.path, Systemd.serviceInterface)) { result in
            guard let report = try? Systemd.report(result.get().first), let user = report.user else {
              return answer(.unavailable("systemd does not report the user of \(entry.unit.name); try again."))
            }
            answer(Self.compare(user.isEmpty ? "root" : user, claim, entry.unit.name))
          }
        }
      }
    }
  }

  private static func compare(_ user: String, _ claim: AppClaim, _ unit: String) -> ClaimRefusal? {
    guard LocalUser.identifier(of: user) == claim.userIdentifier else {
      return .notThatApp("The app runs as user \(claim.userIdentifier), and \(unit) as \(user).")
    }
    return nil
  }

  // MARK: The units

  private func handle(_ event: SystemdUnit.Event, _ bundleIdentifier: String) {
    entries.withLock { entries in
      guard var entry = entries[bundleIdentifier] else { return }
      let effects = entry.unit.handle(event)
      entries[bundleIdentifier] = entry
      // Under the lock, so that news are reported in the order in which they happened.
      for effect in effects { carryOut(effect, entry) }
    }
  }

  private func carryOut(_ effect: SystemdUnit.Effect, _ entry: Entry) {
    let name = entry.bundleIdentifier
    switch effect {
    case .call(let call): bus.enqueue { [weak self] bus in self?.perform(call, entry, bus) }
    case .launched(let process): continuation.yield(.launched(name, process))
    case .launchFailed(let reason): continuation.yield(.launchFailed(name, reason: reason))
    case .ended(let process, let how):
      continuation.yield(.ended(ProcessEnd(bundleIdentifier: name, process: process, how: how)))
    case .warn(let text): logger.error("\(text)")
    }
  }

  private func perform(_ call: SystemdUnit.Call, _ entry: Entry, _ bus: isolated Bus) {
    let name = entry.bundleIdentifier
    if call == .inspect { return inspect(entry, bus) }
    bus.call(Systemd.call(call, unit: entry.unit.name)) { [weak self] result in
      var problem: String?
      if case .failure(let error) = result { problem = "\(error)" }
      self?.handle(.answered(call, error: problem), name)
    }
  }

  private func inspect(_ entry: Entry, _ bus: isolated Bus) {
    let name = entry.bundleIdentifier
    bus.call(Systemd.properties(of: entry.path, Systemd.unitInterface)) { [weak self] result in
      if let report = try? Systemd.report(result.get().first) { self?.handle(.reported(report), name) }
    }
    bus.call(Systemd.properties(of: entry.path, Systemd.serviceInterface)) { [weak self] result in
      switch result {
      case .success(let reply):
        if let report = Systemd.report(reply.first) { self?.handle(.reported(report), name) }
        self?.handle(.answered(.inspect, error: nil), name)
      case .failure(let error): self?.handle(.answered(.inspect, error: "\(error)"), name)
      }
    }
  }

  // MARK: Messages from systemd

  /// Keeps listening to systemd, even to its successor after `systemctl daemon-reexec`.
  private func follow(_ bus: isolated Bus) {
    bus.addMatch(MatchRule(sender: Systemd.name, interface: Systemd.managerInterface, member: "JobRemoved"))
    for entry in entries.withLock({ Array($0.values) }) {
      bus.addMatch(
        MatchRule(
          sender: Systemd.name, interface: BusName.properties, member: "PropertiesChanged", path: entry.path))
    }
    bus.watchOwner(of: Systemd.name) { [weak self] bus, owner in
      guard let self else { return }
      self.owner.withLock { $0 = owner }
      guard owner != nil else { return }
      bus.call(Systemd.manager("Subscribe")) { [weak self] _ in
        guard let self else { return }
        for name in entries.withLock({ Array($0.keys) }) { handle(.connected, name) }
      }
    }
  }

  private func receive(_ signal: IncomingSignal) {
    guard signal.sender == owner.withLock({ $0 }) else { return }
    switch (signal.interface, signal.member) {
    case (Systemd.managerInterface, "JobRemoved"):
      guard signal.arguments.count == 4, let unit = signal.arguments[2].stringValue,
        let result = signal.arguments[3].stringValue
      else { return }
      for name in entries.withLock({ $0.filter { $0.value.unit.name == unit }.map(\.key) }) {
        handle(.jobEnded(result), name)
      }
    case (BusName.properties, "PropertiesChanged"):
      guard signal.arguments.count == 3, let report = Systemd.report(signal.arguments[1]) else { return }
      for name in entries.withLock({ $0.filter { $0.value.path == signal.path }.map(\.key) }) {
        handle(.reported(report), name)
      }
    default: break
    }
  }

  private static let busPath = ObjectPath(unchecked: "/org/freedesktop/DBus")
}

/// systemd's answer whether a process belongs to a unit.
enum UnitAnswer: Sendable, Hashable {
  case belongs
  case belongsElsewhere
  /// systemd is restarting or could not be asked. That says nothing about the process.
  case unknown(String)

  init(_ result: Result<[Value], BusError>, unit: ObjectPath) {
    switch result {
    case .success(let reply): self = reply.first?.pathValue == unit ? .belongs : .belongsElsewhere
    case .failure(let error):
      self =
        error.name == "org.freedesktop.systemd1.NoUnitForPID" || error.name == "org.freedesktop.systemd1.NoSuchProcess"
        ? .belongsElsewhere : .unknown(error.description)
    }
  }

  func refusal(_ process: String, unit: String) -> ClaimRefusal? {
    switch self {
    case .belongs: nil
    case .belongsElsewhere: .notThatApp("\(process) does not belong to \(unit), which runs this app.")
    case .unknown(let error): .unavailable("systemd can't say now whether \(process) belongs to \(unit) (\(error)).")
    }
  }
}

/// The names of org.freedesktop.systemd1.
private enum Systemd {
  static let name = "org.freedesktop.systemd1"
  static let managerInterface = "org.freedesktop.systemd1.Manager"
  static let unitInterface = "org.freedesktop.systemd1.Unit"
  static let serviceInterface = "org.freedesktop.systemd1.Service"
  private static let path = ObjectPath(unchecked: "/org/freedesktop/systemd1")

  static func manager(_ member: String, _ arguments: [Value] = []) -> MethodCall {
    MethodCall(to: name, path: path, interface: managerInterface, member: member, arguments: arguments)
  }

  static func properties(of path: ObjectPath, _ interface: String) -> MethodCall {
    MethodCall(
      to: name, path: path, interface: BusName.properties, member: "GetAll", arguments: [.string(interface)])
  }

  static func call(_ call: SystemdUnit.Call, unit: String) -> MethodCall {
    switch call {
    case .start, .inspect: manager("StartUnit", [.string(unit), .string("replace")])
    case .freeze: manager("FreezeUnit", [.string(unit)])
    case .thaw: manager("ThawUnit", [.string(unit)])
    case .kill: manager("KillUnit", [.string(unit), .string("all"), .int32(9)])
    case .stop: manager("StopUnit", [.string(unit), .string("replace")])
    }
  }

  /// Reads the properties of a unit or service. `nil` if they are invalid.
  static func report(_ value: Value?) -> UnitReport? {
    guard let properties = value?.propertiesValue else { return nil }
    var report = UnitReport()
    report.activeState = properties["ActiveState"]?.stringValue
    report.freezerState = properties["FreezerState"]?.stringValue
    report.loadState = properties["LoadState"]?.stringValue
    report.user = properties["User"]?.stringValue
    if case .uint64(let watchdog) = properties["WatchdogUSec"] { report.watchdog = watchdog }
    report.exitCode = properties["ExecMainCode"]?.integerValue
    report.exitStatus = properties["ExecMainStatus"]?.integerValue
    if let process = properties["MainPID"]?.integerValue.flatMap(Int32.init(exactly:)) {
      // A process that has already ended counts as none.
      report.mainProcess = .some(process == 0 ? nil : try? ProcessIdentity.of(process))
    }
    return report
  }
}
