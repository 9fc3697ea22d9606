import AppLink
import MachineSetup
import Testing

@testable import MachineDiagnosis

@Suite("How the doctor judges") struct JudgementTests {
  private func found(_ machine: MachineObservations) -> [Finding] {
    Diagnosis(machine).findings.filter { $0.weight != .fine }
  }

  @Test(
    "A trouble of the journal that has healed is a warning, and says so",
    arguments: [
      ("link.stuck", "request.completed"), ("link.barren", "request.completed"), ("services.gone", "services.back"),
      ("pairing.gone", "request.held"), ("store.failed", "store.recovered"), ("store.failed", "daemon.started"),
    ])
  func healed(_ trouble: String, by event: String) throws {
    let fields = ["peripheral": "P", "app": "A"]
    var machine = HealthyMachine.lock
    machine.change(Units.bluetooth) { $0.activeSince = nil }
    machine.record(event, ago: 9000, fields)
    machine.record(trouble, ago: 7200, fields)
    // Others' good news do not count, nor what came before.
    if event != "daemon.started", event != "store.recovered" {
      machine.record(event, ago: 3600, ["peripheral": "Q", "app": "B"])
    }
    if event != "daemon.started", event != "store.recovered" {
      #expect(found(machine).map(\.weight) == [.broken])
    }
    machine.record(event, ago: 1800, fields)
    #expect(found(machine).map(\.weight) == [.warning])
    #expect(found(machine).first?.found.contains("healed") == true)
    machine.record(trouble, ago: 60, fields)
    #expect(found(machine).map(\.weight) == [.broken])
    #expect(found(machine).first?.found.contains("2 times") == true)
  }

  @Test("H7: failed starts from before a start that has lasted are none of today's troubles: as before a setup")
  func setUpSince() {
    var machine = HealthyMachine.lock
    for ago in [5000, 4990, 4960, 4900] { machine.record("app.launchFailed", ago: Double(ago), ["app": "A"]) }
    #expect(found(machine).map(\.weight) == [.broken])
    machine.record("app.launched", ago: 4000, ["app": "B"])
    #expect(found(machine).map(\.weight) == [.broken], "another app's start says nothing")
    // The setup ends the app once more.
    machine.record("app.launched", ago: 3600, ["app": "A"])
    machine.record("app.ended", ago: 3595, ["app": "A"])
    #expect(found(machine).map(\.weight) == [.warning], "it was up for five seconds")
    machine.record("app.launched", ago: 3590, ["app": "A"])
    #expect(found(machine) == [])
    // It ends, as apps do, and is started again.
    machine.record("app.ended", ago: 1000, ["app": "A"])
    #expect(found(machine) == [])
    machine.record("app.launchFailed", ago: 900, ["app": "A"])
    let now = found(machine)
    #expect(now.map(\.weight) == [.broken])
    #expect(now.first?.found.contains("times") == false, "those from before the setup don't count")
    machine.record("app.launched", ago: 30, ["app": "A"])
    #expect(found(machine).map(\.weight) == [.warning], "half a minute is too soon to tell")
    #expect(found(machine).first?.found.contains("healed") == true)
  }

  @Test("H7: an app that needs several attempts again and again is a trouble, although it was up each time")
  func failsAgainAndAgain() {
    var machine = HealthyMachine.lock
    for day in [3.0, 2, 1] {
      #expect(found(machine) == [])
      machine.record("app.launchFailed", ago: day * 86_400, ["app": "A"])
      machine.record("app.launched", ago: day * 86_400 - 20, ["app": "A"])
    }
    #expect(found(machine).map(\.weight) == [.warning])
    #expect(found(machine).first?.found.contains("3 times") == true)
  }

  @Test("A stuck link is over when bluetoothd has been restarted since")
  func stuckLink() {
    var machine = HealthyMachine.phone
    machine.record("link.stuck", ago: 7200, ["peripheral": "P"])
    machine.change(Units.bluetooth) { $0.activeSince = 1_799_996_400 }
    #expect(found(machine).map(\.weight) == [.warning])
    machine.change(Units.bluetooth) { $0.activeSince = 1_799_991_000 }
    #expect(found(machine).map(\.weight) == [.broken])
    #expect(found(machine).first?.mend == "systemctl restart bluetooth.service")
  }

  @Test("The journal's own advice comes first in what to do")
  func advice() {
    var machine = HealthyMachine.phone
    machine.record("link.barren", ["peripheral": "P", "advice": "Pair it again."])
    #expect(found(machine).first?.mend?.hasPrefix("Pair it again.") == true)
    #expect(found(machine).first?.mend?.contains("bluetoothctl") == true)
  }

