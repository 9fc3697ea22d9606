import ConsoleOutput
import Dispatch
import Glibc
import Worlds

/// Ends the world in order when somebody interrupts the run; without it the guardian would, a moment later.
final class Interruption: Sendable {
  // `watch` alone uses it, once; held so that the sources live as long as the run.
  private nonisolated(unsafe) var sources: [any DispatchSourceSignal] = []
  private let queue = DispatchQueue(label: "interruption")
  // The queue alone uses it.
  private nonisolated(unsafe) var guardian: Guardian?

  /// Returns at once where nobody has interrupted the run; does not return where somebody has.
  func letItEnd() { queue.sync {} }

  func watch(_ guardian: Guardian) {
    queue.sync { self.guardian = guardian }
    sources = [SIGINT, SIGTERM, SIGHUP].map { number in
      // Else the signal ends this process before the queue hears of it.
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

  /// Ends the world, and then this process as its broken output asks for.
  func endWithOutput() {
    queue.sync { try? guardian?.endWorld() }
    Console.end(program: "latchkey")
  }
}
