import MachineSetup

extension MachineCheck {
  /// The adapter that latchkeyd uses: the one that it was told to use, or the first by name.
  static func used(_ machine: MachineObservations) -> ObservedAdapter? {
    guard let adapters = machine.adapters.content else { return nil }
    guard let wanted = machine.latchkeyd.process?.option("--adapter") else {
      return adapters.min { ($0.name.count, $0.name) < ($1.name.count, $1.name) }
    }
    return adapters.first { $0.name == wanted || $0.address.uppercased() == wanted.uppercased() }
  }

  static func adapter(_ machine: MachineObservations) -> [Finding] {
    guard let adapters = machine.adapters.content else {
      // Without bluetoothd, the kernel still tells whether there is a controller.
      let blocked = Self.blocked(machine, nil)
      return machine.controllers.isEmpty && blocked.isEmpty ? [Self.noController] : blocked
    }
    guard !adapters.isEmpty else {
      guard let controller = machine.controllers.first else {
        // The switch of a laptop takes the controller away.
        let blocked = Self.blocked(machine, nil)
        return blocked.isEmpty ? [Self.noController] : blocked
      }
      return [
        Finding(
          .adapterUnserved, "the kernel has the controller \(controller), and bluetoothd does not",
          because: "bluetoothd can't use it, so no link comes up",
          mend: "systemctl restart bluetooth.service; if that does not help: dmesg | grep -i bluetooth")
      ]
    }
    guard let adapter = used(machine) else {
      let wanted = machine.latchkeyd.process?.option("--adapter") ?? ""
      return [
        Finding(
          .adapterOtherWanted,
          "latchkeyd is to use the adapter \(wanted), and there is only \(adapters.map(\.name).joined(separator: ", "))",
          because: "latchkeyd waits for that adapter, and connects nothing until it comes",
          mend: "plug it in, or name another in /etc/default/latchkeyd, then: systemctl restart latchkeyd.service")
      ]
    }
    guard adapter.isPowered else {
      return Self.blocked(machine, adapter).first.map { [$0] } ?? [Self.off(adapter, machine)]
    }
    guard Self.hasAddress(adapter) else { return [Self.addressless(adapter)] }
    var findings: [Finding] = [
      .fine(.adapter, "\(adapter.name) (\(adapter.address)) is on, and latchkeyd's choice")
    ]
    if adapters.count > 1, machine.latchkeyd.process?.option("--adapter") == nil {
      findings = [
        Finding(
          .adapterUnchosen, "there are \(adapters.count) adapters, and latchkeyd uses the first, \(adapter.name)",
          because: "after a boot another may be the first, and the pairings are this one's",
          mend: "echo LATCHKEYD_OPTIONS=--adapter \(adapter.address) >> /etc/default/latchkeyd && "
            + "systemctl restart latchkeyd.service")
      ]
    }
    return findings
  }

  private static let noController = Finding(
    .adapterMissing, "this machine has no Bluetooth adapter that Linux knows",
    because: "nothing can be heard or said without a radio",
    mend: "plug one in; if there is one: dmesg | grep -i bluetooth")

  /// Some cheap controllers, and some whose firmware was not loaded, have none.
  private static func hasAddress(_ adapter: ObservedAdapter) -> Bool {
    !adapter.address.isEmpty && adapter.address != "00:00:00:00:00:00"
  }

  private static func addressless(_ adapter: ObservedAdapter) -> Finding {
    Finding(
      .adapterWithoutAddress, "\(adapter.name) has no address of its own",
      because: "a pairing is made between two addresses, so none with this adapter lasts",
      mend: "dmesg | grep -i bluetooth shows whether its firmware is missing; otherwise use another adapter")
  }

