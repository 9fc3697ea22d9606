import Dispatch
import Timekeeping

/// Writes a message to the lock soon, but not at once: an alarm rings after everything that arrived at this moment was
/// handled. So a command that is due now goes first, in whatever order the lock's answer and its offer reached this process.
@MainActor final class SoonWriter {
  private var waiting: (message: [UInt8], tag: UInt8)?
  private var alarm: (any Alarm)?
  private let time: any TimeSource
  private let write: ([UInt8], UInt8) -> Void

  /// - Parameter write: writes a message in fragments with a tag.
  init(time: any TimeSource, write: @escaping ([UInt8], UInt8) -> Void) {
    self.time = time
    self.write = write
    alarm = time.makeAlarm { [weak self] in
      DispatchQueue.main.async { MainActor.assumeIsolated { self?.writeWaiting() } }
    }
  }

  func add(_ message: [UInt8], tag: UInt8) {
    waiting = (message, tag)
    alarm?.set(time.now)
  }

  /// Drops what is not written yet.
  func drop() { waiting = nil }

  private func writeWaiting() {
    guard let (message, tag) = waiting else { return }
    waiting = nil
    write(message, tag)
  }
}
