/// What is wrong with a scenario: where, what, and what would be correct.
package struct ScenarioError: Error, Sendable, Equatable, CustomStringConvertible {
  package var file: String
  package var line: Int?
  package var problem: String
  /// Valid alternatives.
  package var choices: [String]

  package init(file: String, line: Int?, problem: String, choices: [String] = []) {
    self.file = file
    self.line = line
    self.problem = problem
    self.choices = choices
  }

  package var description: String {
    let place = line.map { "\(file):\($0)" } ?? file
    let valid = choices.isEmpty ? "" : " (valid: \(choices.joined(separator: ", ")))"
    return Self.printable("\(place): \(problem)\(valid)")
  }

  /// One line that is safe to print on a terminal, of limited length, because contents of a file appear in errors.
  package static func printable(_ text: String, limit: Int = 1000) -> String {
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
