import ChildProcesses

/// A command that a person has typed at a machine: `latchkey` with these words. It may take the world's time.
package protocol TypedCommand: AnyObject {
  /// What it said, once it has ended; before that `nil`.
  func outcome() throws -> FinishedProcess?
}

/// A command that was waited for already.
final class FinishedCommand: TypedCommand {
  private let finished: FinishedProcess

  init(_ finished: FinishedProcess) { self.finished = finished }

  func outcome() -> FinishedProcess? { finished }
}
