import AppLink
import AppLinkBus
import BusValue
import LatchkeyVersion
import LockCryptography
import LockFirmware
import MachineSetup
import SystemBus

/// Observes a machine. Anything that can't be read is noted as hidden, with the reason.
package struct MachineObserver {
  let access: MachineAccess
  /// The folder of this command's program, where another part of the same build may be.
  let programFolder: String?

  package init(_ access: MachineAccess, programFolder: String?) {
    self.access = access
    self.programFolder = programFolder
  }

  package func observe() -> MachineObservations {
    let connection = connect()
    let questions = connection.content
    let bus = observeBus(connection)
    let systemd = observeSystemd(questions)
    let latchkeyd = observeLatchkeyd(questions)
    let roles = observeRoles(latchkeyd)
    // bluetoothd may be on another bus.
    let elsewhere = latchkeyd.process?.option("--bluetooth-bus").map { try? access.connect($0) }
    let (bluetoothd, adapters) = observeBluetooth(elsewhere ?? questions)
    return MachineObservations(
      version: LatchkeyVersion.current, unixSeconds: access.unixSeconds, isRoot: access.isRoot, roles: roles, bus: bus,
      systemd: observeUnits(systemd, roles, questions), bluetoothd: bluetoothd, settings: observeSettings(),
      switches: observeSwitches(), controllers: observeControllers(), adapters: adapters, latchkeyd: latchkeyd,
      rights: observeRights(), clock: observeClock(questions),
      keys: observeKeys(roles, latchkeyd), store: observeStore(latchkeyd),
      clients: observeClients(questions, besides: latchkeyd), journal: observeJournal())
  }

  // MARK: The bus and systemd

  private enum Connection {
    case open(any BusQuestions)
    case closed(String)
    var content: (any BusQuestions)? { if case .open(let questions) = self { questions } else { nil } }
  }

  private func connect() -> Connection {
    do throws(BusError) { return .open(try access.connect(nil)) } catch { return .closed(error.message) }
  }

  private func observeBus(_ connection: Connection) -> Observed<ObservedBus> {
    switch connection {
    case .closed(let reason): return .hidden(reason: reason)
    case .open(let questions):
      func names(_ member: String) throws(BusError) -> Set<String> {
        Set(try questions.ask(.ofBus(member)).first?.stringsValue ?? [])
      }
      do throws(BusError) {
        let known = try names("ListNames").filter { !$0.hasPrefix(":") }
        return .known(
          ObservedBus(
            isSystemBus: questions.isSystemBus, names: known,
            activatable: (try? names("ListActivatableNames")) ?? []))
      } catch { return .hidden(reason: "\(error)") }
    }
  }

  private func observeSystemd(_ questions: (any BusQuestions)?) -> ObservedSystemd {
    guard (try? access.information("/run/systemd/system")) != nil else { return .absent }
    return questions == nil ? .unreachable(reason: "there is no bus") : .units([:])
  }

  private func observeUnits(
    _ systemd: ObservedSystemd, _ roles: Set<SetupRole>, _ questions: (any BusQuestions)?
  ) -> ObservedSystemd {
    guard case .units = systemd, let questions else { return systemd }
    var units: [String: ObservedUnit] = [:]
    for name in Units.names(roles) {
      do throws(BusError) { units[name] = try Self.unit(name, questions) } catch {
        return .unreachable(reason: "\(error)")
      }
    }
    return .units(units)
  }

  private static let systemd = "org.freedesktop.systemd1"

  private static func unit(_ name: String, _ questions: any BusQuestions) throws(BusError) -> ObservedUnit {
    let manager = ObjectPath(unchecked: "/org/freedesktop/systemd1")
    let loaded = try questions.ask(
      MethodCall(
        to: systemd, path: manager, interface: systemd + ".Manager", member: "LoadUnit", arguments: [.string(name)]))
    guard let path = loaded.first?.pathValue else { throw .invalidArguments("systemd names no unit for \(name)") }
    func properties(_ interface: String) throws(BusError) -> Properties {
      try questions.ask(
        MethodCall(
          to: systemd, path: path, interface: BusName.properties, member: "GetAll",
          arguments: [.string("\(systemd).\(interface)")])
      ).first?.propertiesValue ?? [:]
    }
    return ObservedUnit(unit: try properties("Unit"), service: (try? properties("Service")) ?? [:])
  }

  // MARK: latchkeyd and its apps

  /// The places in which latchkeyd's program may be. Only a program in one of them is run, because the process on the
  /// bus could be any program.
  private var daemonPrograms: [String] {
    (programFolder.map { [$0 + "/latchkeyd"] } ?? []) + ["/usr/libexec/latchkey/latchkeyd"]
  }

  private func observeLatchkeyd(_ questions: (any BusQuestions)?) -> ObservedDaemon {
    let installed = daemonPrograms.filter { (try? access.information($0)) != nil }
    var daemon = ObservedDaemon(
      answer: .notThere, isInstalled: installed.contains { $0.hasPrefix("/usr/") }, process: nil,
      version: .hidden(reason: "its program is not installed"))
    if let questions, let who = try? questions.credentials(of: AppLinkName.busName) {
      daemon.isInstalled = true
      daemon.process = observeProcess(who)
      daemon.answer = status(questions)
    }
    // The program of the running latchkeyd, if it is in one of these places.
    let running = daemon.process.flatMap { process in
      (try? access.target("/proc/\(process.identifier)/exe")).map { $0.replacing(Self.deleted, with: "") }
    }
    let program = installed.first { $0 == running } ?? installed.last
    if running == nil || running == program, let program { daemon.version = version(of: program) }
    return daemon
  }

  private func version(of program: String) -> Observed<String> {
    do throws(AccessProblem) {
      let outcome = try access.run(program, ["--version"])
      let line = outcome.output.split(whereSeparator: \.isNewline).first.map { String($0.prefix(80)) }
      guard outcome.status == 0, let line else { return .hidden(reason: "\(program) does not tell it") }
      return .known(line)
    } catch { return .hidden(reason: error.description) }
  }

  private func status(_ questions: any BusQuestions) -> ObservedDaemon.Answer {
    do throws(BusError) {
      let reply = try questions.ask(ControlClient.statusCall)
      do throws(BusError) { return .status(try ControlClient.status(reply)) } catch {
        return .otherForm(reason: error.message)
      }
    } catch {
      switch error.name {
      case BusError.Name.accessDenied: return .refused
      case BusError.Name.unknownMethod, BusError.Name.unknownInterface, BusError.Name.unknownObject:
        return .otherForm(reason: error.message)
      default: return .silent(reason: error.message)
      }
    }
  }

  private static let deleted = " (deleted)"

  func observeProcess(_ who: BusCredentials) -> ObservedProcess {
    let folder = "/proc/\(who.processIdentifier)"
    let arguments = (try? access.read(folder + "/cmdline", 65536)) ?? []
    let groups = (try? access.read(folder + "/cgroup", 4096)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    // The unit is the last part of the control group's path that is one.
    let unit = groups.split(whereSeparator: { $0 == "/" || $0.isNewline }).last { $0.hasSuffix(".service") }
    return ObservedProcess(
      identifier: who.processIdentifier, user: who.userIdentifier,
      arguments: arguments.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }, unit: unit.map(String.init),
      isReplaced: (try? access.target(folder + "/exe"))?.hasSuffix(Self.deleted) ?? false)
  }

  private func observeRoles(_ daemon: ObservedDaemon) -> Set<SetupRole> {
    var known: Set<String> = []
    if case .status(let status) = daemon.answer { known = Set(status.apps.map(\.bundleIdentifier)) }
    return Set(
      SetupRole.allCases.filter { role in
        known.contains(role.app) || (daemon.process?.option("--credentials") == nil && isDeclared(role))
      })
  }

  private func isDeclared(_ role: SetupRole) -> Bool { (try? access.information(role.declaration)) != nil }

  // MARK: Keys and state

  private func observeKeys(_ roles: Set<SetupRole>, _ daemon: ObservedDaemon) -> [SetupRole: Observed<ObservedKeys>] {
    var keys: [SetupRole: Observed<ObservedKeys>] = [:]
    for role in roles {
      // A latchkeyd without units has one folder of credentials, with a folder in it for each app.
      let folder = daemon.process?.option("--credentials").map { "\($0)/\(role.app)" } ?? role.keyFolder
      keys[role] = observeKeys(role, folder)
      // A latchkeyd without units has its apps' state elsewhere.
      guard folder == role.keyFolder, case .known(var known)? = keys[role] else { continue }
      switch (role, known.state) {
      case (.phone, .missing), (.phone, .pendingPhone): if hasDoors { known.state = .phone }
      case (.lock, .lock(phones: 0)): if hasEnrolledPhones { known.state = .lock(phones: 1) }
      default: continue
      }
      keys[role] = .known(known)
    }
    return keys
  }

  /// Whether the agent was enrolled at a lock, or invited to a door.
  private var hasDoors: Bool { ((try? access.names(SetupRole.doorFolder)) ?? []).contains { $0.hasSuffix(".json") } }

  private var hasEnrolledPhones: Bool {
    ((try? access.read("/var/lib/latchkey-lock/access.state", 1 << 20)).map(Self.showsEnrolledPhones)) ?? false
  }

  /// Whether a phone was enrolled by the lock's code, as `latchkey-lock` has stored it (`AccessStore`): a header, the
  /// state, and a checksum of 4 bytes. A file that can't be read shows none; the lock itself says what is wrong with it.
  static func showsEnrolledPhones(_ bytes: [UInt8]) -> Bool {
    let head = Array("latchkey lock access".utf8) + [1]
    guard bytes.starts(with: head), bytes.count >= head.count + 4 else { return false }
    let state = try? AccessState(decoding: Array(bytes.dropFirst(head.count).dropLast(4)))
    return state?.phones.isEmpty == false
  }

  private func observeKeys(_ role: SetupRole, _ folder: String) -> Observed<ObservedKeys> {
    var keys = ObservedKeys(folder: folder, state: .missing, folderMode: nil, folderOwner: nil)
    do throws(AccessProblem) {
      let information = try access.information(folder)
      (keys.folderMode, keys.folderOwner) = (information.mode, information.owner)
      let names = try access.names(folder)
      keys.state = Self.state(role, folder, names)
      return .known(keys)
    } catch { return error.isMissing ? .known(keys) : .hidden(reason: error.description) }
  }

  /// Reads the keys as their app does. Only the kind and the number of keys are kept, never a key.
  private static func state(_ role: SetupRole, _ folder: String, _ names: [String]) -> ObservedKeys.State {
    do throws(KeyFileError) {
      switch role {
      case .lock where names.contains(LockKeys.fileName):
        return .lock(phones: try LockKeys.read(fromDirectory: folder).enrolledPhones.count)
      case .phone where names.contains(PhoneKeys.fileName):
        _ = try PhoneKeys.read(fromDirectory: folder)
        return .phone
      case .phone where names.contains(PendingPhoneKey.fileName):
        _ = try PendingPhoneKey.read(fromDirectory: folder)
        return .pendingPhone
      default: return .missing
      }
    } catch {
      switch error {
      case .tooOpen, .wrongOwner: return .open(reason: error.description)
      default: return .unusable(reason: error.description)
      }
    }
  }

  private func observeStore(_ daemon: ObservedDaemon) -> Observed<ObservedStore> {
    let path = daemon.process?.option("--state") ?? "/var/lib/latchkey"
    var store = ObservedStore(
      path: path, exists: false, mode: 0, owner: 0, volatileKind: nil, isReadOnly: false, freeBytes: 0)
    // A relative path is below latchkeyd's own folder, which is not known here.
    guard path.hasPrefix("/") else { return .hidden(reason: "\(path) is below latchkeyd's own folder") }
    do throws(AccessProblem) {
      let information = try access.information(path)
      let disk = try access.fileSystem(path)
      store.exists = true
      (store.mode, store.owner) = (information.mode, information.owner)
      let mounts = (try? access.read("/proc/self/mountinfo", 1 << 20)) ?? []
      let kind = MountTable(String(decoding: mounts, as: UTF8.self)).kind(of: path)
      store.volatileKind = kind.flatMap { Self.volatileKinds.contains($0) ? $0 : nil }
      (store.isReadOnly, store.freeBytes) = (disk.isReadOnly, disk.freeBytes)
      return .known(store)
    } catch { return error.isMissing ? .known(store) : .hidden(reason: error.description) }
  }

  /// File systems that keep nothing over a reboot. An overlay may keep what is written to it, or not.
  private static let volatileKinds: Set<String> = ["tmpfs", "ramfs"]

  private func observeRights() -> ObservedRights {
    // Debian's folder of rules is closed to ordinary users.
    func exists(_ paths: [String]) -> Observed<Bool> {
      var refusal: AccessProblem?
      for path in paths {
        do throws(AccessProblem) {
          _ = try access.information(path)
          return .known(true)
        } catch { if !error.isMissing { refusal = error } }
      }
      return refusal.map { .hidden(reason: $0.description) } ?? .known(false)
    }
    return ObservedRights(
      hasPolicy: exists(["/usr/share", "/etc"].map { $0 + "/dbus-1/system.d/org.latchkey.System1.conf" }),
      hasPolkitRules: exists(["/usr/share", "/etc"].map { $0 + "/polkit-1/rules.d/50-latchkey.rules" }))
  }
}

