import AppLink
import BlueZ
import MachineSetup
import Testing

@testable import MachineDiagnosis

/// One thing that is wrong with a machine on which all else is well.
private struct Case: CustomTestStringConvertible {
  var fault: Fault
  var machine: MachineObservations
  /// What the finding has to name.
  var names: String

  init(
    _ fault: Fault, on machine: MachineObservations = HealthyMachine.lock, naming names: String = "",
    _ change: (inout MachineObservations) -> Void
  ) {
    self.fault = fault
    self.machine = machine
    self.names = names
    change(&self.machine)
  }

  var testDescription: String { "\(fault.rawValue) \(names)" }
}

@Suite("What the doctor finds") struct FaultTests {
  @Test(
    "A healthy machine has no findings, and every check says that all is well",
    arguments: [HealthyMachine.lock, HealthyMachine.phone])
  func healthy(_ machine: MachineObservations) {
    let diagnosis = Diagnosis(machine)
    #expect(diagnosis.findings.filter { $0.weight != .fine } == [])
    #expect(diagnosis.keepsPromise)
    #expect(Set(diagnosis.findings.map(\.check)) == Set(Check.allCases))
  }

  @Test("Each fault alone gives exactly its finding, with why it matters and what to do", arguments: Self.cases)
  private func alone(_ wrong: Case) {
    let found = Diagnosis(wrong.machine).findings.filter { $0.weight != .fine }
    #expect(found.map(\.name) == [wrong.fault])
    guard let finding = found.first else { return }
    #expect(finding.check == wrong.fault.check)
    #expect(wrong.names.isEmpty || finding.found.contains(wrong.names), "\(finding.found)")
    #expect(finding.because?.isEmpty == false)
    #expect(finding.mend?.isEmpty == false)
    #expect(Diagnosis(wrong.machine).keepsPromise == (finding.weight != .broken))
  }

  @Test("L2: that a lock's links could be faster is said, and is no fault") func pace() throws {
    var machine = HealthyMachine.lock
    let slow = try #require(MachineCheck.settings(machine).first)
    #expect(slow.name == nil && slow.found.contains("setup lock --radio-settings"))
    machine.settings = Self.settings("[LE]\nMaxConnectionInterval = 12")
    let fast = try #require(MachineCheck.settings(machine).first)
    #expect(fast.name == nil && !fast.found.contains("--radio-settings"))
    #expect(MachineCheck.settings(HealthyMachine.phone).allSatisfy { !$0.found.contains("--radio-settings") })
  }