  /// - Parameter adapter: the one that latchkeyd uses; `nil` if bluetoothd does not tell.
  private static func blocked(_ machine: MachineObservations, _ adapter: ObservedAdapter?) -> [Finding] {
    func isController(_ one: RadioSwitch) -> Bool { one.name.hasPrefix("hci") }
    // A controller that is not blocked can be used, whatever the others are.
    let hasOpenOne = machine.switches.contains { isController($0) && !$0.isSoftBlocked && !$0.isHardBlocked }
    // A switch with another name is the machine's, and concerns all controllers.
    let switches = machine.switches.filter {
      !isController($0) || (adapter.map(\.name) ?? (hasOpenOne ? "" : $0.name)) == $0.name
    }
    if let hard = switches.first(where: \.isHardBlocked) {
      return [
        Finding(
          .adapterHardBlocked, "\(hard.name) is blocked by a switch of the machine",
          because: "no link comes up until the switch is turned",
          mend: "turn on the machine's own switch for radios, or in its firmware's settings")
      ]
    }
    if let soft = switches.first(where: \.isSoftBlocked) {
      return [
        Finding(
          .adapterSoftBlocked, "\(soft.name) is blocked (rfkill)", because: "no link comes up while it is blocked",
          mend: "rfkill unblock bluetooth")
      ]
    }
    return []
  }

  private static func off(_ adapter: ObservedAdapter, _ machine: MachineObservations) -> Finding {
    // bluetoothd knows of a block even where /sys/class/rfkill can't be read.
    if adapter.powerState == .blocked {
      return Finding(
        .adapterSoftBlocked, "\(adapter.name) is blocked", because: "no link comes up while it is blocked",
        mend: "rfkill unblock bluetooth, or the machine's own switch")
    }
    return Finding(
      .adapterOff, "the adapter \(adapter.name) is off", because: "no link comes up while it is off",
      mend: "latchkey bluetooth on")
  }

  static func controller(_ machine: MachineObservations) -> [Finding] {
    guard let adapter = used(machine), adapter.isPowered else { return [] }
    var findings: [Finding] = []
    let isLock = machine.roles.contains(.lock)
    let isPhone = machine.roles.contains(.phone)
    let other = "use another adapter, and name it in /etc/default/latchkeyd (LATCHKEYD_OPTIONS=--adapter hci1)"
    if let roles = adapter.roles {
      if isPhone, !roles.contains("central") {
        findings.append(
          Finding(
            .noCentral, "\(adapter.name) can't be a central",
            because: "a phone makes the links, so its controller has to be one", mend: other))
      }
      if isLock, !roles.contains("peripheral") {
        findings.append(
          Finding(
            .noPeripheral, "\(adapter.name) can't be a peripheral",
            because: "a lock advertises and is connected to, so its controller has to be one", mend: other))
      }
      if isLock, isPhone, roles.contains("central"), roles.contains("peripheral"),
        !roles.contains("central-peripheral")
      {
        findings.append(
          Finding(
            .oneRoleAtATime, "\(adapter.name) can't be a lock's and a phone's controller at the same time",
            because: "while a phone is connected to this machine's lock, this machine's own request does not come true",
            mend: "use two adapters, each with a latchkeyd of its own (man latchkeyd)"))
      }
    }
    let canAdvertise = adapter.advertisements.map { $0.active + $0.free > 0 } ?? false
    if isLock, adapter.roles?.contains("peripheral") ?? true, !canAdvertise {
      findings.append(
        Finding(
          .noAdvertising, "\(adapter.name) can't advertise",
          because: "a phone finds the lock by its advertisement", mend: other))
    }
    return findings.isEmpty ? [.fine(.controller, features(adapter))] : findings
  }

  /// Debian's bluetoothd tells of it only with `Experimental = true` in main.conf.
  private static let linkLayerPrivacy = "15c0a148-c273-11ea-b3de-0242ac130004"

  private static func features(_ adapter: ObservedAdapter) -> String {
    let roles =
      switch adapter.roles {
      case nil: "bluetoothd does not tell its roles"
      case let roles? where roles.contains("central-peripheral"): "central and peripheral at the same time"
      case let roles?: roles.joined(separator: " or ")
      }
    let room = adapter.advertisements.map { "\($0.active) of \($0.active + $0.free) advertisements used" }
    let privacy = adapter.experimentalFeatures.map {
      $0.contains(linkLayerPrivacy) ? "LL privacy is on" : "LL privacy is off"
    }
    return "\(adapter.name): " + [roles, room, privacy].compactMap(\.self).joined(separator: "; ")
  }
}