  @Test("A8: where the device has to forget the pairing, nobody is sent to this machine's list of pairings")
  func adviceAboutDevice() {
    var machine = HealthyMachine.phone
    machine.record("links.brief", ["peripheral": "P", "advice": "Press its button."])
    #expect(found(machine).first?.mend == "Press its button.")
  }

  @Test("Troubles of different devices are findings of their own, in the order in which they were last seen")
  func perDevice() {
    var machine = HealthyMachine.phone
    for device in ["P", "Q", "P"] { machine.record("link.barren", ["peripheral": device]) }
    machine.journal = .known(
      (machine.journal.content ?? []).enumerated().map { index, event in
        JournaledEvent(event: event.event, unixSeconds: event.unixSeconds + Double(index), fields: event.fields)
      })
    let devices = found(machine).map { $0.found.contains("P") ? "P" : "Q" }
    #expect(devices == ["Q", "P"])
  }

  @Test("Doctor: an adapter that is blocked is no fault where latchkeyd uses another that is on")
  func otherBlocked() {
    var machine = HealthyMachine.lock
    let address = "C0:DE:00:00:00:02"
    machine.switches = [
      RadioSwitch(name: "hci0", isSoftBlocked: true, isHardBlocked: true),
      RadioSwitch(name: "hci1", isSoftBlocked: false, isHardBlocked: false),
    ]
    machine.controllers = ["hci0", "hci1"]
    var other = HealthyMachine.adapter("hci0", "C0:DE:00:00:00:01")
    (other.isPowered, other.powerState) = (false, .blocked)
    machine.adapters = .known([other, HealthyMachine.adapter("hci1", address, advertising: true)])
    machine.latchkeyd.process?.arguments += ["--adapter", address.lowercased()]
    #expect(found(machine).isEmpty, "\(found(machine))")
    // The other way round, it is.
    machine.latchkeyd.process?.arguments = ["latchkeyd", "--adapter=hci0"]
    #expect(found(machine).map(\.name) == [.adapterHardBlocked])
  }

  @Test("Doctor: without bluetoothd, one blocked controller of two is not taken for the one that is used")
  func oneOfTwoBlocked() {
    var machine = HealthyMachine.lock
    machine.bluetoothd.answer = .notThere
    machine.adapters = .hidden(reason: "bluetoothd does not run")
    machine.controllers = ["hci0", "hci1"]
    machine.switches = [
      RadioSwitch(name: "hci0", isSoftBlocked: true, isHardBlocked: false),
      RadioSwitch(name: "hci1", isSoftBlocked: false, isHardBlocked: false),
    ]
    #expect(found(machine).map(\.name) == [.bluetoothdStopped])
    machine.switches[1].isSoftBlocked = true
    #expect(found(machine).map(\.name) == [.bluetoothdStopped, .adapterSoftBlocked])
  }

