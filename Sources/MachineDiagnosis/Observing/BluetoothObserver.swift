import BlueZ
import BusValue
import Foundation
import Journal
import JournalEvents
import SystemBus

extension MachineObserver {
  // MARK: bluetoothd

  /// The places in which distributions install bluetoothd.
  private static let bluetoothPrograms = [
    "/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd", "/usr/sbin/bluetoothd",
  ]

  func observeBluetooth(
    _ questions: (any BusQuestions)?
  ) -> (ObservedBluetoothDaemon, Observed<[ObservedAdapter]>) {
    let program = Self.bluetoothPrograms.first { (try? access.information($0)) != nil }
    var daemon = ObservedBluetoothDaemon(
      answer: .notThere, isInstalled: program != nil, isSimulator: false, isReplaced: false,
      version: program.map(version) ?? .hidden(reason: "its program is not in a known place"), kernel: access.kernel)
    guard let questions else { return (daemon, .hidden(reason: "there is no bus")) }
    guard let who = try? questions.credentials(of: WellKnown.busName) else {
      return (daemon, .hidden(reason: "bluetoothd does not run"))
    }
    daemon.isSimulator = name(ofProcess: who.processIdentifier) == "bluez-simulator"
    daemon.isReplaced = observeProcess(who).isReplaced
    do throws(BusError) {
      let objects = try questions.ask(
        MethodCall(
          to: WellKnown.busName, path: .root, interface: InterfaceName.objectManager, member: "GetManagedObjects"))
      daemon.answer = .answered
      return (daemon, .known(ObservedAdapter.all(in: objects.first)))
    } catch {
      daemon.answer = .silent(reason: error.message)
      return (daemon, .hidden(reason: error.message))
    }
  }

  private func version(of program: String) -> Observed<BlueZVersion> {
    do throws(AccessProblem) {
      let outcome = try access.run(program, ["--version"])
      return BlueZVersion(in: outcome.output).map { .known($0) } ?? .hidden(reason: "\(program) does not tell it")
    } catch { return .hidden(reason: error.description) }
  }

  /// The name in the kernel's form, at most 15 bytes.
  func name(ofProcess process: Int32) -> String? {
    (try? access.read("/proc/\(process)/comm", 64)).map {
      String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .newlines)
    }
  }

  func observeSettings() -> Observed<BluetoothSettings> {
    do throws(AccessProblem) {
      let bytes = try access.read("/etc/bluetooth/main.conf", 1 << 20)
      return .known(BluetoothSettings(String(decoding: bytes, as: UTF8.self)))
    } catch { return error.isMissing ? .known(BluetoothSettings()) : .hidden(reason: error.description) }
  }

  // MARK: The kernel

  func observeSwitches() -> [RadioSwitch] {
    let root = "/sys/class/rfkill"
    func text(_ path: String) -> String? {
      (try? access.read(path, 64)).map { String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .newlines) }
    }
    return ((try? access.names(root)) ?? []).compactMap { name in
      guard text("\(root)/\(name)/type") == "bluetooth" else { return nil }
      return RadioSwitch(
        name: text("\(root)/\(name)/name") ?? name, isSoftBlocked: text("\(root)/\(name)/soft") == "1",
        isHardBlocked: text("\(root)/\(name)/hard") == "1")
    }
  }

  /// The controllers, such as `hci0`. Links are in the same folder, and have a colon in their names.
  func observeControllers() -> [String] {
    ((try? access.names("/sys/class/bluetooth")) ?? []).filter { $0.hasPrefix("hci") && !$0.contains(":") }
  }

  func observeClock(_ questions: (any BusQuestions)?) -> ObservedClock {
    let (boot, awake) = access.uptime()
    let sleep = (try? access.read("/sys/power/state", 64)) ?? []
    return ObservedClock(
      isSynchronised: synchronised(questions), hasBootTime: boot != nil,
      asleepSeconds: max(0, (boot ?? awake) - awake), canSleep: sleep.contains { $0 != 0x0A && $0 != 0x20 })
  }

  private func synchronised(_ questions: (any BusQuestions)?) -> Observed<Bool> {
    let name = "org.freedesktop.timedate1"
    guard let questions else { return .hidden(reason: "there is no bus") }
    // It is started for the question, and ends by itself.
    _ = try? questions.ask(.ofBus("StartServiceByName", [.string(name), .uint32(0)]))
    do throws(BusError) {
      let reply = try questions.ask(
        MethodCall(
          to: name, path: ObjectPath(unchecked: "/org/freedesktop/timedate1"), interface: BusName.properties,
          member: "Get", arguments: [.string(name), .string("NTPSynchronized")]))
      return reply.first?.unwrapped.boolValue.map { .known($0) } ?? .hidden(reason: "timedated does not say")
    } catch { return .hidden(reason: error.message) }
  }

  // MARK: Others on the bus

  private static let connectionLimit = 512

  func observeClients(
    _ questions: (any BusQuestions)?, besides daemon: ObservedDaemon
  ) -> Observed<[BusClient]> {
    guard let questions else { return .hidden(reason: "there is no bus") }
    do throws(BusError) {
      let names = (try questions.ask(.ofBus("ListNames")).first?.stringsValue ?? []).filter { $0.hasPrefix(":") }
      var clients: Set<BusClient> = []
      for name in names.prefix(Self.connectionLimit) {
        guard let who = try? questions.credentials(of: name), who.processIdentifier != daemon.process?.identifier,
          let program = self.name(ofProcess: who.processIdentifier), MachineCheck.knownClients.contains(program)
        else { continue }
        clients.insert(BusClient(name: program, process: who.processIdentifier))
      }
      return .known(clients.sorted { ($0.name, $0.process) < ($1.name, $1.process) })
    } catch { return .hidden(reason: error.message) }
  }

  // MARK: The journal

  private static let journalctl = "/usr/bin/journalctl"
  /// The most lines that are read, the latest ones. A line is about a kilobyte.
  private static let lineLimit = 2000

  func observeJournal() -> Observed<[JournaledEvent]> {
    // The journal itself fills in this field. Any program could write our identifier.
    let arguments =
      [
        "--no-pager", "--output=json", "--lines=\(Self.lineLimit)",
        "--since=-\(MachineCheck.journalDays)d", "_SYSTEMD_UNIT=\(Units.daemon)",
      ] + Trouble.events.map { "LATCHKEY_EVENT=\($0.rawValue)" }
    do throws(AccessProblem) {
      let outcome = try access.run(Self.journalctl, arguments)
      let events = outcome.output.utf8.split(separator: 0x0A).compactMap { JournaledEvent(journalLine: Data($0)) }
      // journalctl complains if this user may not see something, or if there is no journal.
      let complaint = outcome.errors.split(whereSeparator: \.isNewline).first.map(String.init)
      if events.isEmpty, let complaint { return .hidden(reason: complaint) }
      return .known(events)
    } catch { return .hidden(reason: error.description) }
  }
}

