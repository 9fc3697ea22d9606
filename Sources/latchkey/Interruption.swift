import ConsoleOutput
import Dispatch
import Glibc
import Worlds

/// Ends the world in order when the run is interrupted. Without this, the guardian would end it a moment later.
final class Interruption: Sendable {
  // Used only by `watch`, once. Held so that the sources live as long as the run.
  private nonisolated(unsafe) var sources: [any DispatchSourceSignal] = []
  private let queue = DispatchQueue(label: "interruption")
  // Used only on the queue.
  private nonisolated(unsafe) var guardian: Guardian?

  /// Returns at once if the run has not been interrupted. Does not return if it has.
  func letItEnd() { queue.sync {} }

  func watch(_ guardian: Guardian) {
    queue.sync { self.guardian = guardian }
    sources = [SIGINT, SIGTERM, SIGHUP].map { number in
      // Otherwise the signal would end this process before the queue hears of it.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        Console.complain("latchkey: interrupted; ending what runs")
        try? guardian.endWorld()
        _exit(128 + number)
      }
      source.resume()
      return source
    }
  }

  /// Ends the world, and then this process with the status for its broken output.
  func endWithOutput() {
    queue.sync { try? guardian?.endWorld() }
    Console.end(program: "latchkey")
  }
}
