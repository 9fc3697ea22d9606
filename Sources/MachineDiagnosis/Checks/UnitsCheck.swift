import MachineSetup

enum Units {
  static let daemon = "latchkeyd.service"
  static let bluetooth = "bluetooth.service"

  /// The units that matter on a machine with these roles, in the order in which they depend on each other.
  static func names(_ roles: Set<SetupRole>) -> [String] {
    [bluetooth, daemon] + roles.map(\.unit).sorted()
  }
}

extension MachineCheck {
  static func rights(_ machine: MachineObservations) -> [Finding] {
    // On another bus there is neither our policy nor a unit.
    guard let bus = machine.bus.content, bus.isSystemBus, machine.latchkeyd.isInstalled,
      machine.systemd.units != nil
    else { return [] }
    var findings: [Finding] = []
    let reinstall = "apt install --reinstall ./latchkeyd_*.deb"
    if machine.rights.hasPolicy == .known(false) {
      findings.append(
        Finding(
          .noPolicy, "latchkeyd's bus policy is missing (/usr/share/dbus-1/system.d/org.latchkey.System1.conf)",
          because: "the bus then does not let latchkeyd have its name, nor apps call it", mend: reinstall))
    }
    if machine.rights.hasPolkitRules == .known(false) {
      findings.append(
        Finding(
          .noPolkitRules, "latchkeyd's polkit rules are missing (/usr/share/polkit-1/rules.d/50-latchkey.rules)",
          because: "systemd then does not let latchkeyd start its apps", mend: reinstall))
    }
    if case .hidden(let reason)? = [machine.rights.hasPolicy, machine.rights.hasPolkitRules].first(where: {
      $0.content == nil
    }) {
      findings.append(
        Finding(
          .rightsHidden, "not all of latchkeyd's policies can be looked for: \(reason)",
          because: "without them it may not start its apps", mend: "sudo latchkey doctor"))
    }
    let polkit = "org.freedesktop.PolicyKit1"
    if !bus.names.contains(polkit), !bus.activatable.contains(polkit) {
      findings.append(
        Finding(
          .noPolkit, "polkit is not installed", because: "systemd asks it whether latchkeyd may start its apps",
          mend: "apt install polkitd"))
    }
    if let process = machine.latchkeyd.process, process.unit != nil, process.unit != Units.daemon {
      findings.append(
        Finding(
          .foreignOwner,
          "org.latchkey.System1 belongs to process \(process.identifier), which is not of \(Units.daemon)",
          because: "nobody starts that process again, and the unit can't have the name meanwhile",
          mend: "kill \(process.identifier) && systemctl restart \(Units.daemon)"))
    }
    return findings.isEmpty ? [.fine(.rights, "latchkeyd has the rights that it needs")] : findings
  }

  static func units(_ machine: MachineObservations) -> [Finding] {
    guard let units = machine.systemd.units else { return [] }
    let names = Units.names(machine.roles).filter { name in
      switch name {
      // The simulator stands in for it.
      case Units.bluetooth: machine.bluetoothd.isInstalled && !machine.bluetoothd.isSimulator
      case Units.daemon: machine.latchkeyd.isInstalled
      default: true
      }
    }
    let findings = names.flatMap { judge($0, units[$0]) }
    guard findings.isEmpty, !names.isEmpty else { return findings }
    let active = names.filter { units[$0]?.activeState == "active" }
    return [
      .fine(
        .units,
        active.isEmpty ? "no unit is in the way" : "\(active.joined(separator: ", ")): active, as they should be")
    ]
  }

  private static func judge(_ name: String, _ unit: ObservedUnit?) -> [Finding] {
    guard let unit, unit.loadState != "not-found" else {
      return [
        Finding(
          .unitMissing, "systemd does not know \(name)", because: "it can't start what it does not know",
          mend: "systemctl daemon-reload; if that does not help, install its package again")
      ]
    }
    if unit.loadState == "masked" || unit.fileState.hasPrefix("masked") {
      // A mask that ends with the next boot needs another option to be removed.
      let scope = unit.fileState == "masked-runtime" ? "--runtime " : ""
      return [
        Finding(
          .unitMasked, "\(name) is masked", because: "systemd does not start a masked unit, whoever asks",
          mend: "systemctl unmask \(scope)\(name) && systemctl start \(name)")
      ]
    }
    var findings: [Finding] = []
    let isApp = name != Units.daemon && name != Units.bluetooth
    if !isApp, unit.fileState == "disabled" {
      findings.append(
        Finding(
          .unitDisabled, "\(name) is disabled", because: "after the next boot it does not run",
          mend: "systemctl enable --now \(name)"))
    }
    if unit.activeState == "failed" {
      findings.append(
        Finding(
          .unitFailed, "\(name) has failed (\(unit.result))", because: "systemd has given it up",
          mend: "journalctl --unit \(name) --lines 50, mend what it says, then: systemctl restart \(name)"))
    }
    if unit.restarts >= restartLimit {
      findings.append(
        Finding(
          .unitRestarting, "\(name) has ended and been restarted \(unit.restarts) times",
          because: "links and registrations are made anew each time, and a request that comes true meanwhile waits",
          mend: "journalctl --unit \(name) --grep 'exited|killed|dumped'"))
    }
    findings += rules(name, unit, isApp: isApp)
    if unit.needsReload {
      findings.append(
        Finding(
          .unitStale, "the files of \(name) have changed since systemd read them",
          because: "what they say now is not in force", mend: "systemctl daemon-reload && systemctl restart \(name)"))
    }
    return findings
  }

  /// The most restarts that are not a fault. A crash now and then is healed by the restart.
  static let restartLimit = 5

  /// Settings of the unit files that no drop-in may change.
  private static func rules(_ name: String, _ unit: ObservedUnit, isApp: Bool) -> [Finding] {
    let places = unit.dropIns.isEmpty ? "" : " (see \(unit.dropIns.joined(separator: ", ")))"
    var findings: [Finding] = []
    if !isApp, ["no", ""].contains(unit.restart) {
      findings.append(
        Finding(
          .unitNotRestarted, "\(name) is not restarted after a crash\(places)",
          because: "a crash then ends every link until somebody starts it by hand",
          mend: name == Units.bluetooth
            ? "apt install --reinstall ./latchkeyd_*.deb, whose drop-in has Restart=on-failure"
            : "systemctl revert \(name)"))
    }
    if isApp, unit.watchdogMicroseconds > 0 {
      findings.append(
        Finding(
          .unitWatched, "\(name) has a watchdog\(places)",
          because: "latchkeyd can't suspend it, since the watchdog would kill an app that is frozen",
          mend: "systemctl revert \(name)"))
    }
    let user = name == Units.daemon ? "latchkey" : String(name.prefix { $0 != "." })
    if name != Units.bluetooth, unit.user != user || !unit.hasNoNewPrivileges {
      findings.append(
        Finding(
          .unitLoosened, "\(name) runs with more rights than it was made for\(places)",
          because:
            "an attacker who takes it over gets them as well; it should run as \(user), with NoNewPrivileges=yes",
          mend: "systemctl revert \(name) && systemctl restart \(name)"))
    }
    return findings
  }
}
