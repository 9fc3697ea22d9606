import Glibc
import Synchronization

/// Gives memory back to the machine that a large message has taken: latchkeyd lives for months, and hears of thousands
/// of devices at once when it starts.
package final class Heap: Sendable {
  private let isTrimDue = Mutex(false)

  /// A message of at least this many bytes counts as large.
  private static let large = 1 << 20
  /// glibc's `malloc_trim`, whose header Swift's module for glibc leaves out. `nil` with another C library.
  private static let trim: (@convention(c) (Int) -> Int32)? = dlsym(nil, "malloc_trim").map {
    unsafeBitCast($0, to: (@convention(c) (Int) -> Int32).self)
  }

  /// A message of this size was handled. It is itself released a little later, so the next message's turn gives its
  /// memory back.
  func handled(bytes: Int) {
    let isDue = isTrimDue.withLock { isDue in
      defer { isDue = bytes >= Self.large }
      return isDue
    }
    if isDue { Self.giveBack() }
  }

  /// Gives back what is free.
  package static func giveBack() { _ = trim?(0) }
}
