extension MachineCheck {
  static func bluetoothd(_ machine: MachineObservations) -> [Finding] {
    let daemon = machine.bluetoothd
    if daemon.isSimulator, daemon.answer == .answered {
      return [.fine(.bluetoothd, "bluez-simulator stands in for bluetoothd: the radio is simulated")]
    }
    let restart = "systemctl restart bluetooth.service"
    switch daemon.answer {
    case .answered: break
    case .silent(let reason):
      return [
        Finding(
          .bluetoothdSilent, "bluetoothd does not answer: \(reason)",
          because: "no link comes up while bluetoothd hangs", mend: restart)
      ]
    case .notThere:
      guard daemon.isInstalled else {
        return [
          Finding(
            .bluetoothdMissing, "bluetoothd is not installed",
            because: "latchkeyd reaches the radio through bluetoothd only", mend: "apt install bluez")
        ]
      }
      // Without a bus it can't run, and without a controller its unit does not start. Those faults have findings of
      // their own.
      guard machine.bus.content != nil, !machine.controllers.isEmpty else { return [] }
      return [
        Finding(
          .bluetoothdStopped, "bluetoothd does not run",
          because: "no link comes up without it, and nothing else starts it",
          mend: "systemctl enable --now bluetooth.service")
      ]
    }
    var findings: [Finding] = []
    if daemon.isReplaced {
      findings.append(
        Finding(
          .bluetoothdReplaced, "bluetoothd runs from a program that has been replaced since, as by an upgrade",
          because: "the faults that the upgrade mended are still there", mend: restart))
    }
    switch daemon.version {
    case .known(let version): findings += Self.judge(version)
    case .hidden(let reason):
      findings.append(
        Finding(
          .bluetoothdVersionHidden, "bluetoothd runs, but its version can't be told: \(reason)",
          because: "its known faults depend on its version", mend: "bluetoothd --version"))
    }
    if let kernel = BlueZVersion(in: daemon.kernel) {
      findings += KnownFault.kernel.filter { $0.concerns(kernel) }.compactMap { fault in
        fault.because.map {
          Finding(.kernelKnownFault, "Linux \(kernel): \(fault.what)", because: $0, mend: fault.mend)
        }
      }
    }
    return findings
  }

  private static func judge(_ version: BlueZVersion) -> [Finding] {
    let known = KnownFault.bluetoothd.filter { $0.concerns(version) }
    let healed = known.filter { $0.because == nil }
    let around =
      switch healed.count {
      case 0: ""
      case 1: "; latchkeyd works around one known fault of it: \(healed[0].what)"
      default: "; latchkeyd works around \(healed.count) known faults of it"
      }
    var findings: [Finding] = [.fine(.bluetoothd, "bluetoothd \(version) runs\(around)")]
    if version < KnownFault.firstTried {
      findings = [
        Finding(
          .bluetoothdUntried, "bluetoothd \(version) is older than \(KnownFault.firstTried)",
          because: "latchkeyd was never tried with it", mend: "apt update && apt install --only-upgrade bluez")
      ]
    }
    return findings
      + known.compactMap { fault in
        fault.because.map {
          Finding(.bluetoothdKnownFault, "bluetoothd \(version): \(fault.what)", because: $0, mend: fault.mend)
        }
      }
  }

  static func settings(_ machine: MachineObservations) -> [Finding] {
    // The settings matter only to bluetoothd itself.
    guard machine.bluetoothd.isInstalled, !machine.bluetoothd.isSimulator else { return [] }
    let settings: BluetoothSettings
    switch machine.settings {
    case .known(let known): settings = known
    case .hidden(let reason):
      return [
        Finding(
          .settingsHidden, "bluetoothd's settings can't be read: \(reason)",
          because: "some of them keep links from coming up", mend: "sudo latchkey doctor")
      ]
    }
    let findings = Self.judge(settings, machine)
    guard findings.isEmpty else { return findings }
    let pace = machine.roles.contains(.lock) && !linksFast(settings) ? "; \(slowLinks)" : ""
    return [.fine(.settings, "no setting of bluetoothd's is in the way\(pace)")]
  }

