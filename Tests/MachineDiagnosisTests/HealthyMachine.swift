import AppLink
import BlueZ
import MachineSetup

@testable import MachineDiagnosis

/// A machine on which all is well.
enum HealthyMachine {
  static let lock = machine(.lock)
  static let phone = machine(.phone)

  static func machine(_ role: SetupRole) -> MachineObservations {
    var app = AppStatus(bundleIdentifier: role.app, state: .suspended, processIdentifier: 900, launches: 1)
    if role == .phone { app.pendingConnections = 1 } else { app.state = .background }
    return MachineObservations(
      version: "0.1.0", unixSeconds: 1_800_000_000, isRoot: true, roles: [role],
      bus: .known(
        ObservedBus(
          isSystemBus: true, names: ["org.bluez", "org.latchkey.System1"],
          activatable: ["org.freedesktop.PolicyKit1", "org.freedesktop.login1"])),
      systemd: .units([
        Units.bluetooth: unit("root", restart: "on-failure"), Units.daemon: unit("latchkey", restart: "always"),
        role.unit: unit(role.package, fileState: "static", restart: "no"),
      ]),
      bluetoothd: ObservedBluetoothDaemon(
        answer: .answered, isInstalled: true, isSimulator: false, isReplaced: false,
        version: .known(BlueZVersion(5, 82)), kernel: "6.12.43+deb13-amd64"),
      settings: .known(BluetoothSettings()),
      switches: [RadioSwitch(name: "hci0", isSoftBlocked: false, isHardBlocked: false)], controllers: ["hci0"],
      adapters: .known([adapter("hci0", "C0:DE:00:00:00:01", advertising: role == .lock)]),
      latchkeyd: ObservedDaemon(
        answer: .status(SystemStatus(bluetooth: .poweredOn, apps: [app])), isInstalled: true,
        process: ObservedProcess(
          identifier: 800, user: 990,
          arguments: ["/usr/libexec/latchkey/latchkeyd", "--state", "/var/lib/latchkey"], unit: Units.daemon,
          isReplaced: false),
        version: .known("0.1.0")),
      rights: ObservedRights(hasPolicy: .known(true), hasPolkitRules: .known(true)),
      clock: ObservedClock(isSynchronised: .known(true), hasBootTime: true, asleepSeconds: 0, canSleep: true),
      keys: [
        role: .known(
          ObservedKeys(
            folder: role.keyFolder, state: role == .lock ? .lock(phones: 1) : .phone, folderMode: 0o700, folderOwner: 0)
        )
      ],
      store: .known(
        ObservedStore(
          path: "/var/lib/latchkey", exists: true, mode: 0o700, owner: 990, volatileKind: nil, isReadOnly: false,
          freeBytes: 5 << 30)),
      clients: .known([]), journal: .known([]))
  }

  static func unit(_ user: String, fileState: String = "enabled", restart: String) -> ObservedUnit {
    ObservedUnit(
      loadState: "loaded", fileState: fileState, activeState: "active", result: "success", restarts: 0,
      restart: restart, watchdogMicroseconds: 0, user: user, hasNoNewPrivileges: true, dropIns: [], needsReload: false,
      activeSince: 1_799_000_000)
  }

  static func adapter(_ name: String, _ address: String, advertising: Bool = false) -> ObservedAdapter {
    ObservedAdapter(
      name: name, address: address, isPowered: true, powerState: .on, isDiscovering: false,
      roles: ["central", "peripheral", "central-peripheral"], experimentalFeatures: [],
      advertisements: (active: advertising ? 1 : 0, free: 4))
  }
}

extension MachineObservations {
  mutating func change(_ unit: String, _ change: (inout ObservedUnit) -> Void) {
    guard case .units(var units) = systemd, var changed = units[unit] else { return }
    change(&changed)
    units[unit] = changed
    systemd = .units(units)
  }

  mutating func changeAdapter(_ change: (inout ObservedAdapter) -> Void) {
    guard case .known(var all) = adapters else { return }
    change(&all[0])
    adapters = .known(all)
  }

  mutating func changeStatus(_ change: (inout SystemStatus) -> Void) {
    guard case .status(var status) = latchkeyd.answer else { return }
    change(&status)
    latchkeyd.answer = .status(status)
  }

  mutating func changeKeys(_ change: (inout ObservedKeys) -> Void) {
    for (role, observed) in keys {
      guard case .known(var known) = observed else { continue }
      change(&known)
      keys[role] = .known(known)
    }
  }

  mutating func changeStore(_ change: (inout ObservedStore) -> Void) {
    guard case .known(var known) = store else { return }
    change(&known)
    store = .known(known)
  }

  mutating func record(_ event: String, ago seconds: Double = 3600, _ fields: [String: String] = [:]) {
    let event = JournaledEvent(event: event, unixSeconds: unixSeconds - seconds, message: event, fields: fields)
    journal = .known((journal.content ?? []) + [event])
  }
}