extension MethodCall {
  /// A method of the bus itself.
  static func ofBus(_ member: String, _ arguments: [Value] = []) -> MethodCall {
    MethodCall(
      to: BusName.bus, path: ObjectPath(unchecked: "/org/freedesktop/DBus"), interface: BusName.bus, member: member,
      arguments: arguments)
  }
}

extension ObservedUnit {
  init(unit: Properties, service: Properties) {
    func text(_ properties: Properties, _ name: String) -> String { properties[name]?.stringValue ?? "" }
    let active = text(unit, "ActiveState")
    self.init(
      loadState: text(unit, "LoadState"), fileState: text(unit, "UnitFileState"), activeState: active,
      result: text(service, "Result"), restarts: service["NRestarts"]?.integerValue ?? 0,
      restart: text(service, "Restart"),
      // For a unit without a watchdog, systemd gives the largest number.
      watchdogMicroseconds: service["WatchdogUSec"]?.integerValue ?? 0, user: text(service, "User"),
      hasNoNewPrivileges: service["NoNewPrivileges"]?.boolValue ?? false,
      dropIns: unit["DropInPaths"]?.stringsValue ?? [], needsReload: unit["NeedDaemonReload"]?.boolValue ?? false,
      activeSince: active == "active"
        ? unit["ActiveEnterTimestamp"]?.integerValue.map { Double($0) / 1_000_000 } : nil)
  }
}
