import AppLink
import MachineSetup

extension MachineCheck {
  private static let restart = "systemctl restart latchkeyd.service"
  private static let journal = "journalctl --unit latchkeyd.service --lines 50"

  static func latchkeyd(_ machine: MachineObservations) -> [Finding] {
    let daemon = machine.latchkeyd
    switch daemon.answer {
    case .notThere: return notThere(machine)
    case .refused:
      return [
        Finding(
          .latchkeydRefused, "latchkeyd runs, but does not let this user ask it",
          because: "only root and members of the group latchkey may; so its state and its apps are not known here",
          mend: "sudo latchkey doctor")
      ] + version(machine)
    case .silent(let reason):
      return [
        Finding(
          .latchkeydSilent, "latchkeyd is on the bus, but does not answer: \(reason)",
          because: "while it hangs, no request comes true and no app is started", mend: restart)
      ]
    case .otherForm(let reason):
      return [
        Finding(
          .latchkeydOtherVersion, "latchkeyd answers in a form that this command does not know: \(reason)",
          because: "it is of another version, so its state and its apps are not known here",
          mend: "install the same version of latchkey and latchkeyd, then: \(restart)")
      ]
    case .status(let status):
      let findings = version(machine) + bluetooth(status, machine)
      guard findings.isEmpty else { return findings }
      let waits = status.bluetooth == .poweredOn ? "has Bluetooth" : "waits for its adapter"
      return [.fine(.latchkeyd, "latchkeyd \(daemon.version.content ?? machine.version) answers, and \(waits)")]
    }
  }

  private static func notThere(_ machine: MachineObservations) -> [Finding] {
    guard machine.latchkeyd.isInstalled else {
      return [
        Finding(
          .latchkeydMissing, "latchkeyd is not installed",
          because: "it holds the requests of apps that do not run; without it nothing is held",
          mend: "apt install ./latchkeyd_*.deb, then: latchkey setup lock, or latchkey setup phone")
      ]
    }
    // Those faults have findings of their own, which say what to do.
    guard machine.bus.content != nil, machine.systemd != .absent else { return [] }
    if let unit = machine.systemd.units?[Units.daemon], unit.activeState == "failed" || unit.loadState == "masked" {
      return []
    }
    return [
      Finding(
        .latchkeydStopped, "latchkeyd does not run",
        because: "it holds the requests of apps that do not run; meanwhile none of them comes true",
        mend: "systemctl enable --now latchkeyd.service")
    ]
  }

  private static func version(_ machine: MachineObservations) -> [Finding] {
    if machine.latchkeyd.process?.isReplaced == true {
      return [
        Finding(
          .latchkeydReplaced, "latchkeyd runs from a program that has been replaced since, as by an upgrade",
          because: "what the upgrade mended is not in force yet", mend: restart)
      ]
    }
    switch machine.latchkeyd.version {
    case .known(machine.version): return []
    case .known(let other):
      return [
        Finding(
          .latchkeydOtherVersion, "latchkeyd is version \(other), and this command is version \(machine.version)",
          because: "they may not understand each other",
          mend: "apt install ./latchkeyd_*.deb ./latchkey_*.deb, then: \(restart)")
      ]
    case .hidden(let reason):
      return [
        Finding(
          .latchkeydVersionHidden, "latchkeyd's version can't be told: \(reason)",
          because: "another version may not understand this command", mend: "sudo latchkey doctor")
      ]
    }
  }

  private static func bluetooth(_ status: SystemStatus, _ machine: MachineObservations) -> [Finding] {
    // An adapter that is missing, blocked or off is the adapter's finding.
    guard used(machine)?.isPowered == true, status.bluetooth != .poweredOn else { return [] }
    if status.bluetooth == .poweredOff {
      return [
        Finding(
          .latchkeydSwitchedOff, "the user's switch for Bluetooth is off in latchkeyd",
          because: "latchkeyd connects nothing while it is off, even after a reboot", mend: "latchkey bluetooth on")
      ]
    }
    return [
      Finding(
        .latchkeydBlind, "bluetoothd has an adapter that is on, but latchkeyd does not see it (\(status.bluetooth))",
        because: "latchkeyd connects nothing without an adapter", mend: "\(restart); if that does not help: \(journal)")
    ]
  }

  static func apps(_ machine: MachineObservations) -> [Finding] {
    guard case .status(let status) = machine.latchkeyd.answer else { return [] }
    guard !machine.roles.isEmpty else {
      let others = status.apps.map(\.bundleIdentifier).sorted()
      guard others.isEmpty else {
        return [.fine(.apps, "neither a lock nor a phone; other apps: \(others.joined(separator: ", "))")]
      }
      return [
        Finding(
          .noApp, "latchkeyd has no app", because: "there is nobody here whose requests it could hold",
          mend: "apt install ./latchkey-lock_*.deb, or ./latchkey-agent_*.deb, then: latchkey setup")
      ]
    }
    let findings = machine.roles.sorted { $0.rawValue < $1.rawValue }.flatMap { role in
      judge(role, status.apps.first { $0.bundleIdentifier == role.app }, machine)
    }
    return findings
  }

  private static func judge(_ role: SetupRole, _ app: AppStatus?, _ machine: MachineObservations) -> [Finding] {
    guard let app else {
      return [
        Finding(
          .appMissing, "latchkeyd does not know \(role.app), though it is installed",
          because: "latchkeyd starts only apps that it knows; it looks for them when it starts", mend: restart)
      ]
    }
    // Without keys it has nothing to do, and the keys have a finding of their own.
    if case .known(let keys)? = machine.keys[role], keys.isIncomplete { return [] }
    let open = "latchkey open \(role.app)"
    if app.quitByUser {
      return [
        Finding(
          .appQuit, "the \(role.rawValue) was quit by its user (\(role.app))",
          because: "an app that was quit is not started again, whatever happens, until its user opens it", mend: open)
      ]
    }
    if role == .lock, app.state == .notRunning {
      return [
        Finding(
          .appStopped, "the lock does not run (\(role.app))",
          because: "no phone can open the door while its lock does not run",
          mend: "journalctl --unit \(role.unit) --lines 50; then: \(open)")
      ]
    }
    var findings: [Finding] = []
    if role == .phone, app.pendingConnections + app.connections == 0 {
      findings.append(
        Finding(
          // An app that runs may be looking for its lock for the first time.
          .appWaitsForNothing, weight: app.state == .notRunning ? .broken : .warning,
          "the phone's agent waits for no lock (\(role.app))",
          because: "without a request, no link comes up when its owner comes home",
          mend: "\(open) && latchkey leave \(role.app)"))
    }
    if let alert = app.alert {
      findings.append(
        Finding(
          .appAsks, "\(role.app) asks its user: \(alert)", because: "it does nothing until its user has answered",
          mend: role == .phone ? "latchkey unlock" : "latchkey status"))
    }
    guard findings.isEmpty else { return findings }
    let what =
      role == .lock
      ? "the lock runs" : app.connections > 0 ? "the phone is connected" : "the phone's request for its lock is held"
    return [.fine(.apps, "\(what) (\(role.app), \(app.state.rawValue))")]
  }
}

extension ObservedKeys {
  /// Whether the app can't do its work with these keys.
  var isIncomplete: Bool {
    switch state {
    case .lock(let phones): phones == 0
    case .phone, .open: false
    case .missing, .pendingPhone, .unusable: true
    }
  }
}
