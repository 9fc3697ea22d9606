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
    return "\(place): \(problem)\(valid)"
  }
}