  /// For a lock with bluetoothd's default settings. Its links could be faster, because a command goes out several
  /// events after the link has come up.
  private static let slowLinks =
    "its links have 30 to 50 ms between two events, and would have 7.5 to 15 ms with `latchkey setup lock --radio-settings`"

  /// Whether the longest interval of links is short enough. The setting is in units of 1.25 ms.
  private static func linksFast(_ settings: BluetoothSettings) -> Bool {
    settings[section: "LE", key: "MaxConnectionInterval"].flatMap(Int.init).map { (6...24).contains($0) } ?? false
  }

  private static let file = "/etc/bluetooth/main.conf"

  private static func judge(_ settings: BluetoothSettings, _ machine: MachineObservations) -> [Finding] {
    var findings: [Finding] = []
    func add(_ fault: Fault, _ found: String, because: String, set: String) {
      findings.append(
        Finding(
          fault, "\(file): \(found)", because: because,
          mend: "set \(set) in \(file), then: systemctl restart bluetooth.service"))
    }
    if let line = settings.malformedLines.first {
      add(
        .settingsMalformed, "line \(line) can't be understood",
        because: "bluetoothd then ignores the whole file, and with it all of your settings", set: "that line right")
    }
    if settings[section: "General", key: "ControllerMode"] == "bredr" {
      add(
        .noLowEnergy, "ControllerMode = bredr", because: "Low Energy is off, so nothing of Latchkey works",
        set: "ControllerMode = dual")
    }
    if machine.roles.contains(.phone), !settings.isOn("General", "ReverseServiceDiscovery", byDefault: true) {
      add(
        .noClient, "ReverseServiceDiscovery = false",
        because: "bluetoothd then never asks for a lock's services, so a phone can't talk to it",
        set: "ReverseServiceDiscovery = true")
    }
    if !settings.isOn("Policy", "AutoEnable", byDefault: true) {
      add(
        .adapterStaysOff, "AutoEnable = false",
        because: "after a boot the adapter is off until latchkeyd asks for it, and stays off while latchkeyd can't",
        set: "AutoEnable = true")
    }
    if settings[section: "GATT", key: "Cache"] == "no" {
      add(
        .noCache, "Cache = no", because: "every link begins with a discovery of all services, so the door opens later",
        set: "Cache = always")
    }
    if let privacy = settings[section: "General", key: "Privacy"],
      ["network", "on", "limited-network"].contains(privacy)
    {
      add(
        .strictPrivacy, "Privacy = \(privacy)",
        because: "a bonded device that shows its own address, as Latchkey's lock does, is not heard",
        set: "Privacy = device")
    }
    if settings[section: "General", key: "JustWorksRepairing"] == "always" {
      add(
        .openRepairing, "JustWorksRepairing = always",
        because: "a stranger who pretends to be a paired device can replace its pairing, and cut it off",
        set: "JustWorksRepairing = never")
    }
    if settings[section: "General", key: "TemporaryTimeout"] == "0" {
      add(
        .noTemporaryDevices, "TemporaryTimeout = 0",
        because: "a device that was found is forgotten at once, so a first pairing may fail",
        set: "TemporaryTimeout = 30")
    }
    // Later versions take latchkeyd's own interval without a setting (docs/arrival.md).
    if machine.roles.contains(.lock), let version = machine.bluetoothd.version.content, version < BlueZVersion(5, 77),
      !settings.isOn("General", "Experimental", byDefault: false), !advertisesOften(settings)
    {
      add(
        .rareAdvertising, "bluetoothd \(version) advertises every 1.28 s",
        because: "a phone that comes home hears the door late, so that the door may ask instead of opening by itself",
        set: "MinAdvertisementInterval = 243 and MaxAdvertisementInterval = 243 under [LE]; "
          + "`latchkey setup lock --radio-settings` does that")
    }
    return findings
  }

  /// Whether the longest advertising interval is short enough. The setting is in units of 0.625 ms. latchkeyd asks for
  /// 152 ms, and half a second still shows an approach.
  private static func advertisesOften(_ settings: BluetoothSettings) -> Bool {
    settings[section: "LE", key: "MaxAdvertisementInterval"].flatMap(Int.init).map { (32...800).contains($0) } ?? false
  }
}
