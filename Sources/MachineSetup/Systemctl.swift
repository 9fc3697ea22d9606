import ChildProcesses
import Foundation

/// systemd, through its `systemctl` command.
struct Systemctl {
  /// How the command ended.
  struct Ending: Sendable, Equatable {
    /// Its exit status, or `nil` if a signal ended it.
    var status: Int32?
    /// Its error output.
    var errors: String
  }

  /// How many times a unit is started before it counts as one that does not start.
  static let startAttempts = 3
  /// The status if a job failed or was cancelled. If systemd can't even begin, for example because the unit is
  /// missing, the status is another (seen with 252: 5 for a missing unit).
  private static let jobFailed: Int32 = 1

  /// Runs `systemctl` with these arguments until it ends.
  /// - Throws: if it can't be run.
  var run: ([String]) throws -> Ending = Self.runProcess

  /// Makes systemd run a unit now and at every boot.
  func enable(_ unit: String) throws(SetupProblem) {
    try succeed(["enable", "--quiet", "--now", unit])
  }

  /// Starts a unit, and returns when it is up.
  ///
  /// latchkeyd may be starting it, too; systemd then makes one job of both. If the process that was to end had only
  /// just been started, that job fails or is cancelled, and the next job counts.
  func start(_ unit: String) throws(SetupProblem) {
    let arguments = ["start", unit]
    var last = ""
    for _ in 0..<Self.startAttempts {
      let ending = try end(arguments)
      switch ending.status {
      case 0: return
      case Self.jobFailed: last = ending.reason
      default: throw .failed(command: Self.command(arguments), reason: ending.reason)
      }
    }
    throw .unitDoesNotStart(unit: unit, attempts: Self.startAttempts, reason: last)
  }

  /// Restarts a unit, if it runs.
  func restartIfRunning(_ unit: String) throws(SetupProblem) { try succeed(["try-restart", unit]) }

  /// Ends a unit, and keeps it from running at boot.
  func disable(_ unit: String) throws(SetupProblem) { try succeed(["disable", "--quiet", "--now", unit]) }

  /// Ends a unit that systemd may have frozen. systemd 256 and later refuse to stop a frozen one.
  func stop(_ unit: String) throws(SetupProblem) {
    // It fails for a unit that is not frozen, and then nothing has to be thawed.
    _ = try end(["thaw", "--quiet", unit])
    try succeed(["stop", unit])
  }

  private func succeed(_ arguments: [String]) throws(SetupProblem) {
    let ending = try end(arguments)
    guard ending.status == 0 else { throw .failed(command: Self.command(arguments), reason: ending.reason) }
  }

  private func end(_ arguments: [String]) throws(SetupProblem) -> Ending {
    do { return try run(arguments) } catch {
      throw .failed(command: Self.command(arguments), reason: "\(error)")
    }
  }

  private static func command(_ arguments: [String]) -> String { (["systemctl"] + arguments).joined(separator: " ") }

  private static func runProcess(_ arguments: [String]) throws -> Ending {
    let start = ProcessStart(
      executable: "/usr/bin/systemctl", arguments: arguments, environment: ProcessInfo.processInfo.environment)
    guard let finished = try FinishedProcess.run("systemctl", start, limit: limit) else {
      return Ending(status: nil, errors: "it did not end within \(limit)")
    }
    guard case .exited(let status) = finished.end else { return Ending(status: nil, errors: finished.errors) }
    return Ending(status: status, errors: finished.errors)
  }

  /// The longest wait. A job has 90 s unless its unit says otherwise, so one that takes this long never ends.
  private static let limit = Duration.seconds(900)
}

extension Systemctl.Ending {
  /// Its error output, or how it ended if there is none.
  fileprivate var reason: String {
    let words = errors.trimmingCharacters(in: .whitespacesAndNewlines)
    if !words.isEmpty { return words }
    return status.map { "it ended with \($0) and said nothing" } ?? "a signal ended it"
  }
}
