import AppLink
import BluetoothTypes
import Worlds
import Yams

/// Reads a promise about any app or about a radio: `relaunched: {app: collector, exactly: 1}`.
struct ExpectationReader {
  let file: String
  let machines: [MachineDescription]

  func read(_ node: Node) throws(ScenarioError) -> Expectation {
    let outer = try MappingReader(node, subject: "a promise", file: file)
    guard outer.keys.count == 1, let name = outer.keys.first else {
      throw outer.error(
        "a promise is one word, or one key with what it is about", choices: Expectation.Kind.allCases.map(\.rawValue))
    }
    guard let kind = Expectation.Kind(rawValue: name) else {
      if let kind = Self.kind(like: name) {
        throw outer.error("unknown promise '\(name)'", at: name, choices: [kind.rawValue])
      }
      if Promise.named(name) != nil {
        throw outer.error("the promise '\(name)' is one word, without anything after it", at: name)
      }
      throw outer.error("unknown promise '\(name)'", at: name, choices: Expectation.Kind.allCases.map(\.rawValue))
    }
    if kind == .openedOnlyFor { return try openedOnlyFor(outer) }
    let reader = try MappingReader(try outer.required(name), subject: "promise '\(name)'", file: file)
    switch kind {
    case .onTheAir, .notOnTheAir, .scanned, .notScanned: return try radio(kind, reader)
    default: return try app(kind, reader)
    }
  }

  /// The error for a promise of one word that does not exist.
  func refusal(ofWord name: String, line: Int?) -> ScenarioError {
    // In quotes as a whole, as in "opened only for: [alice]", the promise is a word with a colon in it.
    let isQuoted = name.contains(":")
    let word = name.prefix { $0 != ":" }.description
    if let kind = Self.kind(like: word), Promise.named(Self.hyphenated(word)) == nil || word == kind.rawValue {
      let subject =
        switch kind {
        case .onTheAir, .notOnTheAir, .scanned, .notScanned: "{machine: NAME}"
        case .openedOnlyFor: "[MACHINE]"
        case .recorded, .notRecorded: "{app: NAME, event: NAME}"
        default: "{app: NAME}"
        }
      return ScenarioError(
        file: file, line: line,
        problem: isQuoted
          ? "the promise '\(name)' is one word because of its quotes; without them it is '\(kind.rawValue): \(subject)'"
          : "the promise '\(name)' needs what it is about, as in '\(kind.rawValue): \(subject)'")
    }
    let meant = Promise.named(Self.hyphenated(name))
    return ScenarioError(
      file: file, line: line, problem: "unknown promise '\(name)'",
      choices: meant.map { [$0.name] } ?? Promise.all.map(\.name))
  }

  /// The kind of promise about an app or a radio with this name. The words may be separated by hyphens or by spaces.
  private static func kind(like name: String) -> Expectation.Kind? {
    Expectation.Kind.allCases.first { hyphenated($0.rawValue) == hyphenated(name) }
  }

  private static func hyphenated(_ name: String) -> String {
    String(name.map { $0 == " " || $0 == "_" ? "-" : $0 })
  }

  // MARK: The door

  private func openedOnlyFor(_ outer: MappingReader) throws(ScenarioError) -> Expectation {
    let key = Expectation.Kind.openedOnlyFor.rawValue
    let phones = machines.filter { $0.apps.contains(.agent) }.map(\.name)
    var expectation = Expectation(kind: .openedOnlyFor, app: nil, machines: [])
    for node in try outer.list(key) {
      guard let name = node.scalar?.string, phones.contains(name) else {
        let what = node.scalar.map { ", and '\($0.string)' is none" } ?? ""
        throw ScenarioError(
          file: file, line: node.mark?.line ?? outer.lineNumber(of: key),
          problem: "'\(key)' lists machines with the agent, or nobody: []\(what)", choices: phones)
      }
      guard !expectation.machines.contains(name) else {
        throw ScenarioError(
          file: file, line: node.mark?.line ?? outer.lineNumber(of: key), problem: "'\(key)' lists '\(name)' twice")
      }
      expectation.machines.append(name)
    }
    return expectation
  }