  @Test("Every fault that the doctor knows is found on some machine, and its name begins with its check's")
  func complete() {
    #expect(Set(Self.cases.map(\.fault)) == Set(Fault.allCases))
    for fault in Fault.allCases { #expect(Check(rawValue: String(fault.rawValue.prefix { $0 != "." })) == fault.check) }
  }

  private static let cases = bluetooth + system + state + journal

  private static let bluetooth: [Case] = [
    Case(.bluetoothdMissing) {
      $0.bluetoothd.isInstalled = false
      $0.bluetoothd.answer = .notThere
      $0.adapters = .hidden(reason: "it does not run")
    },
    Case(.bluetoothdStopped) {
      $0.bluetoothd.answer = .notThere
      $0.adapters = .hidden(reason: "it does not run")
    },
    Case(.bluetoothdSilent, naming: "no answer") {
      $0.bluetoothd.answer = .silent(reason: "no answer")
      $0.adapters = .hidden(reason: "no answer")
    },
    Case(.bluetoothdReplaced) { $0.bluetoothd.isReplaced = true },
    Case(.bluetoothdUntried, on: HealthyMachine.phone, naming: "5.55") {
      $0.bluetoothd.version = .known(BlueZVersion(5, 55))
    },
    Case(.bluetoothdKnownFault, naming: "bluez#947") {
      $0.bluetoothd.version = .known(BlueZVersion(5, 72))
      $0.settings = settings("[LE]\nMaxAdvertisementInterval = 243")
    },
    Case(.bluetoothdVersionHidden) { $0.bluetoothd.version = .hidden(reason: "no") },
    Case(.kernelKnownFault, naming: "Linux 6.1") { $0.bluetoothd.kernel = "6.1.0-41-amd64" },
    Case(.settingsHidden) { $0.settings = .hidden(reason: "Permission denied") },
    Case(.settingsMalformed, naming: "line 2") { $0.settings = settings("[General]\nAutoEnable") },
    Case(.noLowEnergy) { $0.settings = settings("[General]\nControllerMode = bredr") },
    Case(.noClient, on: HealthyMachine.phone) { $0.settings = settings("[General]\nReverseServiceDiscovery=false") },
    Case(.adapterStaysOff) { $0.settings = settings("[Policy]\nAutoEnable=false") },
    Case(.noCache) { $0.settings = settings("[GATT]\nCache = no") },
    Case(.strictPrivacy, naming: "network") { $0.settings = settings("[General]\nPrivacy = network") },
    Case(.openRepairing) { $0.settings = settings("[General]\nJustWorksRepairing = always") },
    Case(.noTemporaryDevices) { $0.settings = settings("[General]\nTemporaryTimeout = 0") },
    Case(.rareAdvertising) { $0.bluetoothd.version = .known(BlueZVersion(5, 66)) },
    Case(.adapterMissing) {
      $0.adapters = .known([])
      $0.controllers = []
    },
    Case(.adapterMissing) {
      // bluetoothd's unit does not start without a controller.
      $0.bluetoothd.answer = .notThere
      $0.adapters = .hidden(reason: "it does not run")
      $0.controllers = []
    },
    Case(.adapterUnserved, naming: "hci0") { $0.adapters = .known([]) },
    Case(.adapterSoftBlocked, naming: "hci0") {
      $0.switches[0].isSoftBlocked = true
      $0.changeAdapter { $0.isPowered = false }
    },
    Case(.adapterSoftBlocked, naming: "tpacpi_bluetooth_sw") {
      // This switch takes the controller off the machine.
      $0.switches = [RadioSwitch(name: "tpacpi_bluetooth_sw", isSoftBlocked: true, isHardBlocked: false)]
      $0.adapters = .known([])
      $0.controllers = []
    },
    Case(.adapterWithoutAddress, naming: "hci0") { machine in
      machine.changeAdapter { $0.address = "00:00:00:00:00:00" }
    },
    Case(.adapterWithoutAddress, naming: "hci0") { machine in machine.changeAdapter { $0.address = "" } },
    Case(.adapterSoftBlocked) { machine in
      machine.changeAdapter {
        $0.isPowered = false
        $0.powerState = .blocked
      }
    },
    Case(.adapterHardBlocked, naming: "hci0") {
      $0.switches[0].isHardBlocked = true
      $0.changeAdapter { $0.isPowered = false }
    },
    Case(.adapterOff, naming: "hci0") { machine in machine.changeAdapter { $0.isPowered = false } },
    Case(.adapterUnchosen, naming: "hci0") {
      $0.adapters = .known([
        HealthyMachine.adapter("hci0", "C0:DE:00:00:00:01", advertising: true),
        HealthyMachine.adapter("hci1", "C0:DE:00:00:00:02"),
      ])
    },
    Case(.adapterOtherWanted, naming: "hci1") { $0.latchkeyd.process?.arguments += ["--adapter", "hci1"] },
    Case(.noCentral, on: HealthyMachine.phone) { machine in machine.changeAdapter { $0.roles = ["peripheral"] } },
    Case(.noPeripheral) { machine in machine.changeAdapter { $0.roles = ["central"] } },
    Case(.oneRoleAtATime) {
      $0.roles = [.lock, .phone]
      $0.changeAdapter { $0.roles = ["central", "peripheral"] }
      $0.changeStatus {
        $0.apps.append(AppStatus(bundleIdentifier: SetupRole.phone.app, state: .suspended, connections: 1))
      }
      let agent = HealthyMachine.unit("latchkey-agent", fileState: "static", restart: "no")
      $0.systemd = .units(($0.systemd.units ?? [:]).merging([SetupRole.phone.unit: agent]) { $1 })
    },
    Case(.noAdvertising) { machine in machine.changeAdapter { $0.advertisements = nil } },
    Case(.discovering, on: HealthyMachine.phone, naming: "bluetoothctl (77)") {
      $0.clients = .known([BusClient(name: "bluetoothctl", process: 77)])
      $0.changeAdapter { $0.isDiscovering = true }
    },
    Case(.otherAdvertising, on: HealthyMachine.phone) { machine in
      machine.changeAdapter { $0.advertisements = (1, 3) }
    },
    Case(.otherClients, naming: "blueman-applet (77)") {
      $0.clients = .known([BusClient(name: "blueman-applet", process: 77)])
    },
    Case(.clientsHidden) { $0.clients = .hidden(reason: "no") },
  ]

  private static let system: [Case] = [
    Case(.busMissing, naming: "no bus at") {
      $0.bus = .hidden(reason: "no bus at unix:path=/run/dbus/system_bus_socket")
      $0.systemd = .unreachable(reason: "there is no bus")
      $0.bluetoothd.answer = .notThere
      $0.adapters = .hidden(reason: "there is no bus")
      $0.latchkeyd.answer = .notThere
      $0.latchkeyd.process = nil
      $0.clients = .hidden(reason: "there is no bus")
    },
    Case(.systemdMissing) { $0.systemd = .absent },
    Case(.systemdHidden) { $0.systemd = .unreachable(reason: "it does not answer") },
    Case(.latchkeydMissing) {
      $0.latchkeyd = ObservedDaemon(answer: .notThere, isInstalled: false, version: .hidden(reason: ""))
      $0.roles = []
      $0.keys = [:]
      $0.systemd = .units([Units.bluetooth: HealthyMachine.unit("root", restart: "on-failure")])
    },
    Case(.latchkeydStopped) {
      $0.latchkeyd.answer = .notThere
      $0.latchkeyd.process = nil
      $0.change(Units.daemon) { $0.activeState = "inactive" }
    },
    Case(.latchkeydSilent, naming: "no answer") { $0.latchkeyd.answer = .silent(reason: "no answer") },
    Case(.latchkeydRefused) { $0.latchkeyd.answer = .refused },
    Case(.latchkeydOtherVersion, naming: "0.0.9") { $0.latchkeyd.version = .known("0.0.9") },
    Case(.latchkeydOtherVersion, naming: "malformed") { $0.latchkeyd.answer = .otherForm(reason: "malformed") },
    Case(.latchkeydReplaced) { $0.latchkeyd.process?.isReplaced = true },
    Case(.latchkeydVersionHidden) { $0.latchkeyd.version = .hidden(reason: "no") },
    Case(.latchkeydSwitchedOff) { machine in machine.changeStatus { $0.bluetooth = .poweredOff } },
    Case(.latchkeydBlind) { machine in machine.changeStatus { $0.bluetooth = .unsupported } },
    Case(.noApp) {
      $0.roles = []
      $0.keys = [:]
      $0.changeStatus { $0.apps = [] }
    },
    Case(.appMissing, naming: "org.latchkey.lock") { machine in machine.changeStatus { $0.apps = [] } },
    Case(.appStopped) { machine in machine.changeStatus { $0.apps[0].state = .notRunning } },
    Case(.appQuit, on: HealthyMachine.phone) { machine in machine.changeStatus { $0.apps[0].quitByUser = true } },
    Case(.appWaitsForNothing, on: HealthyMachine.phone) { machine in
      machine.changeStatus { $0.apps[0].pendingConnections = 0 }
    },
    Case(.appAsks, on: HealthyMachine.phone, naming: "Open the door?") { machine in
      machine.changeStatus { $0.apps[0].alert = "Open the door?" }
    },
    Case(.rightsHidden, naming: "rules.d") { $0.rights.hasPolkitRules = .hidden(reason: "rules.d: Permission denied") },
    Case(.noPolicy) { $0.rights.hasPolicy = .known(false) },
    Case(.noPolkitRules) { $0.rights.hasPolkitRules = .known(false) },
    Case(.noPolkit) {
      $0.bus = .known(ObservedBus(isSystemBus: true, names: [], activatable: ["org.freedesktop.login1"]))
    },
    Case(.foreignOwner, naming: "800") { $0.latchkeyd.process?.unit = "ssh.service" },
    Case(.unitMissing, naming: Units.daemon) { machine in machine.change(Units.daemon) { $0.loadState = "not-found" } },
    Case(.unitMasked, naming: SetupRole.lock.unit) { machine in
      machine.change(SetupRole.lock.unit) { $0.loadState = "masked" }
    },
    Case(.unitMasked, naming: Units.daemon) {
      $0.change(Units.daemon) { $0.loadState = "masked" }
      $0.latchkeyd.answer = .notThere
      $0.latchkeyd.process = nil
    },
    Case(.unitDisabled, naming: Units.bluetooth) { machine in
      machine.change(Units.bluetooth) { $0.fileState = "disabled" }
    },
    Case(.unitFailed, naming: "watchdog") {
      $0.change(Units.daemon) {
        $0.activeState = "failed"
        $0.result = "watchdog"
      }
      $0.latchkeyd.answer = .notThere
      $0.latchkeyd.process = nil
    },
    Case(.unitRestarting, naming: "7 times") { machine in machine.change(Units.bluetooth) { $0.restarts = 7 } },
    Case(.unitNotRestarted, naming: Units.bluetooth) { machine in machine.change(Units.bluetooth) { $0.restart = "no" }
    },
    Case(.unitWatched, naming: "/etc/systemd/x.conf") { machine in
      machine.change(SetupRole.lock.unit) {
        $0.watchdogMicroseconds = 30_000_000
        $0.dropIns = ["/etc/systemd/x.conf"]
      }
    },
    Case(.unitLoosened, naming: "/etc/systemd/x.conf") { machine in
      machine.change(Units.daemon) {
        $0.user = "root"
        $0.dropIns = ["/etc/systemd/x.conf"]
      }
    },
    Case(.unitStale, naming: Units.daemon) { machine in machine.change(Units.daemon) { $0.needsReload = true } },
  ]

  private static let state: [Case] = [
    Case(.clockUnsynchronised) { $0.clock.isSynchronised = .known(false) },
    Case(.clockImplausible, naming: "1970") { $0.unixSeconds = 86_400 },
    Case(.clockStopsAsleep) { $0.clock.hasBootTime = false },
    Case(.sleepUnseen) {
      $0.bus = .known(ObservedBus(isSystemBus: true, names: ["org.freedesktop.PolicyKit1"], activatable: []))
    },
    Case(.keysHidden) { $0.keys[.lock] = .hidden(reason: "Permission denied") },
    Case(.keysMissing) { machine in machine.changeKeys { $0.state = .missing } },
    Case(.keysOpen, naming: "0755") { machine in machine.changeKeys { $0.folderMode = 0o755 } },
    Case(.keysOpen, naming: "user 1000") { machine in machine.changeKeys { $0.folderOwner = 1000 } },
    Case(.keysOpen, naming: "mode 0644") { machine in machine.changeKeys { $0.state = .open(reason: "mode 0644") } },
    Case(.keysUnusable, naming: "damaged") { machine in machine.changeKeys { $0.state = .unusable(reason: "damaged") }
    },
    Case(.noPhone) { machine in machine.changeKeys { $0.state = .lock(phones: 0) } },
    Case(.noLock, on: HealthyMachine.phone) { machine in machine.changeKeys { $0.state = .pendingPhone } },
    Case(.storeHidden) { $0.store = .hidden(reason: "Permission denied") },
    Case(.storeMissing) { machine in machine.changeStore { $0.exists = false } },
    Case(.storeOpen, naming: "0755") { machine in machine.changeStore { $0.mode = 0o755 } },
    Case(.storeOtherOwner, naming: "990") { machine in machine.changeStore { $0.owner = 0 } },
    Case(.storeVolatile, naming: "tmpfs") { machine in machine.changeStore { $0.volatileKind = "tmpfs" } },
    Case(.storeReadOnly) { machine in machine.changeStore { $0.isReadOnly = true } },
    Case(.storeFull, naming: "100 KiB") { machine in machine.changeStore { $0.freeBytes = 100 << 10 } },
    Case(.storeTight, naming: "20 MiB") { machine in machine.changeStore { $0.freeBytes = 20 << 20 } },
    Case(.storeTrouble, naming: "no space") { machine in machine.changeStatus { $0.storeTrouble = "no space" } },
  ]

  private static let journal: [Case] = [
    Case(.journalHidden) { $0.journal = .hidden(reason: "no journal files were found") },
    Case(.linkStuck, naming: "the link to P") { machine in
      machine.change(Units.bluetooth) { $0.activeSince = 1_799_990_000 }
      machine.record("link.stuck", ["peripheral": "P", "times": "3"])
    },
    Case(.linkBarren, naming: "links to P") { $0.record("link.barren", ["peripheral": "P", "advice": "Pair again."]) },
    Case(.linksBrief, naming: "links to P") { $0.record("links.brief", ["peripheral": "P", "advice": "Press it."]) },
    Case(.servicesGone, naming: "P") { $0.record("services.gone", ["peripheral": "P", "advice": "Pair again."]) },
    Case(.adapterWasMissing, naming: "hci1") { $0.record("adapter.missing", ["wanted": "hci1", "present": "hci0"]) },
    Case(.bondHalfMade, naming: "P") { $0.record("bond.halfMade", ["peripheral": "P"]) },
    Case(.bondLost, naming: "P has lost") { $0.record("bond.lost", ["peripheral": "P"]) },
    Case(.storeFailed, naming: "disk full") { $0.record("store.failed", ["reason": "disk full"]) },
    Case(.appLaunchFailed, naming: "org.latchkey.lock") {
      $0.record("app.launchFailed", ["app": "org.latchkey.lock", "error": "no"])
    },
    Case(.deadlineOverdue) { $0.record("deadline.overdue", ["deadline": "1 s"]) },
    Case(.pairingGone, naming: "P has removed") {
      $0.record("pairing.gone", ["peripheral": "P", "advice": "Pair again."])
    },
  ]

  static func settings(_ text: String) -> Observed<BluetoothSettings> { .known(BluetoothSettings(text)) }
}
