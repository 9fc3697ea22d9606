import Worlds
import Yams

/// Reads one step. The table of kinds lists everything that a step can do.
struct StepReader {
  let file: String
  let machines: [MachineDescription]
  let kind: String
  let outer: MappingReader
  /// What earlier steps have made.
  let made: StoryPapers
  let promises: (MappingReader, String) throws(ScenarioError) -> [PromiseReference]

  struct Kind: Sendable {
    let name: String
    let read: @Sendable (StepReader) throws(ScenarioError) -> Action
  }

  static let kinds = ownKinds + questionKinds

  private static let ownKinds: [Kind] = [
    Kind(name: "open app") { (step) throws(ScenarioError) in
      try step.app { .openApp(machine: $0, app: $1) }
    },
    Kind(name: "leave app") { (step) throws(ScenarioError) in
      try step.app { .leaveApp(machine: $0, app: $1) }
    },
    Kind(name: "quit app") { (step) throws(ScenarioError) in
      try step.app { .quitApp(machine: $0, app: $1) }
    },
    Kind(name: "reclaim app") { (step) throws(ScenarioError) in
      try step.app { .reclaimApp(machine: $0, app: $1) }
    },
    Kind(name: "kill app") { (step) throws(ScenarioError) in
      try step.app { .killApp(machine: $0, app: $1) }
    },
    Kind(name: "hang app") { (step) throws(ScenarioError) in
      try step.app { .hangApp(machine: $0, app: $1) }
    },
    Kind(name: "continue app") { (step) throws(ScenarioError) in
      try step.app { .continueApp(machine: $0, app: $1) }
    },
    Kind(name: "kill daemon") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.machine(["after"])
      return .killDaemon(machine: machine, after: reader.has("after") ? try reader.duration("after") : .zero)
    },
    Kind(name: "restart bluetoothd") { (step) throws(ScenarioError) in
      try step.fault(.restartBluetoothd(killed: false))
    },
    Kind(name: "kill bluetoothd") { (step) throws(ScenarioError) in
      try step.fault(.restartBluetoothd(killed: true))
    },
    Kind(name: "adapter power") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.machine(["to"])
      return .fault(
        machine: machine, .adapterPower(isOn: try reader.flag("to", whenTrue: "on", whenFalse: "off")))
    },
    Kind(name: "forget pairings") { (step) throws(ScenarioError) in
      try step.fault(.forgetPairings)
    },
    Kind(name: "unplug controller") { (step) throws(ScenarioError) in
      try step.fault(.controller(isPlugged: false))
    },
    Kind(name: "plug in controller") { (step) throws(ScenarioError) in
      try step.fault(.controller(isPlugged: true))
    },
    Kind(name: "rfkill") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.machine(["to"])
      return .fault(
        machine: machine, .rfkill(isBlocked: try reader.flag("to", whenTrue: "block", whenFalse: "unblock")))
    },
    Kind(name: "bluetooth") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.machine(["to"])
      return .bluetooth(machine: machine, isOn: try reader.flag("to", whenTrue: "on", whenFalse: "off"))
    },
    Kind(name: "reboot") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.machine(["for"])
      return .reboot(machine: machine, downtime: reader.has("for") ? try reader.duration("for") : .seconds(30))
    },
    Kind(name: "cut power") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.machine(["for"])
      return .cutPower(machine: machine, downtime: reader.has("for") ? try reader.duration("for") : .seconds(60))
    },
    Kind(name: "move") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.machine(["to", "as", "over"])
      return .move(
        machine: machine, to: try reader.place("to"),
        occasion: reader.has("as") ? try reader.choice("as", Occasion.self) : nil,
        over: reader.has("over") ? try reader.walk("over") : nil)
    },
    Kind(name: "block radio") { (step) throws(ScenarioError) in
      try step.fault(.radio(isBlocked: true))
    },
    Kind(name: "free radio") { (step) throws(ScenarioError) in
      try step.fault(.radio(isBlocked: false))
    },
    Kind(name: "door") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.lock(["to"])
      return .door(machine: machine, isOpen: try reader.flag("to", whenTrue: "open", whenFalse: "shut"))
    },
    Kind(name: "turn bolt") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.lock(["to", "from"])
      return .turnBolt(
        machine: machine, isLocked: try reader.flag("to", whenTrue: "locked", whenFalse: "unlocked"),
        from: reader.has("from") ? try reader.choice("from", LockHand.Side.self) : nil)
    },
    Kind(name: "lock motor") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.lock(["to"])
      return .lock(machine: machine, .motor(try reader.choice("to", LockHand.Motor.self)))
    },
    Kind(name: "lock battery") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.lock(["percent", "drain"])
      guard reader.has("percent") || reader.has("drain") else {
        throw reader.error("step 'lock battery' says nothing of its battery", choices: ["percent", "drain"])
      }
      return .lock(
        machine: machine,
        .battery(
          percent: reader.has("percent") ? try reader.wholeNumber("percent", in: 0...100) : nil,
          drain: reader.has("drain") ? try reader.wholeNumber("drain", in: 0...100) : nil))
    },
    Kind(name: "lock cover") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.lock(["to"])
      return .lock(machine: machine, .cover(isOff: try reader.flag("to", whenTrue: "off", whenFalse: "on")))
    },
    Kind(name: "lock mode") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.lock(["to"])
      return .lock(machine: machine, .mode(try reader.choice("to", LockHand.Mode.self)))
    },
    Kind(name: "lock reset") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.lock(["to"])
      return .lock(
        machine: machine, .resetButton(isPressed: try reader.flag("to", whenTrue: "pressed", whenFalse: "released")))
    },
    Kind(name: "lock enrolment") { (step) throws(ScenarioError) in
      .lock(machine: try step.lock().name, .enrolmentButton)
    },
    Kind(name: "set clock") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.machine(["by"])
      return .fault(machine: machine, .clock(by: try reader.change("by")))
    },
    Kind(name: "malformed advertisement") { (step) throws(ScenarioError) in
      try step.fault(.malformedAdvertisement)
    },
    Kind(name: "unknown notification") { (step) throws(ScenarioError) in
      try step.fault(.unknownNotification)
    },
    Kind(name: "pass days") { (step) throws(ScenarioError) in
      .passDays(try step.outer.number(step.kind, in: 0...36500))
    },
    Kind(name: "pass") { (step) throws(ScenarioError) in
      .pass(try step.outer.duration(step.kind))
    },
    Kind(name: "wait for") { (step) throws(ScenarioError) in try step.wait() },
    Kind(name: "check") { (step) throws(ScenarioError) in
      let promises = try step.promises(step.outer, step.kind)
      guard !promises.isEmpty else {
        throw step.outer.error("step 'check' names no promise", at: step.kind, choices: Promise.all.map(\.name))
      }
      return .check(promises)
    },
  ]

  /// `machine: NAME` and further keys, or the short form `kind: NAME` if there are none.
  func machine(_ further: [String] = []) throws(ScenarioError) -> (reader: MappingReader, name: String) {
    let node = try outer.required(kind)
    if let name = node.scalar?.string {
      guard !name.isEmpty else {
        throw outer.error("step '\(kind)' does not say on which machine", at: kind, choices: machines.map(\.name))
      }
      try check(machine: name, outer.lineNumber(of: kind))
      // The reader is empty: if the step needs more than the machine, the error comes when that is read.
      return (MappingReader(emptyAt: outer.lineNumber(of: kind), subject: "step '\(kind)'", file: file), name)
    }
    let reader = try MappingReader(node, subject: "step '\(kind)'", file: file)
    try reader.allow(["machine"] + further)
    let name = try reader.text("machine", machines.map(\.name))
    try check(machine: name, reader.lineNumber(of: "machine"))
    return (reader, name)
  }

  /// As `machine`, for a step on a lock.
  private func lock(_ further: [String] = []) throws(ScenarioError) -> (reader: MappingReader, name: String) {
    let (reader, name) = try machine(further)
    let doors = machines.filter { $0.apps.contains(.lock) }.map(\.name)
    guard doors.contains(name) else {
      throw reader.error("machine '\(name)' has no lock, which step '\(kind)' needs", at: "machine", choices: doors)
    }
    return (reader, name)
  }

  private func check(machine name: String, _ line: Int?) throws(ScenarioError) {
    guard machines.contains(where: { $0.name == name }) else {
      throw ScenarioError(file: file, line: line, problem: "unknown machine '\(name)'", choices: machines.map(\.name))
    }
  }

  /// A fault that needs only its machine.
  private func fault(_ fault: MachineFault) throws(ScenarioError) -> Action {
    .fault(machine: try machine().name, fault)
  }

  private func app(_ make: (String, InstalledApp) -> Action) throws(ScenarioError) -> Action {
    if let text = outer.node(kind)?.scalar?.string, !text.isEmpty, !machines.contains(where: { $0.name == text }) {
      throw outer.error(
        "step '\(kind)' names a machine and an app, as in {machine: phone, app: agent}, not '\(text)'", at: kind)
    }
    let (reader, machine) = try machine(["app"])
    let installed = machines.first { $0.name == machine }?.apps ?? []
    let name = try reader.text("app", installed.map(\.name))
    guard let app = installed.first(where: { $0.name == name }) else {
      throw reader.error("machine '\(machine)' has no app '\(name)'", at: "app", choices: installed.map(\.name))
    }
    return make(machine, app)
  }

  private func wait() throws(ScenarioError) -> Action {
    if let text = outer.node(kind)?.scalar?.string, !text.isEmpty {
      throw outer.error("step '\(kind)' has its event under a key, as in {event: \(text)}", at: kind)
    }
    let reader = try MappingReader(try outer.required(kind), subject: "step '\(kind)'", file: file)
    try reader.allow(["event", "machine", "process", "fields", "within"])
    var pattern = EventPattern(named: try reader.text("event"))
    pattern.machine = try reader.optionalText("machine")
    if let name = pattern.machine { try check(machine: name, reader.lineNumber(of: "machine")) }
    pattern.process = try reader.optionalText("process").map(EventNames.program)
    let known = try EventNames.check(
      pattern.event, of: pattern.process, apps: Set(machines.flatMap(\.apps).filter(\.isDescribed).map(\.name)), reader)
    if let node = reader.node("fields") {
      let fields = try MappingReader(node, subject: "'fields' of step '\(kind)'", file: file)
      pattern.fields = try EventNames.fields(fields, of: pattern, known: known, machines)
    }
    try EventNames.check(places: machines, of: pattern, reader)
    return .wait(pattern, limit: reader.has("within") ? try reader.duration("within") : .seconds(60))
  }
}
