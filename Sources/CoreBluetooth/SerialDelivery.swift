import Dispatch
import Foundation

/// Runs pieces of work on an app's queue one at a time, in the order in which they were added.
///
/// An app may pass a concurrent queue, such as `DispatchQueue.global()`. Apple's systems then call the delegate in order all the
/// same, and never twice at once.
final class SerialDelivery: @unchecked Sendable {
  let queue: DispatchQueue
  private let lock = NSLock()
  private var arriving: [@Sendable () -> Void] = []
  /// The next pieces of work, in reverse order.
  private var leaving: [@Sendable () -> Void] = []
  private var isRunning = false
  /// How many of the queue's blocks found a piece of work running on another thread. That thread runs one piece of work
  /// for each of them afterwards.
  private var owed = 0

  init(_ queue: DispatchQueue) { self.queue = queue }

  enum Progress {
    case idle
    /// A piece of work runs now.
    case running
    /// There is work, and the queue does not run it.
    case waiting
  }

  var progress: Progress {
    lock.withLock { isRunning ? .running : arriving.isEmpty && leaving.isEmpty ? .idle : .waiting }
  }

  /// On a serial queue this is the same as the queue's own `async`.
  func async(_ work: @escaping @Sendable () -> Void) {
    lock.withLock { arriving.append(work) }
    queue.async { [self] in
      let isFree = lock.withLock {
        if isRunning { owed += 1 }
        defer { isRunning = true }
        return !isRunning
      }
      guard isFree else { return }
      repeat { takeNext()() } while owesMore()
    }
  }

  /// There is always a next piece: each block on the queue was put there after a piece was added.
  private func takeNext() -> @Sendable () -> Void {
    lock.withLock {
      if leaving.isEmpty {
        leaving = arriving.reversed()
        arriving = []
      }
      return leaving.removeLast()
    }
  }

  private func owesMore() -> Bool {
    lock.withLock {
      isRunning = owed > 0
      if isRunning { owed -= 1 }
      return isRunning
    }
  }
}
