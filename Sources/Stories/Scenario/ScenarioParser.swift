import LockCryptography
import Radio
import Worlds
import Yams

/// Reads scenario files. Unknown keys are refused, so that a typing error never leaves a promise unchecked.
package struct ScenarioParser {
  private let file: String
  private let machines: [MachineDescription]

  /// The largest file, in bytes of YAML.
  static let maximumSize = 1 << 20
  static let maximumMachines = 16
  static let maximumSteps = 10_000

  /// - Parameter file: the name in errors.
  package static func parse(_ yaml: String, file: String) throws(ScenarioError) -> Scenario {
    guard yaml.utf8.count <= maximumSize else {
      throw ScenarioError(file: file, line: nil, problem: "a scenario has at most \(maximumSize) bytes")
    }
    let root: Node?
    do {
      root = try Yams.compose(yaml: yaml.withoutByteOrderMark)
    } catch {
      throw ScenarioError(
        file: file, line: line(of: error),
        problem: "not YAML: \(ScenarioError.printable(problem(of: error, in: yaml), limit: 200))")
    }
    guard let root else { throw ScenarioError(file: file, line: nil, problem: "the scenario is empty") }
    let reader = try MappingReader(root, subject: "the scenario", file: file)
    try reader.allow(["name", "title", "seed", "days", "apps", "machines", "radio", "chapters", "steps", "promises"])

    let apps = try AppReader.apps(reader)
    var machines: [MachineDescription] = []
    let machineReader = try MappingReader(try reader.required("machines"), subject: "'machines'", file: file)
    guard (1...maximumMachines).contains(machineReader.keys.count) else {
      throw machineReader.error("a scenario has 1 to \(maximumMachines) machines")
    }
    for name in machineReader.keys {
      machines.append(try machine(named: name, try machineReader.required(name), apps: apps, file: file))
    }
    try check(doorsOf: machines, machineReader)
    if let idle = apps.first(where: { app in !machines.contains { $0.apps.contains(app) } }) {
      throw reader.error("the app '\(idle.name)' is on no machine; list it in a machine's 'apps'", at: "apps")
    }
    let parser = ScenarioParser(file: file, machines: machines)
    let days = reader.has("days") ? try reader.number("days", in: 0.001...36500) : 1

    var chapters: [Chapter] = []
    var made = StoryPapers()
    switch (reader.has("chapters"), reader.has("steps")) {
    case (true, true), (false, false):
      throw reader.error("a scenario has either 'steps', or 'chapters' that have 'steps'")
    case (false, true):
      let steps = try parser.steps(reader, &made)
      try limit(steps.count, of: reader)
      chapters = [Chapter(name: "the story", steps: steps, promises: [])]
    case (true, false):
      for node in try reader.list("chapters") {
        let chapter = try MappingReader(node, subject: "a chapter", file: file)
        try chapter.allow(["name", "steps", "promises"])
        let steps = try parser.steps(chapter, &made)
        try limit(chapters.reduce(steps.count) { $0 + $1.steps.count }, of: chapter)
        chapters.append(
          Chapter(
            name: try name(of: chapter, after: chapters), steps: steps,
            promises: try parser.promises(chapter, "promises")))
      }
      guard !chapters.isEmpty else { throw reader.error("'chapters' is empty", at: "chapters") }
    }
    let seedText = try reader.optionalText("seed") ?? "1"
    guard let seed = UInt64(seedText) else {
      throw reader.error("'seed' must be a whole number from 0 up, not '\(seedText)'", at: "seed")
    }
    let title = reader.has("title") ? try reader.prose("title") : try reader.text("name")
    return Scenario(
      file: file, name: try reader.text("name"), title: title, seed: seed,
      days: days, machines: machines, radio: try radio(reader), chapters: chapters,
      promises: try parser.promises(reader, "promises"))
  }

  /// - Parameter reader: what has the steps that may be too many.
  private static func limit(_ count: Int, of reader: MappingReader) throws(ScenarioError) {
    guard count <= maximumSteps else {
      throw reader.error("a scenario has at most \(maximumSteps) steps, and here it has \(count)", at: "steps")
    }
  }

  /// A chapter's name, which must be unique: verdicts and journals know the chapter by it.
  private static func name(of chapter: MappingReader, after others: [Chapter]) throws(ScenarioError) -> String {
    let name = try chapter.text("name")
    guard !others.contains(where: { $0.name == name }) else {
      throw chapter.error("another chapter is called '\(name)' already", at: "name")
    }
    guard name != Verdict.wholeRun else {
      throw chapter.error("a chapter can't be called '\(name)', which is what the verdict calls the story", at: "name")
    }
    return name
  }

  /// A level of noise, or a mapping of a level and changed parameters.
  private static func radio(_ scenario: MappingReader) throws(ScenarioError) -> RadioPhysics {
    guard let node = scenario.node("radio") else { return .ordinary }
    if node.scalar != nil { return try scenario.choice("radio", RadioPhysics.Level.self).physics }
    let reader = try MappingReader(node, subject: "'radio'", file: scenario.file)
    try reader.allow(["level"] + RadioPhysics.parameters.map(\.name))
    var physics = reader.has("level") ? try reader.choice("level", RadioPhysics.Level.self).physics : .ordinary
    for parameter in RadioPhysics.parameters where reader.has(parameter.name) {
      // The range has been checked, so this can't be refused.
      _ = physics.set(parameter.name, to: try reader.number(parameter.name, in: parameter.range))
    }
    return physics
  }

  /// The error, without the surrounding lines, which may be long.
  private static func problem(of error: any Error, in yaml: String) -> String {
    switch error as? YamlError {
    // The parser's own message does not name a character that can't be seen.
    case .scanner(_, _, let mark, _) where isTab(at: mark, in: yaml):
      "a tab, where YAML takes only spaces"
    case .composer(_, let problem, _, _) where problem.contains("another document"):
      "a line of '---' ends the story, and a file has only one"
    case .parser(_, let problem, _, _) where problem.contains("undefined alias"),
      .composer(_, let problem, _, _) where problem.contains("undefined alias"):
      "an alias stands for what an earlier anchor (`&name`) is at, and there is none of its name"
    case .parser(_, let problem, _, _) where problem.contains("incompatible YAML document"):
      "'%YAML' names another version of YAML than 1.1 and 1.2; leave that line out"
    // The parser's own message names a function of its library.
    case .parser(_, let problem, _, _) where problem.hasPrefix("Maximum nesting level"):
      "its lists and mappings are nested too deeply"
    case .scanner(_, let problem, _, _), .parser(_, let problem, _, _), .composer(_, let problem, _, _),
      .reader(let problem, _, _, _):
      problem
    case .duplicatedKeysInMapping(let keys, _):
      "\(keys.map { "'\($0)'" }.joined(separator: " and ")) stands twice in one mapping, here for the first time"
    default: "\(error)"
    }
  }

  private static func isTab(at mark: Mark, in yaml: String) -> Bool {
    let lines = yaml.split(separator: "\n", maxSplits: mark.line, omittingEmptySubsequences: false)
    guard lines.indices.contains(mark.line - 1) else { return false }
    return lines[mark.line - 1].unicodeScalars.dropFirst(mark.column - 1).first == "\t"
  }

  private static func line(of error: any Error) -> Int? {
    switch error as? YamlError {
    case .scanner(_, _, let mark, _), .parser(_, _, let mark, _), .composer(_, _, let mark, _): mark.line
    case .duplicatedKeysInMapping(_, let context): context.mark.line
    case .reader(_, let offset?, _, let yaml): 1 + yaml.utf8.prefix(offset).count { $0 == 0x0A }
    default: nil
    }
  }

  private static func machine(
    named name: String, _ node: Node, apps described: [InstalledApp], file: String
  ) throws(ScenarioError) -> MachineDescription {
    let reader = try MappingReader(node, subject: "machine '\(name)'", file: file)
    try reader.allow(["position", "apps", "private addresses", "enrolled"])
    // The name is used as a folder and as part of an argument.
    guard isName(name) else {
      throw reader.error("a machine's name is at most 32 of a-z, 0-9 and '-', not '\(name)'")
    }
    var apps: [InstalledApp] = []
    for node in reader.has("apps") ? try reader.list("apps") : [] {
      let known = InstalledApp.own + described
      guard let app = known.first(where: { $0.name == node.scalar?.string }) else {
        throw ScenarioError(
          file: file, line: node.mark?.line,
          problem: "unknown app '\(node.scalar?.string ?? "?")' on machine '\(name)'", choices: known.map(\.name))
      }
      if let twin = apps.first(where: { $0 != app && $0.bundleIdentifier == app.bundleIdentifier }) {
        throw ScenarioError(
          file: file, line: node.mark?.line,
          problem:
            "machine '\(name)' has two apps with the CFBundleIdentifier '\(app.bundleIdentifier)': '\(twin)' and "
            + "'\(app)'")
      }
      guard !apps.contains(app) else {
        throw ScenarioError(file: file, line: node.mark?.line, problem: "machine '\(name)' has '\(app)' twice")
      }
      apps.append(app)
    }
    let enrolledAt = reader.node("enrolled")?.sequence == nil ? nil : try doors(reader)
    let isEnrolled =
      reader.has("enrolled") && enrolledAt == nil
      ? try reader.flag("enrolled", whenTrue: "yes", whenFalse: "no") : true
    guard (isEnrolled && enrolledAt == nil) || apps.contains(.agent) else {
      throw reader.error("machine '\(name)' has no agent, which alone could be enrolled", at: "enrolled")
    }
    return MachineDescription(
      name: name, position: try reader.place("position"), apps: apps,
      hasPrivateAddresses: reader.has("private addresses")
        ? try reader.flag("private addresses", whenTrue: "on", whenFalse: "off") : false,
      isEnrolled: isEnrolled, enrolledAt: enrolledAt)
  }

  /// `enrolled: [front, garage]`
  private static func doors(_ reader: MappingReader) throws(ScenarioError) -> [String] {
    var doors: [String] = []
    for node in try reader.list("enrolled") {
      guard let door = node.scalar?.string, !door.isEmpty else {
        throw reader.error(
          "'enrolled' of \(reader.subject) is yes, no, or a list of machines with a lock", at: "enrolled")
      }
      guard !doors.contains(door) else {
        throw reader.error("'enrolled' of \(reader.subject) names '\(door)' twice", at: "enrolled")
      }
      doors.append(door)
    }
    guard !doors.isEmpty else {
      throw reader.error("'enrolled' of \(reader.subject) lists no machine; say 'no' for none", at: "enrolled")
    }
    return doors
  }

  /// Checks a story with several locks, and the doors at which each phone is enrolled.
  private static func check(doorsOf machines: [MachineDescription], _ reader: MappingReader) throws(ScenarioError) {
    let doors = machines.filter { $0.apps.contains(.lock) }.map(\.name)
    if doors.count > 1, let unusable = doors.first(where: { !DoorKeys.isName($0) }) {
      throw reader.error(
        "in a scenario with several locks, phones call each door by its machine's name, and that does not begin with '-', "
          + "as '\(unusable)' does", at: unusable)
    }
    for machine in machines {
      if let wrong = machine.enrolledAt?.first(where: { !doors.contains($0) }) {
        throw reader.error(
          "'enrolled' of machine '\(machine.name)' names '\(wrong)', which has no lock", at: machine.name,
          choices: doors)
      }
    }
  }

  /// Whether it can name a machine or an app: it becomes the name of a folder.
  static func isName(_ text: String) -> Bool { (1...32).contains(text.utf8.count) && text.utf8.allSatisfy(isNameByte) }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || byte == UInt8(ascii: "-")
  }

  private func promises(_ reader: MappingReader, _ key: String) throws(ScenarioError) -> [PromiseReference] {
    guard reader.has(key) else { return [] }
    var references: [PromiseReference] = []
    for node in try reader.list(key) {
      let reference = try promise(node)
      guard !references.contains(where: { $0.name == reference.name && $0.expectation == reference.expectation }) else {
        throw ScenarioError(
          file: file, line: reference.line, problem: "the promise '\(reference.name)' is listed twice in '\(key)'")
      }
      if let expectation = reference.expectation,
        let other = references.first(where: { $0.expectation?.contradicts(expectation) ?? false })
      {
        let place = other.line.map { " of line \($0)" } ?? ""
        throw ScenarioError(
          file: file, line: reference.line,
          problem: "the promise '\(reference.name)' contradicts '\(other.name)'\(place): nothing could keep both")
      }
      references.append(reference)
    }
    return references
  }

  private func promise(_ node: Node) throws(ScenarioError) -> PromiseReference {
    let reader = ExpectationReader(file: file, machines: machines)
    guard let name = node.scalar?.string else { return PromiseReference(try reader.read(node), line: node.mark?.line) }
    guard Promise.named(name) != nil else { throw reader.refusal(ofWord: name, line: node.mark?.line) }
    return PromiseReference(name, line: node.mark?.line)
  }

  private func steps(_ reader: MappingReader, _ made: inout StoryPapers) throws(ScenarioError) -> [Step] {
    var steps: [Step] = []
    for node in try reader.list("steps") {
      let step = try step(node, made)
      made.take(step.action)
      steps.append(step)
    }
    guard !steps.isEmpty else { throw reader.error("'steps' of \(reader.subject) is empty", at: "steps") }
    return steps
  }

  private func step(_ node: Node, _ made: StoryPapers) throws(ScenarioError) -> Step {
    let reader = try MappingReader(node, subject: "a step", file: file)
    let companions = ["day", "at", "note"]
    let kinds = reader.keys.filter { !companions.contains($0) }
    let unknown = kinds.filter { kind in !StepReader.kinds.contains { $0.name == kind } }
    // A misspelt companion of the step is not a second step.
    if kinds.count - unknown.count == 1, let key = unknown.first,
      let step = kinds.first(where: { !unknown.contains($0) })
    {
      throw reader.error("unknown key '\(key)' beside step '\(step)'", at: key, choices: companions)
    }
    guard kinds.count == 1, let kind = kinds.first else {
      throw reader.error(
        kinds.isEmpty
          ? "a step says what happens" : "a step is one thing that happens, not \(kinds.joined(separator: " and "))",
        choices: kinds.isEmpty ? StepReader.kinds.map(\.name) : [])
    }
    guard let known = StepReader.kinds.first(where: { $0.name == kind }) else {
      throw reader.error("unknown step or fault '\(kind)'", at: kind, choices: StepReader.kinds.map(\.name))
    }
    let time: StepTime
    switch (reader.has("day"), reader.has("at")) {
    case (true, true): throw reader.error("a step has 'day' or 'at', not both")
    case (true, false): time = .day(try reader.number("day", in: 0...36500))
    case (false, true):
      let text = try reader.text("at")
      guard text.hasPrefix("+"), let duration = DurationText.parse(String(text.dropFirst())) else {
        throw reader.error(
          "'at' must be a time after the step before, not '\(text)'", at: "at", choices: ["+30s", "+2h"])
      }
      time = .later(duration)
    case (false, false): time = .next
    }
    let stepReader = StepReader(file: file, machines: machines, kind: kind, outer: reader, made: made) {
      reader, key throws(ScenarioError) in try promises(reader, key)
    }
    return Step(
      line: reader.lineNumber(of: kind), time: time, note: reader.has("note") ? try reader.prose("note") : nil,
      action: try known.read(stepReader))
  }
}
