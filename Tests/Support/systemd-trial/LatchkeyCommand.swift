import ChildProcesses
import Foundation

/// The `latchkey` command on the machine of the trial.
enum LatchkeyCommand {
  static let path = Home.programs + "/latchkey"

  /// What the doctor found.
  struct Diagnosis: CustomStringConvertible {
    var status: Int32
    /// The names of the faults, and everything else that is not as it should be.
    var broken: [String]
    var others: [String]
    var description: String { "\(broken), \(others), status \(status)" }
  }

  private struct Report: Decodable {
    struct Finding: Decodable {
      var name: String?
      var weight: String
      var found: String
    }
    var findings: [Finding]
  }

  static func diagnosis() throws -> Diagnosis {
    let outcome = try run(path, "doctor", "--json")
    guard case .exited(let status) = outcome.end else { throw TrialError("latchkey doctor: \(outcome)") }
    let findings = try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8)).findings
    return Diagnosis(
      status: status, broken: findings.filter { $0.weight == "broken" }.compactMap(\.name),
      others: findings.filter { !["broken", "fine"].contains($0.weight) }.map { "\($0.name ?? ""): \($0.found)" })
  }

  static func run(_ program: String, _ arguments: String...) throws -> FinishedProcess {
    let start = ProcessStart(
      executable: program, arguments: arguments, environment: ProcessInfo.processInfo.environment)
    guard let finished = try FinishedProcess.run(program, start, limit: .seconds(300)) else {
      throw TrialError("\(program) \(arguments) does not end")
    }
    return finished
  }
}
