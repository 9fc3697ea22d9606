/// What is wrong with a scenario: where, what, and what would be right.
public struct ScenarioError: Error, Sendable, Equatable, CustomStringConvertible {
  public var file: String
  public var line: Int?
  public var problem: String
  /// What could stand there instead.
  public var choices: [String]

  public init(file: String, line: Int?, problem: String, choices: [String] = []) {
    self.file = file
    self.line = line
    self.problem = problem
    self.choices = choices
  }

  public var description: String {
    let place = line.map { "\(file):\($0)" } ?? file
    let valid = choices.isEmpty ? "" : " (valid: \(choices.joined(separator: ", ")))"
    return Self.printable("\(place): \(problem)\(valid)")
  }

  /// A line that a terminal shows as it is, and of a length that a person reads: what a file has in it gets into errors.
  static func printable(_ text: String, limit: Int = 1000) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      guard result.utf8.count < limit else { return result + "…" }
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned:
        result += scalar == "\n" || scalar == "\t" ? " " : "\\u{\(String(scalar.value, radix: 16))}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
