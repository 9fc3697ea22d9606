/// The machines of a story, each with what it is in this run.
struct StageMachines {
  typealias Pair = (machine: MachineDescription, kind: MachinesDescription.Kind)

  let pairs: [Pair]
  /// The most virtual machines. The air's addresses have one digit for the machine, and each machine takes some 750 MB
  /// of memory.
  static let maximumVirtual = 8

  /// - Throws: `WorldError` for a story that can't be told on these machines, before anything is started.
  init(_ stage: [MachineDescription], on description: MachinesDescription) throws {
    let locks = stage.filter { $0.apps.contains(.lock) }
    let hasAgents = stage.contains { $0.apps.contains(.agent) }
    guard locks.count == 1 || (locks.isEmpty && !hasAgents) else {
      throw WorldError(
        "a story on machines has one with the lock, or none and no agent, and this one has \(locks.count); leave out --on"
      )
    }
    if let unknown = description.named.keys.sorted().first(where: { name in !stage.contains { $0.name == name } }) {
      throw WorldError(
        "the file of machines names '\(unknown)', and the story's machines are "
          + stage.map(\.name).joined(separator: ", "))
    }
    var pairs: [Pair] = []
    var hosts: [String: String] = [:]
    for machine in stage {
      guard let role = MachinesDescription.Role(machine.apps) else {
        throw WorldError(
          "the story's machine '\(machine.name)' has the lock and the agent, and can only be a simulated one")
      }
      guard let kind = description.named[machine.name] ?? description.kinds[role] else {
        throw WorldError("the file of machines has none for '\(machine.name)'")
      }
      if case .ssh(let settings) = kind {
        if let app = machine.apps.first(where: \.isDescribed) {
          throw WorldError(
            "the story has an app of its own, '\(app)' on '\(machine.name)', and such apps run only on simulated and on "
              + "virtual machines")
        }
        let host = "\(settings.host):\(settings.port.map(String.init) ?? "")"
        if let other = hosts.updateValue(machine.name, forKey: host) {
          throw WorldError(
            "'\(other)' and '\(machine.name)' of the story can't both be \(settings.host): add a machine with the name "
              + "'\(machine.name)' to the file of machines")
        }
      } else if let app = machine.apps.first(where: { $0.isDescribed && $0.executable.contains("/") }),
        !Executables.isProgram(app.executable)
      {
        throw WorldError("the program of the app '\(app.name)', \(app.executable), is not a file that can be run")
      }
      pairs.append((machine, kind))
    }
    guard pairs.count <= Self.maximumVirtual || pairs.allSatisfy({ $0.kind.word == "ssh" }) else {
      throw WorldError(
        "the story has \(pairs.count) machines, and at most \(Self.maximumVirtual) can be virtual at a time")
    }
    self.pairs = pairs
  }

  /// Checks the apps' programs before the machines are started, which takes minutes. The contents of an image or a disk
  /// of the user's own are not known here, so such machines are not checked.
  ///
  /// - Throws: `WorldError` for a program that the machine will not have.
  func checkPrograms(_ tools: MachineTools) throws {
    for (machine, kind) in pairs {
      guard case .virtual(let settings) = kind, settings.image == nil, settings.disks == nil else { continue }
      for app in machine.apps where app.isDescribed && !Self.installed.contains(app.executable) {
        _ = try StoryUnit(app).path(in: tools)
      }
    }
  }

  /// The programs of the packages that every virtual machine gets.
  private static let installed: Set = ["latchkey", "latchkeyd"]
}
