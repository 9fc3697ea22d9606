import Foundation
import Yams

/// The machines on which a story is to happen: `machines.yaml`, described in docs/scenarios.md.
package struct MachinesDescription: Sendable, Equatable {
  /// A machine's role in the story.
  package enum Role: String, Sendable, CaseIterable {
    case lock
    /// Every machine without the lock, whatever apps it has.
    case phone

    /// `nil` for a machine that would be both.
    init?(_ apps: [InstalledApp]) {
      guard !apps.contains(.lock) || !apps.contains(.agent) else { return nil }
      self = apps.contains(.lock) ? .lock : .phone
    }
  }

  package enum Kind: Sendable, Equatable {
    case virtual(VirtualSettings)
    case ssh(RemoteSettings)
  }

  package var kinds: [Role: Kind]
  /// Those of single machines of the story, by their names.
  package var named: [String: Kind]

  package init(kinds: [Role: Kind], named: [String: Kind] = [:]) {
    self.kinds = kinds
    self.named = named
  }

  /// Virtual machines created for the run.
  package static func virtual(_ settings: VirtualSettings = VirtualSettings()) -> MachinesDescription {
    MachinesDescription(kinds: [.lock: .virtual(settings), .phone: .virtual(settings)])
  }
}

/// A virtual machine.
package struct VirtualSettings: Sendable, Equatable {
  /// The folder that scripts/vm/build-image made, or `nil` to ask the script.
  package var image: String?
  /// A folder of .deb packages to install at the machine's first boot.
  package var packages: String?
  /// A folder for machines' disks that outlive the run, NAME.qcow2, or `nil` for the run's own folder.
  package var disks: String?
  package init(image: String? = nil, packages: String? = nil, disks: String? = nil) {
    self.image = image
    self.packages = packages
    self.disks = disks
  }
}

/// A machine reached over ssh.
package struct RemoteSettings: Sendable, Equatable {
  /// How a machine that can't be carried by this program leaves home.
  package enum Walk: String, Sendable, CaseIterable {
    /// A person at this terminal is asked to carry it.
    case ask
    /// Its adapter is powered off instead.
    case adapter
    case no
  }

  package var host: String
  package var user: String?
  package var port: Int?
  /// The file of the private key, or `nil` for ssh's own choice.
  package var identity: String?
  /// Only host keys in this file are accepted; `nil` means the user's own file.
  package var knownHosts: String?
  package var walk: Walk
  /// The address of the machine's system bus, if it is not the usual one.
  package var bus: String?

  package init(
    host: String, user: String? = nil, port: Int? = nil, identity: String? = nil, knownHosts: String? = nil,
    walk: Walk = .no, bus: String? = nil
  ) {
    self.host = host
    self.user = user
    self.port = port
    self.identity = identity
    self.knownHosts = knownHosts
    self.walk = walk
    self.bus = bus
  }
}

extension MachinesDescription {
  /// The largest file, in bytes of YAML.
  static let maximumSize = 1 << 16

  package static func load(_ path: String) throws(ScenarioError) -> MachinesDescription {
    let text: String
    do {
      text = try String(contentsOfFile: path, encoding: .utf8)
    } catch {
      throw ScenarioError(file: path, line: nil, problem: "can't be read: \(error.localizedDescription)")
    }
    return try parse(text, file: path)
  }

  /// Reads machines.yaml. Unknown keys are refused.
  package static func parse(_ yaml: String, file: String) throws(ScenarioError) -> MachinesDescription {
    guard yaml.utf8.count <= maximumSize else {
      throw ScenarioError(file: file, line: nil, problem: "a file of machines has at most \(maximumSize) bytes")
    }
    let root: Node?
    do {
      root = try Yams.compose(yaml: yaml.withoutByteOrderMark)
    } catch {
      throw ScenarioError(file: file, line: nil, problem: "not YAML: \(error)")
    }
    guard let root else { throw ScenarioError(file: file, line: nil, problem: "the file of machines is empty") }
    let reader = try MappingReader(root, subject: "the file of machines", file: file)
    try reader.allow(["machines"])
    let machines = try MappingReader(try reader.required("machines"), subject: "'machines'", file: file)
    func read(_ name: String) throws(ScenarioError) -> Kind {
      try kind(MappingReader(try machines.required(name), subject: "machine '\(name)'", file: file))
    }
    var description = MachinesDescription(kinds: [:])
    for role in Role.allCases { description.kinds[role] = try read(role.rawValue) }
    for name in machines.keys where Role(rawValue: name) == nil { description.named[name] = try read(name) }
    guard Set((Array(description.kinds.values) + Array(description.named.values)).map(\.word)).count == 1 else {
      throw machines.error("a virtual machine and one over ssh have no air in common: all are of one kind")
    }
    return description
  }

  private static func kind(_ reader: MappingReader) throws(ScenarioError) -> Kind {
    switch try reader.text("kind") {
    case "virtual":
      try reader.allow(["kind", "image", "packages", "disks"])
      return .virtual(
        VirtualSettings(
          image: try reader.optionalText("image"), packages: try reader.optionalText("packages"),
          disks: try reader.optionalText("disks")))
    case "ssh":
      try reader.allow(["kind", "host", "user", "port", "identity", "known hosts", "walk", "bus"])
      return .ssh(try remote(reader))
    case let other:
      throw reader.error("'\(other)' is not a kind of machine", at: "kind", choices: ["virtual", "ssh"])
    }
  }

  private static func remote(_ reader: MappingReader) throws(ScenarioError) -> RemoteSettings {
    var port: Int?
    if reader.has("port") {
      guard let number = Int(try reader.text("port")), (1...65535).contains(number) else {
        throw reader.error("'port' of \(reader.subject) is a number from 1 to 65535", at: "port")
      }
      port = number
    }
    let settings = RemoteSettings(
      host: try reader.text("host"), user: try reader.optionalText("user"), port: port,
      identity: try reader.optionalText("identity").map { ($0 as NSString).expandingTildeInPath },
      knownHosts: try reader.optionalText("known hosts").map { ($0 as NSString).expandingTildeInPath },
      walk: reader.has("walk") ? try reader.choice("walk", RemoteSettings.Walk.self) : .no,
      bus: try reader.optionalText("bus"))
    // ssh would take it for an option.
    for (key, value) in [("host", settings.host), ("user", settings.user ?? "u")]
    where value.hasPrefix("-") || value.contains(where: { $0.isWhitespace }) {
      throw reader.error("'\(key)' of \(reader.subject) can't be '\(value)'", at: key)
    }
    return settings
  }
}

extension MachinesDescription.Kind {
  var word: String {
    switch self {
    case .virtual: "virtual"
    case .ssh: "ssh"
    }
  }
}
