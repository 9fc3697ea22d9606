import JournalEvents
import Worlds

/// Compares what a scenario waits for with what programs record, so that a misspelt name is found before the story
/// begins, and not by a wait in vain.
enum EventNames {
  /// - Parameters:
  ///   - process: the program that the scenario names. A program outside this project has its own events.
  ///   - apps: the names of the scenario's own apps.
  /// - Returns: the fields that the event may have, or `nil` for a program's own event.
  static func check(
    _ event: String, of process: String?, apps: Set<String> = [], _ reader: MappingReader
  ) throws(ScenarioError) -> Set<String>? {
    if let process, apps.contains(process) {
      return event == DelegateRecord.event ? Set(DelegateRecord.Field.allCases.map(\.rawValue)) : nil
    }
    if let process, !Recorded.processes.contains(process) {
      if let likely = apps.sorted().first(where: { distance($0, process) <= 2 }) {
        throw reader.error("no program '\(process)' is in the story", at: "process", choices: [likely])
      }
      try check(process: process, event, reader)
      return nil
    }
    let kinds = Recorded.vocabularies.filter { kind in process.map { kind.processes.contains($0) } ?? true }
    let fields = kinds.compactMap { eventFields(event, $0) }
    guard fields.isEmpty else { return fields.reduce(into: []) { $0.formUnion($1) } }
    let near = nearest(to: event, among: Set(kinds.flatMap { eventNames($0) }))
    if process == nil, !apps.isEmpty, !near.contains(where: { distance($0, event) <= 2 }) {
      throw reader.error(
        "no program of Latchkey records an event '\(event)'; for an app's own, 'process' names the app", at: "event",
        choices: apps.sorted().map { "process: \($0)" })
    }
    throw reader.error(
      process.map { "\($0) records no event '\(event)'" }
        ?? "no program records an event '\(event)'; an app's own needs its 'process'",
      at: "event", choices: near)
  }

  /// An unknown program has its own events. But a known event of a program with almost a known name is a typing
  /// error.
  private static func check(process: String, _ event: String, _ reader: MappingReader) throws(ScenarioError) {
    let likely = Recorded.processes.filter { distance($0, process) <= 2 }
    guard !likely.isEmpty, Recorded.vocabularies.contains(where: { eventFields(event, $0) != nil }) else { return }
    let recorders = Set(Recorded.vocabularies.filter { eventFields(event, $0) != nil }.flatMap { $0.processes })
    throw reader.error("no program '\(process)' records '\(event)'", at: "process", choices: recorders.sorted())
  }

  /// Reads the values that an event's fields must have.
  ///
  /// - Parameter known: the fields that the event may have, or `nil` for a program's own event.
  static func fields(
    _ reader: MappingReader, of pattern: EventPattern, known: Set<String>?, _ machines: [MachineDescription]
  ) throws(ScenarioError) -> [String: String] {
    let values = EventValues(machines, machine: pattern.machine)
    let kinds = Recorded.vocabularies.filter { kind in pattern.process.map { kind.processes.contains($0) } ?? true }
    let isDelegates = known != nil && pattern.event == DelegateRecord.event
    var fields: [String: String] = [:]
    for key in reader.keys {
      let value = try reader.text(key)
      try check(field: key, of: pattern.event, known: known, reader)
      let valid = isDelegates ? EventValues.told(key) : values.values(of: key, in: pattern.event, kinds)
      if let valid, !valid.contains(value) {
        throw reader.error("'\(key)' of '\(pattern.event)' can't be '\(value)'", at: key, choices: valid.sorted())
      }
      fields[key] = value
    }
    try check(doorIn: reader, of: pattern.event, process: pattern.process, machines)
    return fields
  }

  private static func check(
    field: String, of event: String, known: Set<String>?, _ reader: MappingReader
  ) throws(ScenarioError) {
    guard let known, !known.contains(field) else { return }
    throw reader.error("the event '\(event)' has no field '\(field)'", at: field, choices: known.sorted())
  }

  /// The program of the agent or the lock, if the author wrote the name that a machine's apps use.
  static func program(_ process: String) -> String {
    InstalledApp.own.first { $0.name == process }?.program ?? process
  }

