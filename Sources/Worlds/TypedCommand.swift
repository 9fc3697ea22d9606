import ChildProcesses

/// A command that a person has typed at a machine: `latchkey` with these words. It may take the world's time.
package protocol TypedCommand: AnyObject {
  /// The command's output and how it ended, or `nil` while it is running.
  func outcome() throws -> FinishedProcess?
}

/// A command that has already ended.
final class FinishedCommand: TypedCommand {
  private let finished: FinishedProcess

  init(_ finished: FinishedProcess) { self.finished = finished }

  func outcome() -> FinishedProcess? { finished }
}