  // MARK: Apps

  private func app(_ kind: Expectation.Kind, _ reader: MappingReader) throws(ScenarioError) -> Expectation {
    try reader.allow(["app", "machine"] + Self.keys(of: kind))
    let installed = machines.flatMap(\.apps)
    let name = try reader.text("app")
    guard let app = installed.first(where: { $0.name == name }) else {
      throw reader.error("no machine has an app '\(name)'", at: "app", choices: Set(installed.map(\.name)).sorted())
    }
    if !app.isDescribed, [.restoredInOrder, .toldNothingTwice, .told, .notTold].contains(kind) {
      throw reader.error(
        "'\(kind.rawValue)' is for the scenario's own apps; the \(app) has promises of its own", at: "app",
        choices: ["restored-in-order", "told-nothing-twice"])
    }
    var expectation = Expectation(kind: kind, app: app, machines: try places(of: app, reader))
    expectation.times = try times(kind, reader)
    switch kind {
    case .told, .notTold, .woken, .notWoken:
      let isTold = kind == .told || kind == .notTold
      let key = isTold ? "event" : "by"
      if let event = try reader.optionalText(key) {
        let kinds = isTold ? Event.Kind.toldToDelegates : Set(Event.Kind.allCases)
        let known = Set(kinds.map(\.rawValue))
        guard known.contains(event) else {
          throw reader.error(
            "an app is told of no '\(event)'", at: key, choices: EventNames.nearest(to: event, among: known))
        }
        expectation.event = event
      }
    case .relaunched where reader.has("restoring"):
      for node in try reader.list("restoring") {
        guard let text = node.scalar?.string, !text.isEmpty else {
          throw reader.error("'restoring' lists restore identifiers", at: "restoring")
        }
        if let problem = MappingReader.unprintable(in: text) {
          throw reader.error("an identifier that 'restoring' lists \(problem)", at: "restoring")
        }
        guard !expectation.identifiers.contains(text) else {
          throw reader.error("'restoring' lists '\(text)' twice", at: "restoring")
        }
        expectation.identifiers.append(text)
      }
    case .alerted, .notAlerted: expectation.text = try reader.optionalText("text")
    case .recorded, .notRecorded:
      let event = try reader.text("event")
      expectation.event = event
      let known = try EventNames.check(event, of: app.process, apps: app.isDescribed ? [app.name] : [], reader)
      if let node = reader.node("fields") {
        let fields = try MappingReader(node, subject: "'fields' of \(reader.subject)", file: file)
        let pattern = EventPattern(named: event, process: app.process)
        expectation.fields = try EventNames.fields(fields, of: pattern, known: known, machines)
      }
    default: break
    }
    return expectation
  }

  private static func keys(of kind: Expectation.Kind) -> [String] {
    let times = ["exactly", "at least", "at most"]
    return switch kind {
    case .told: ["event"] + times
    case .notTold: ["event"]
    case .woken: ["by"] + times
    case .notWoken: ["by"]
    case .relaunched: ["restoring"] + times
    case .alerted: ["text"] + times
    case .notAlerted: ["text"]
    case .recorded: ["event", "fields"] + times
    case .notRecorded: ["event", "fields"]
    default: []
    }
  }

  private func places(of app: InstalledApp, _ reader: MappingReader) throws(ScenarioError) -> [String] {
    let places = machines.filter { $0.apps.contains(app) }.map(\.name)
    guard let machine = try reader.optionalText("machine") else { return places }
    guard places.contains(machine) else {
      throw reader.error("machine '\(machine)' has no app '\(app)'", at: "machine", choices: places)
    }
    return [machine]
  }

