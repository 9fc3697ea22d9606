import AppLinkBus
import ArgumentParser
import ConsoleOutput
import Dispatch
import Glibc
import Synchronization

/// Takes a person's word back when they give up waiting for it: with Ctrl-C, by ending the command, or by closing its terminal.
/// Otherwise the door could open seconds after they have turned to something else. What became of the word is still said.
final class GivingUp: Sendable {
  /// The app has five seconds to say what became of it.
  private static let patience: DispatchTimeInterval = .seconds(7)

  private let signal = Mutex<Int32?>(nil)
  // Set once, before any signal can come. Held so that the sources live as long as this.
  private nonisolated(unsafe) var sources: [any DispatchSourceSignal] = []
  private let queue = DispatchQueue(label: "giving up")

  /// Returns when the word has its answer. Ends this process with the status of the signal if there was one.
  static func watching<Outcome>(_ control: MachineControl, during work: () throws -> Outcome) throws -> Outcome {
    let watch = GivingUp(control)
    let outcome = Result { try work() }
    return try withExtendedLifetime(watch) {
      guard let number = watch.signal.withLock({ $0 }) else { return try outcome.get() }
      switch outcome {
      case .success: Console.complain("latchkey: it was too late to take that back: it is done.")
      case .failure(let error): Console.complain("latchkey: \(Complaint.words(for: error))")
      }
      throw ExitCode(128 + number)
    }
  }

  private init(_ control: MachineControl) {
    sources = [SIGINT, SIGTERM, SIGHUP].map { number in
      // Otherwise the signal would end this process before the queue hears of it.
      Glibc.signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { [self] in giveUp(number, control) }
      source.resume()
      return source
    }
  }

  private func giveUp(_ number: Int32, _ control: MachineControl) {
    let isFirst = signal.withLock { earlier in
      defer { earlier = earlier ?? number }
      return earlier == nil
    }
    // Whoever repeats it does not want to wait. The word is taken back when this process leaves the bus, too.
    guard isFirst else { _exit(128 + number) }
    Console.complain("latchkey: taking that back; a moment")
    queue.asyncAfter(deadline: .now() + Self.patience) {
      Console.complain("latchkey: the app does not say what became of it; look at the door.")
      _exit(128 + number)
    }
    DispatchQueue.global().async {
      do { try control.perform(.withdrawActions) } catch {
        Console.complain("latchkey: \(Complaint.words(for: error)); look at the door.")
        _exit(128 + number)
      }
    }
  }
}
