import ChildProcesses
import Foundation
import Glibc

/// Ensures that a world ends with its orchestrator, however the orchestrator ends.
///
/// It is a process in a session of its own that holds the reading end of a pipe. Only the orchestrator holds the
/// writing end. A child closes it when it becomes its own program, which is marked as the world's. So when the pipe
/// closes, no process is left that could start something unmarked.
package final class Guardian: Sendable {
  private let process: RunningProcess
  private let pipe: Int32

  package init(latchkey: String, world: String, folder: String, environment: [String: String]) throws {
    let (reading, writing) = try makePipe()
    defer { close(reading) }
    do {
      process = try RunningProcess(
        "the guardian",
        ProcessStart(
          executable: latchkey, arguments: ["guard", "--world", world, "--folder", folder], environment: environment,
          standardInput: reading, standardError: STDERR_FILENO, ownsSession: true))
    } catch {
      close(writing)
      throw error
    }
    pipe = writing
  }

  /// Lets the guardian end the world, and waits until nothing of it is left.
  package func endWorld() throws {
    close(pipe)
    try process.waitForEnd()
    guard process.end == .exited(0) else {
      throw WorldError("the guardian did not finish cleaning up: \(process.end.map(\.description) ?? "still running")")
    }
  }

  /// The work of the guardian's process: waits for its standard input to close, then ends what is left of the world.
  package static func keepWatch(world: String, folder: String) throws {
    for number in [SIGINT, SIGTERM, SIGHUP, SIGPIPE] { signal(number, SIG_IGN) }
    var byte: UInt8 = 0
    while true {
      let count = read(STDIN_FILENO, &byte, 1)
      if count > 0 || (count < 0 && errno == EINTR) { continue }
      break
    }
    try WorldProcesses(world: world).kill()
    try RunFolder.remove(folder, world: world)
  }
}