  private func times(_ kind: Expectation.Kind, _ reader: MappingReader) throws(ScenarioError) -> Expectation.Times {
    if kind.isNever { return .never }
    func number(_ key: String) throws(ScenarioError) -> Int? {
      guard let text = try reader.optionalText(key) else { return nil }
      guard let number = Int(text), (0...1_000_000).contains(number) else {
        throw reader.error("'\(key)' of \(reader.subject) is a whole number from 0 to 1000000, not '\(text)'", at: key)
      }
      return number
    }
    let (exactly, least, most) = (try number("exactly"), try number("at least"), try number("at most"))
    if let exactly {
      guard least == nil, most == nil else {
        throw reader.error(
          "\(reader.subject) has 'exactly', which leaves no room for 'at least' or 'at most'", at: "exactly")
      }
      return Expectation.Times(atLeast: exactly, atMost: exactly)
    }
    if let least, let most, least > most {
      throw reader.error("'at least' of \(reader.subject) is more than its 'at most'", at: "at least")
    }
    return Expectation.Times(atLeast: least ?? (most == nil ? 1 : 0), atMost: most)
  }

  // MARK: Radios

  private func radio(_ kind: Expectation.Kind, _ reader: MappingReader) throws(ScenarioError) -> Expectation {
    let isAdvertising = kind == .onTheAir || kind == .notOnTheAir
    let further: [String] =
      switch kind {
      case _ where isAdvertising: ["name", "lists", "omits", "interval at least", "interval at most"]
      case .scanned: ["percent at least", "percent at most"]
      default: []
      }
    try reader.allow(["machine"] + further)
    let machine = try reader.text("machine")
    guard machines.contains(where: { $0.name == machine }) else {
      throw reader.error("unknown machine '\(machine)'", at: "machine", choices: machines.map(\.name))
    }
    var expectation = Expectation(kind: kind, app: nil, machines: [machine])
    switch try reader.optionalText("name") {
    case nil: break
    case "absent": expectation.air.name = .absent
    case "present": expectation.air.name = .present
    case let text?: expectation.air.name = .exactly(text)
    }
    expectation.air.lists = try services("lists", reader)
    expectation.air.omits = try services("omits", reader)
    if let twice = expectation.air.omits.firstIndex(where: expectation.air.lists.contains) {
      let service = try reader.list("omits")[twice].scalar?.string ?? ""
      throw reader.error(
        "\(reader.subject) both 'lists' and 'omits' '\(service)', which nothing could keep", at: "omits")
    }
    if reader.has("interval at least") { expectation.air.intervalAtLeast = try reader.duration("interval at least") }
    if reader.has("interval at most") { expectation.air.intervalAtMost = try reader.duration("interval at most") }
    if let least = expectation.air.intervalAtLeast, let most = expectation.air.intervalAtMost, least > most {
      throw reader.error(
        "'interval at least' of \(reader.subject) is more than its 'interval at most'", at: "interval at least")
    }
    if reader.has("percent at least") {
      expectation.air.scanPercentAtLeast = try reader.wholeNumber("percent at least", in: 0...100)
    }
    if reader.has("percent at most") {
      expectation.air.scanPercentAtMost = try reader.wholeNumber("percent at most", in: 0...100)
    }
    if let least = expectation.air.scanPercentAtLeast, let most = expectation.air.scanPercentAtMost, least > most {
      throw reader.error(
        "'percent at least' of \(reader.subject) is more than its 'percent at most'", at: "percent at least")
    }
    return expectation
  }

  private func services(_ key: String, _ reader: MappingReader) throws(ScenarioError) -> [String] {
    guard reader.has(key) else { return [] }
    var services: [String] = []
    for node in try reader.list(key) {
      guard let text = node.scalar?.string, let service = BluetoothUUID(text) else {
        throw reader.error("'\(key)' of \(reader.subject) lists service UUIDs, such as 180D", at: key)
      }
      guard !services.contains("\(service)") else {
        throw reader.error("'\(key)' of \(reader.subject) lists '\(text)' twice", at: key)
      }
      services.append("\(service)")
    }
    guard !services.isEmpty else {
      throw reader.error("'\(key)' of \(reader.subject) lists no service; leave it out, or list some", at: key)
    }
    return services
  }
}