  @Test("Doctor: a mask that ends with the boot has a command of its own", arguments: ["masked", "masked-runtime"])
  func masked(_ state: String) {
    var machine = HealthyMachine.lock
    machine.change(Units.daemon) {
      $0.loadState = "masked"
      $0.fileState = state
    }
    let option = state == "masked" ? "" : " --runtime"
    #expect(
      found(machine).first?.mend
        == "systemctl unmask\(option) latchkeyd.service && systemctl start latchkeyd.service")
  }

  @Test("Events that the doctor does not know are no findings")
  func foreignEvents() {
    var machine = HealthyMachine.phone
    machine.record("something.else")
    machine.record("")
    #expect(found(machine).isEmpty)
  }

  @Test(
    "BlueZ's known faults that latchkeyd works around are no findings, and are counted",
    arguments: [(BlueZVersion(5, 70), 2), (BlueZVersion(5, 82), 2), (BlueZVersion(5, 86), 0), (BlueZVersion(5, 87), 1)])
  func workedAround(_ version: BlueZVersion, count: Int) throws {
    var machine = HealthyMachine.phone
    machine.bluetoothd.version = .known(version)
    #expect(found(machine).isEmpty)
    let line = try #require(Diagnosis(machine).findings.first { $0.check == .bluetoothd }?.found)
    #expect(line.hasPrefix("bluetoothd \(version) runs"))
    #expect(line.contains("known fault") == (count > 0))
    #expect(KnownFault.bluetoothd.count { $0.concerns(version) } == count)
  }

  @Test("bluetoothd 5.66 advertises often enough for a lock with a setting, or with experimental interfaces")
  func advertising() {
    var machine = HealthyMachine.lock
    machine.bluetoothd.version = .known(BlueZVersion(5, 66))
    for (text, isFine) in [
      ("", false), ("[LE]\nMaxAdvertisementInterval=244", true), ("[General]\nExperimental=true", true),
      ("[LE]\nMaxAdvertisementInterval=2048", false), ("[LE]\nMaxAdvertisementInterval=often", false),
    ] {
      machine.settings = FaultTests.settings(text)
      #expect(found(machine).isEmpty == isFine, "\(text)")
    }
    machine = HealthyMachine.phone
    machine.bluetoothd.version = .known(BlueZVersion(5, 66))
    #expect(found(machine).isEmpty)
  }

  @Test("latchkeyd's adapter is the one that it was told, by name or address, and else the first by number")
  func usedAdapter() {
    var machine = HealthyMachine.phone
    machine.adapters = .known(
      ["hci10", "hci2", "hci1"].enumerated().map { HealthyMachine.adapter($1, "C0:DE:00:00:00:0\($0)") })
    #expect(MachineCheck.used(machine)?.name == "hci1")
    for (option, name) in [
      (["--adapter", "hci2"], "hci2"), (["--adapter=hci10"], "hci10"), (["--adapter", "c0:de:00:00:00:01"], "hci2"),
    ] {
      machine.latchkeyd.process?.arguments = option
      #expect(MachineCheck.used(machine)?.name == name)
      #expect(found(machine).isEmpty)
    }
    machine.latchkeyd.process?.arguments = ["--adapter"]
    #expect(MachineCheck.used(machine)?.name == "hci1")
  }

  @Test("The simulator stands in for bluetoothd: neither its settings nor its unit are looked at")
  func simulated() {
    var machine = HealthyMachine.phone
    machine.bluetoothd.isSimulator = true
    machine.bluetoothd.version = .known(BlueZVersion(5, 55))
    machine.settings = .hidden(reason: "no")
    machine.controllers = []
    machine.change(Units.bluetooth) { $0.loadState = "masked" }
    #expect(found(machine).isEmpty)
  }

  @Test("An agent that neither runs nor waits for a lock is a fault: nothing would ever start it")
  func neverOpened() {
    var machine = HealthyMachine.phone
    machine.changeStatus {
      $0.apps[0].pendingConnections = 0
      $0.apps[0].state = .notRunning
    }
    #expect(found(machine).map(\.name) == [.appWaitsForNothing])
    #expect(found(machine).map(\.weight) == [.broken])
  }

  @Test("An app that can't be started for want of keys is a warning beside the finding about the keys")
  func explained() {
    var machine = HealthyMachine.lock
    machine.changeKeys { $0.state = .missing }
    machine.record("app.launchFailed", ["app": SetupRole.lock.app, "error": "ended as soon as it was started"])
    #expect(found(machine).map(\.name) == [.keysMissing, .appLaunchFailed])
    #expect(found(machine).map(\.weight) == [.broken, .warning])
  }

  @Test("Where both apps are installed and one is set up, the other one's missing keys are no fault")
  func oneOfTwo() {
    var machine = HealthyMachine.phone
    machine.roles = [.lock, .phone]
    machine.keys[.lock] = .known(
      ObservedKeys(folder: SetupRole.lock.keyFolder, state: .missing, folderMode: 0o700, folderOwner: 0))
    machine.changeStatus { $0.apps.append(AppStatus(bundleIdentifier: SetupRole.lock.app, state: .notRunning)) }
    var units = machine.systemd.units ?? [:]
    units[SetupRole.lock.unit] = HealthyMachine.unit("latchkey-lock", fileState: "static", restart: "no")
    machine.systemd = .units(units)
    #expect(found(machine).isEmpty)
  }

  @Test("On a bare machine the faults are the causes, and nothing that only follows from them")
  func bare() {
    var machine = HealthyMachine.lock
    machine.roles = []
    machine.keys = [:]
    machine.bus = .hidden(reason: "no bus")
    machine.systemd = .absent
    machine.controllers = []
    machine.switches = []
    machine.adapters = .hidden(reason: "no bus")
    machine.bluetoothd.answer = .notThere
    machine.bluetoothd.isInstalled = false
    machine.latchkeyd = ObservedDaemon(answer: .notThere, isInstalled: false, version: .hidden(reason: ""))
    machine.store = .hidden(reason: "no")
    machine.clients = .hidden(reason: "no bus")
    machine.journal = .hidden(reason: "no journal")
    #expect(
      found(machine).map(\.name) == [
        .systemdMissing, .busMissing, .bluetoothdMissing, .adapterMissing, .latchkeydMissing,
      ])
  }
}