  /// Checks the field `door`: in a story with several locks, the agent's records name doors by their machines.
  private static func check(
    doorIn fields: MappingReader, of event: String, process: String?, _ machines: [MachineDescription]
  ) throws(ScenarioError) {
    let (key, doors) = (JournalField.door.rawValue, machines.filter { $0.apps.contains(.lock) }.map(\.name))
    let isAgents = Recorded.Agent(rawValue: event)?.fields.contains(.door) ?? false
    guard doors.count > 1, isAgents, process ?? Recorded.agent == Recorded.agent,
      let door = try fields.optionalText(key), !doors.contains(door)
    else { return }
    throw fields.error("'\(key)' is a machine with a lock, which '\(door)' is not", at: key, choices: doors)
  }

  /// Checks that some machine has the app, also the agent or the lock, that records the event.
  static func check(
    places machines: [MachineDescription], of pattern: EventPattern, _ reader: MappingReader
  ) throws(ScenarioError) {
    let hosts = machines.filter { machine in
      machine.apps.contains { $0.isDescribed && $0.name == pattern.process }
    }.map(\.name)
    if let app = pattern.process, let machine = pattern.machine, !hosts.isEmpty, !hosts.contains(machine) {
      throw reader.error("machine '\(machine)' has no app '\(app)'", at: "machine", choices: hosts)
    }
    let known = Recorded.vocabularies.filter { kind in
      eventFields(pattern.event, kind) != nil && pattern.process.map { kind.processes.contains($0) } ?? true
    }
    let programs = Set(known.flatMap { $0.processes })
    let apps = InstalledApp.own.filter { programs.contains($0.program) }
    // Every machine has the other programs.
    guard !programs.isEmpty, programs.allSatisfy({ program in apps.contains { $0.program == program } }) else { return }
    let places = machines.filter { machine in apps.contains { machine.apps.contains($0) } }.map(\.name)
    guard !places.isEmpty, pattern.machine.map(places.contains) ?? true else {
      throw reader.error(
        "'\(pattern.event)' is recorded by the \(apps.map(\.name).joined(separator: " or the ")), which "
          + (pattern.machine.map { "machine '\($0)' does not have" } ?? "no machine has"),
        at: pattern.machine == nil ? "event" : "machine", choices: places)
    }
  }

  private static func eventNames<Event: JournalEvent>(_ kind: Event.Type) -> [String] { kind.allCases.map(\.rawValue) }

  private static func eventFields<Event: JournalEvent>(_ event: String, _ kind: Event.Type) -> Set<String>? {
    Event(rawValue: event).map { Set($0.fields.map(\.rawValue)) }
  }

  /// The names that an author who wrote this name may have meant: the few that are most like it, or that contain it.
  /// All names if there are none like it, and if they are few enough to read.
  static func nearest(to name: String, among names: Set<String>) -> [String] {
    let ordered = names.map { (distance: distance($0, name), name: $0) }.sorted { $0 < $1 }
    guard let best = ordered.first?.distance else { return [] }
    if best > max(2, name.count / 3) {
      let longer = names.filter { !name.isEmpty && $0.contains(name) }
      if !longer.isEmpty { return Array(longer.sorted().prefix(4)) }
      if names.count <= readableCount { return names.sorted() }
    }
    return ordered.prefix(4).filter { $0.distance <= best + 2 }.map(\.name)
  }

  /// The most names that are still of use in an error.
  private static let readableCount = 40

  /// How many letters must be inserted, removed or changed to turn one into the other (Levenshtein).
  static func distance(_ one: String, _ other: String) -> Int {
    // 64 letters are enough for every known name. A text in a file may have any length.
    let (one, other) = (Array(one.prefix(64)), Array(other.prefix(64)))
    var row = Array(0...other.count)
    for (line, letter) in one.enumerated() {
      var diagonal = row[0]
      row[0] = line + 1
      for (column, otherLetter) in other.enumerated() {
        let changed = diagonal + (letter == otherLetter ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = min(changed, diagonal + 1, row[column] + 1)
      }
    }
    return row[other.count]
  }
}
