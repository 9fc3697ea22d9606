import Foundation
import Worlds

/// The lines that a process prints, for a thread that waits for one of them.
final class Announcements: @unchecked Sendable {
  private let condition = NSCondition()
  private var lines: [String] = []
  private var hasEnded = false

  func add(_ line: String) {
    condition.withLock {
      lines.append(line)
      condition.broadcast()
    }
  }

  /// Notes that no more lines will come.
  func end() {
    condition.withLock {
      hasEnded = true
      condition.broadcast()
    }
  }

  /// Returns when a line with these words has come, and forgets all lines up to it.
  func wait(for words: String, limit: Duration) throws {
    let deadline = Date() + Double(limit.components.seconds)
    try condition.withLock {
      while true {
        if let index = lines.firstIndex(where: { $0.contains(words) }) {
          lines.removeSubrange(...index)
          return
        }
        guard !hasEnded else { throw WorldError("\(words) was not said before the end") }
        guard condition.wait(until: deadline) else {
          throw WorldError("\(words) was not said in \(limit.components.seconds) s")
        }
      }
    }
  }
}