extension ObservedAdapter {
  /// The adapters among bluetoothd's objects (the answer of `GetManagedObjects`).
  static func all(in objects: Value?) -> [ObservedAdapter] {
    guard case .dictionary(_, _, let entries)? = objects else { return [] }
    return entries.compactMap { entry -> ObservedAdapter? in
      guard let path = entry.key.pathValue, case .dictionary(_, _, let interfaces) = entry.value else { return nil }
      func properties(_ interface: String) -> Properties? {
        interfaces.first { $0.key.stringValue == interface }?.value.propertiesValue
      }
      guard let own = properties(InterfaceName.adapter) else { return nil }
      let values = PropertyValues<Adapter1>(own)
      let advertising = properties(InterfaceName.advertisingManager).map(PropertyValues<LEAdvertisingManager1>.init)
      return ObservedAdapter(
        name: String(path.lastComponent), address: values.address ?? "", isPowered: values.powered ?? false,
        powerState: values.powerState, isDiscovering: values.discovering ?? false, roles: values.roles,
        experimentalFeatures: values.experimentalFeatures,
        advertisements: advertising.map { (Int($0.activeInstances ?? 0), Int($0.supportedInstances ?? 0)) })
    }.sorted { $0.name < $1.name }
  }
}

extension JournaledEvent {
  /// An event from a line of `journalctl --output=json`, or `nil` if the line is not one of Latchkey's.
  init?(journalLine line: Data) {
    guard let object = try? JSONSerialization.jsonObject(with: line) as? [String: Any],
      let event = object["LATCHKEY_EVENT"] as? String,
      let microseconds = (object["__REALTIME_TIMESTAMP"] as? String).flatMap(Int64.init),
      (0..<Self.endOfTimeMicroseconds).contains(microseconds)
    else { return nil }
    var fields: [String: String] = [:]
    for name in JournalFieldNames.names(object[JournalFieldNames.variable] as? String ?? "").prefix(64) {
      fields[name] = object[JournalFieldNames.systemdName(name)] as? String
    }
    self.init(
      event: event, unixSeconds: Double(microseconds) / 1_000_000, message: object["MESSAGE"] as? String ?? "",
      fields: fields)
  }
  /// The end of the year 9999.
  private static let endOfTimeMicroseconds: Int64 = 253_402_300_800_000_000
}
