import Yams

/// Reads one YAML mapping strictly: unknown keys are errors, and every error names its line. `<<` merges the keys of other mappings,
/// as in YAML 1.1 (<https://yaml.org/type/merge.html>).
package struct MappingReader {
  package let file: String
  /// What is being read, for errors: `step 'move'`.
  package let subject: String
  package let line: Int?
  private let entries: [String: (line: Int?, value: Node)]
  /// Keys in the file's order.
  package let keys: [String]

  package init(_ node: Node, subject: String, file: String) throws(ScenarioError) {
    var mergesLeft = Self.maximumMerges
    try self.init(node, subject: subject, file: file, &mergesLeft)
  }

  /// The most mappings that may be merged into one mapping, directly or through others.
  private static let maximumMerges = 100

  private init(_ node: Node, subject: String, file: String, _ mergesLeft: inout Int) throws(ScenarioError) {
    func error(_ problem: String, at node: Node) -> ScenarioError {
      ScenarioError(file: file, line: node.mark?.line, problem: problem)
    }
    self.file = file
    self.subject = subject
    line = node.mark?.line
    guard case .mapping(let mapping) = node else {
      throw error("\(subject) must be a mapping of keys and values", at: node)
    }
    var entries: [String: (line: Int?, value: Node)] = [:]
    var keys: [String] = []
    var merged: [Node] = []
    for (key, value) in mapping {
      guard let name = key.scalar?.string else { throw error("a key of \(subject) is not a word", at: key) }
      if name == "<<", key.scalar?.style == .plain {
        merged += value.sequence.map(Array.init) ?? [value]
        continue
      }
      guard entries.updateValue((key.mark?.line, value), forKey: name) == nil else {
        throw error("\(subject) has '\(name)' twice", at: key)
      }
      keys.append(name)
    }
    // The mapping's own keys come before merged ones, and those of the first mapping before those of the others.
    for other in merged {
      mergesLeft -= 1
      guard mergesLeft >= 0 else {
        throw error("more than \(Self.maximumMerges) mappings are merged into \(subject)", at: node)
      }
      guard case .mapping = other else {
        throw error("'<<' of \(subject) must be a mapping, or a list of mappings", at: other)
      }
      let reader = try MappingReader(other, subject: subject, file: file, &mergesLeft)
      for name in reader.keys where entries[name] == nil {
        entries[name] = reader.entries[name]
        keys.append(name)
      }
    }
    self.entries = entries
    self.keys = keys
  }

  /// A mapping without keys, for a step or value in its short form.
  package init(emptyAt line: Int?, subject: String, file: String) {
    self.file = file
    self.subject = subject
    self.line = line
    entries = [:]
    keys = []
  }

  /// Every key must be one of these.
  package func allow(_ valid: [String]) throws(ScenarioError) {
    for key in keys where !valid.contains(key) {
      throw error("unknown key '\(key)' in \(subject)", at: key, choices: valid)
    }
  }

  package func error(_ problem: String, at key: String? = nil, choices: [String] = []) -> ScenarioError {
    ScenarioError(file: file, line: key.flatMap { entries[$0]?.line } ?? line, problem: problem, choices: choices)
  }

  package func lineNumber(of key: String) -> Int? { entries[key]?.line ?? line }
  package func has(_ key: String) -> Bool { entries[key] != nil }
  package func node(_ key: String) -> Node? { entries[key]?.value }

  /// - Parameter choices: the values that are possible there, for the error.
  package func required(_ key: String, _ choices: [String] = []) throws(ScenarioError) -> Node {
    guard let node = node(key) else { throw error("\(subject) has no '\(key)'", choices: choices) }
    return node
  }

  /// A name or another text of one line. A line break in it is an error: without it, the name would be another.
  package func text(_ key: String, _ choices: [String] = []) throws(ScenarioError) -> String {
    try printable(try required(key, choices), key, choices) { text, style in
      // Every block of text (`|`, `>`) ends with a line break.
      let isBlock = style == .literal || style == .folded
      return isBlock && text.last?.isNewline == true ? String(text.dropLast()) : text
    }
  }

  /// A text for people, which may be on several lines (`|`). Its lines become one.
  package func prose(_ key: String) throws(ScenarioError) -> String {
    try printable(try required(key), key, []) { text, _ in
      text.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
  }

  /// The text may be printed to a terminal, which takes some characters for commands.
  private func printable(
    _ node: Node, _ key: String, _ choices: [String], _ lines: (String, Node.Scalar.Style) -> String
  ) throws(ScenarioError) -> String {
    guard let scalar = node.scalar, case let text = lines(scalar.string, scalar.style), !text.isEmpty else {
      throw error("'\(key)' of \(subject) must be a word or a line of text", at: key, choices: choices)
    }
    if let problem = Self.unprintable(in: text) { throw error("'\(key)' of \(subject) \(problem)", at: key) }
    return text
  }

  /// What is wrong with a text that is not one line of characters that can be printed.
  package static func unprintable(in text: String) -> String? {
    if text.contains(where: \.isNewline) { return "has a line break in it, and must be one line of text" }
    let control = text.unicodeScalars.first { $0.properties.generalCategory == .control }
    return control.map { "has a character in it that can't be printed, U+\(String($0.value, radix: 16))" }
  }

  package func optionalText(_ key: String) throws(ScenarioError) -> String? {
    has(key) ? try text(key) : nil
  }

  package func number(_ key: String, in range: ClosedRange<Double>) throws(ScenarioError) -> Double {
    let text = try text(key)
    guard let value = DurationText.number(text), range.contains(value) else {
      throw error(
        "'\(key)' of \(subject) must be a number from \(range.lowerBound) to \(range.upperBound), not '\(text)'",
        at: key)
    }
    return value
  }

  package func wholeNumber(_ key: String, in range: ClosedRange<Int>) throws(ScenarioError) -> Int {
    let text = try text(key)
    guard let value = DurationText.number(text).flatMap({ Int(exactly: $0) }), range.contains(value) else {
      throw error(
        "'\(key)' of \(subject) must be a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'",
        at: key)
    }
    return value
  }

  package func duration(_ key: String) throws(ScenarioError) -> Duration {
    let examples = ["250ms", "10s", "5min", "2h", "1.5d"]
    let text = try text(key, examples)
    guard !DurationText.isTooLong(text) else {
      throw error("'\(key)' of \(subject) is longer than \(DurationText.maximumDays)d: '\(text)'", at: key)
    }
    guard let duration = DurationText.parse(text) else {
      throw error("'\(key)' of \(subject) must be a duration, not '\(text)'", at: key, choices: examples)
    }
    return duration
  }

  /// A duration with its sign: `+2h`, `-30s`.
  package func change(_ key: String) throws(ScenarioError) -> Duration {
    let examples = ["+2h", "-30s"]
    let text = try text(key, examples)
    guard !DurationText.isTooLong(String(text.dropFirst())) else {
      throw error("'\(key)' of \(subject) is longer than \(DurationText.maximumDays)d: '\(text)'", at: key)
    }
    guard let sign = text.first, sign == "+" || sign == "-", let amount = DurationText.parse(String(text.dropFirst()))
    else {
      throw error("'\(key)' of \(subject) must be a time ahead or back, not '\(text)'", at: key, choices: examples)
    }
    return sign == "-" ? .zero - amount : amount
  }

  /// How long a walk takes: more than zero.
  package func walk(_ key: String) throws(ScenarioError) -> Duration {
    let duration = try duration(key)
    guard duration > .zero else {
      throw error(
        "'\(key)' of \(subject) must be longer than no time; without '\(key)' the move is done at once", at: key,
        choices: ["45s", "3min"])
    }
    return duration
  }

  /// One of two words for a state: `on` and `off`, `open` and `shut`.
  package func flag(_ key: String, whenTrue: String, whenFalse: String) throws(ScenarioError) -> Bool {
    let text = try text(key, [whenTrue, whenFalse])
    if text == whenTrue { return true }
    if text == whenFalse { return false }
    throw error("'\(key)' of \(subject) can't be '\(text)'", at: key, choices: [whenTrue, whenFalse])
  }

  package func list(_ key: String, _ choices: [String] = []) throws(ScenarioError) -> [Node] {
    guard let sequence = try required(key, choices).sequence else {
      let text = node(key)?.scalar?.string ?? ""
      throw error("'\(key)' of \(subject) must be a list" + (text.isEmpty ? "" : ", as in [\(text)]"), at: key)
    }
    return Array(sequence)
  }

  package func place(_ key: String) throws(ScenarioError) -> Place {
    let values = try required(key, ["[400, 0]"]).sequence?.map { $0.scalar.flatMap { DurationText.number($0.string) } }
    guard let values, values.count == 2, let x = values[0], let y = values[1], abs(x) <= 1e6, abs(y) <= 1e6 else {
      throw error(
        "'\(key)' of \(subject) must be two numbers in metres, as in [400, 0], and none beyond 1000 km", at: key)
    }
    return Place(x: x, y: y)
  }

  package func choice<Choice: RawRepresentable & CaseIterable>(
    _ key: String, _ kind: Choice.Type
  ) throws(ScenarioError) -> Choice where Choice.RawValue == String {
    let choices = Choice.allCases.map(\.rawValue)
    let text = try text(key, choices)
    guard let choice = Choice(rawValue: text) else {
      throw error("'\(key)' of \(subject) can't be '\(text)'", at: key, choices: choices)
    }
    return choice
  }
}

extension String {
  /// YAML for the parser. Some editors begin a file with a byte order mark, which it takes for a part of the first key.
  package var withoutByteOrderMark: String {
    unicodeScalars.first == "\u{FEFF}" ? String(unicodeScalars.dropFirst()) : self
  }
}
