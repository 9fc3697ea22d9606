extension MachineCheck {
  static func bus(_ machine: MachineObservations) -> [Finding] {
    switch machine.bus {
    case .known(let bus):
      [.fine(.bus, bus.isSystemBus ? "the system bus answers" : "the bus of DBUS_SYSTEM_BUS_ADDRESS answers")]
    case .hidden(let reason):
      [
        Finding(
          .busMissing, reason,
          because: "bluetoothd, latchkeyd and the apps talk to each other over the bus; without one none of them works",
          mend: machine.systemd == .absent
            ? "apt install dbus && service dbus start" : "systemctl start dbus.socket dbus.service")
      ]
    }
  }

  static func systemd(_ machine: MachineObservations) -> [Finding] {
    switch machine.systemd {
    case .units: [.fine(.systemd, "systemd runs this machine's services")]
    case .absent:
      [
        Finding(
          .systemdMissing, "this machine was not booted by systemd",
          because:
            "systemd starts latchkeyd at boot and after a crash; without it a request is lost to the next of these",
          mend: "apt install systemd-sysv, and reboot (a container needs one that boots systemd)")
      ]
    // A missing bus has a finding of its own.
    case .unreachable where machine.bus.content == nil: []
    case .unreachable(let reason):
      [
        Finding(
          .systemdHidden, "systemd can't be asked about its units: \(reason)",
          because: "it is not known whether latchkeyd is started again after a crash or a reboot",
          mend: machine.bus.content?.isSystemBus == false
            ? "env -u DBUS_SYSTEM_BUS_ADDRESS latchkey doctor" : "systemctl daemon-reexec")
      ]
    }
  }
}
