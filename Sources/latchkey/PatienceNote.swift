import ConsoleOutput
import Dispatch
import Glibc

/// Tells a person at a terminal that their command is still waiting, and for what. Programs get no such note, because
/// they read a command's output when it has ended.
enum PatienceNote {
  /// Most answers come within this time.
  private static let delay: DispatchTimeInterval = .seconds(5)

  /// Writes the note to the error output if `work` takes longer.
  static func saying<Outcome>(_ note: String, during work: () throws -> Outcome) rethrows -> Outcome {
    guard isatty(STDERR_FILENO) == 1 else { return try work() }
    let item = DispatchWorkItem { Console.complain("latchkey: \(note)") }
    DispatchQueue.global().asyncAfter(deadline: .now() + delay, execute: item)
    defer { item.cancel() }
    return try work()
  }
}
