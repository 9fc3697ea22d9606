import Foundation

/// Installs Latchkey on new machines as a user would: the packages, then `latchkey setup` on the lock and its phones.
struct Installation {
  /// Each machine, with the folder of its packages.
  let machines: [(machine: RemoteMachine, packages: String?)]
  let tools: MachineTools
  let progress: @Sendable (String) -> Void

  private static let remoteFolder = "/root/latchkey-packages"

  /// Machines that already have Latchkey keep it, and their keys.
  func install() throws {
    var isNew = false
    for (machine, packages) in machines where try !isInstalled(machine) {
      guard let packages else {
        throw WorldError(
          "Latchkey is not installed on \(machine.name): name the folder of its packages (`make deb`) with `packages:`")
      }
      progress("installing Latchkey on \(machine.name)")
      try install(packages, on: machine)
      isNew = true
    }
    if isNew { try setUp() }
  }

  /// Gives bluetoothd the kind of addresses that the story wants, before they are used.
  func hideAddresses() throws {
    for (machine, _) in machines where machine.description.hasPrivateAddresses {
      progress("\(machine.name) takes private addresses")
      try machine.shell.run(
        "grep -q '^Privacy = device' /etc/bluetooth/main.conf || "
          + "sed -i 's/^\\[General\\]$/[General]\\nPrivacy = device/' /etc/bluetooth/main.conf; "
          + "grep -q '^Privacy = device' /etc/bluetooth/main.conf && systemctl restart bluetooth.service",
        limit: .seconds(180))
    }
  }

  private func isInstalled(_ machine: RemoteMachine) throws -> Bool {
    try machine.shell.perform("systemctl cat \(RemoteMachine.daemonUnit) >/dev/null 2>&1").end == .exited(0)
  }

  private func install(_ folder: String, on machine: RemoteMachine) throws {
    let names = ["latchkeyd", "latchkey"] + machine.description.apps.filter { !$0.isDescribed }.map(\.executable)
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    try machine.shell.run("rm -rf \(Self.remoteFolder) && mkdir \(Self.remoteFolder)")
    for name in names {
      guard let file = files.filter({ $0.hasPrefix("\(name)_") && $0.hasSuffix(".deb") }).max() else {
        throw WorldError("there is no package \(name) in \(folder): `make deb` builds them")
      }
      try machine.shell.copy(file: "\(folder)/\(file)", to: "\(Self.remoteFolder)/\(file)")
    }
    try machine.shell.run(
      "DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \(Self.remoteFolder)/*.deb",
      limit: .seconds(900))
  }

  /// Carries the lock's introduction to each phone, and each phone's to the lock. The machines are kept apart until
  /// that is done, so the lock knows each phone before they meet.
  private func setUp() throws {
    let all = machines.map(\.machine)
    let phones = all.filter { $0.description.apps.contains(.agent) }
    if let lock {
      progress("setting up \(([lock] + phones).map(\.name).joined(separator: ", "))")
      let lockText = try Self.setUp(lock, "lock")
      for phone in phones {
        if phone.description.isEnrolled {
          try introduce(phone, to: lock, lockText)
        } else {
          // The phone gets its keys in the course of the story.
          phone.introduction = try Self.setUp(phone, "phone")
        }
      }
    } else if !phones.isEmpty {
      throw WorldError("to set up phones their lock has to be there")
    }
    for machine in all {
      let apps = machine.description.apps.filter(\.isDescribed)
      guard !apps.isEmpty else { continue }
      progress("installing \(apps.map(\.name).joined(separator: ", ")) on \(machine.name)")
      for app in apps { try StoryUnit(app).install(on: machine, tools) }
    }
  }

  private var lock: RemoteMachine? { machines.map(\.machine).first { $0.description.apps.contains(.lock) } }

  /// Gives a phone and the lock each other's keys in the course of the story. The lock learns the phone's key first,
  /// because it would refuse a phone that came before that.
  func introduce(_ name: String) throws {
    guard let lock, let phone = machines.map(\.machine).first(where: { $0.name == name }) else {
      throw WorldError("the story has no lock that \(name) could be introduced to")
    }
    guard let text = phone.introduction else {
      throw WorldError("\(name) can't be provisioned: it was set up before the story")
    }
    let lockText = try Self.setUp(lock, "lock --phone \(SecureShell.quoted(text))")
    _ = try Self.setUp(phone, "phone --lock \(SecureShell.quoted(lockText))")
  }

  private func introduce(_ phone: RemoteMachine, to lock: RemoteMachine, _ lockText: String) throws {
    let phoneText = try Self.setUp(phone, "phone --lock \(SecureShell.quoted(lockText))")
    phone.introduction = phoneText
    _ = try Self.setUp(lock, "lock --phone \(SecureShell.quoted(phoneText))")
  }

  /// - Returns: the text that introduces this machine to the other side.
  private static func setUp(_ machine: RemoteMachine, _ words: String) throws -> String {
    try machine.shell.run("latchkey setup \(words)", limit: .seconds(300)).trimmed(to: 4096)
  }
}
