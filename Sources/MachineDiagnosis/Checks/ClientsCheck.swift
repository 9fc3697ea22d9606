extension MachineCheck {
  static func clients(_ machine: MachineObservations) -> [Finding] {
    guard machine.bus.content != nil else { return [] }
    var findings: [Finding] = []
    let clients = machine.clients.content ?? []
    let names = clients.map { "\($0.name) (\($0.process))" }.sorted()
    let suspects = names.isEmpty ? "" : "; it may be \(names.joined(separator: " or "))"
    let adapter = used(machine)
    if machine.roles.contains(.phone), let adapter, adapter.isDiscovering {
      findings.append(
        Finding(
          .discovering, "\(adapter.name) looks for devices all the time: some client has a discovery open\(suspects)",
          because: "while it does, the controller does not wait for bonded devices by itself, and links come late",
          mend: names.isEmpty ? "bluetoothctl scan off, or close the program that looks for devices" : "close it"))
    }
    if machine.roles == [.phone], let adapter, let count = adapter.advertisements?.active, count > 0 {
      findings.append(
        Finding(
          .otherAdvertising, "\(adapter.name) advertises for another program\(suspects)",
          because: "others can connect to this machine, and some controllers then make no links themselves",
          mend: "close the program that advertises"))
    }
    if findings.isEmpty, !names.isEmpty {
      findings.append(
        Finding(
          .otherClients, "other programs use bluetoothd: \(names.joined(separator: ", "))",
          because: "bluetoothd lets any of them end a link or remove a pairing, for all others as well",
          mend: "close them while a request is held, and never remove the other machine there"))
    }
    if case .hidden(let reason) = machine.clients {
      findings.append(
        Finding(
          .clientsHidden, "who else uses bluetoothd can't be told: \(reason)",
          because: "another client can end links and remove pairings", mend: "sudo latchkey doctor"))
    }
    guard findings.isEmpty else { return findings }
    return [
      .fine(.clients, "no other client of bluetoothd that is known by name (it does not tell who its clients are)")
    ]
  }

  /// Programs that open discoveries, answer pairings, or connect on their own, by the name of their process, which the
  /// kernel cuts at 15 bytes.
  static let knownClients: Set<String> = [
    "bluetoothctl", "blueman-applet", "blueman-manager", "blueman-tray", "blueberry-tray", "bluetuith",
    "bluedevil-wizar", "gnome-control-c", "hass", "bt-adapter", "bt-agent", "bt-device", "overskride",
  ]
}
