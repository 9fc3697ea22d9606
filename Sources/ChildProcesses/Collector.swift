import Foundation
import Glibc
import Threads

/// Collects the output of a process, up to a limit, on a separate thread.
package final class Collector: @unchecked Sendable {
  // Guarded by the condition.
  private let condition = NSCondition()
  private var data = Data()
  private var hasEnded = false

  private static let limit = 8 << 20

  /// Takes ownership of the descriptor.
  package init(_ descriptor: Int32) throws(ThreadError) {
    do { try DetachedThread.start { [self] in collect(descriptor) } } catch {
      close(descriptor)
      throw error
    }
  }

  private func collect(_ descriptor: Int32) {
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      condition.lock()
      // Output beyond the limit is read and dropped, so that the process can continue.
      if data.count < Self.limit { data.append(contentsOf: buffer[..<count]) }
      condition.broadcast()
      condition.unlock()
    }
    close(descriptor)
    condition.lock()
    hasEnded = true
    condition.broadcast()
    condition.unlock()
  }

  package var text: String {
    condition.lock()
    defer { condition.unlock() }
    return String(decoding: data, as: UTF8.self)
  }

  /// Everything that an ended process has written. Waits at most 5 s for what is still in the pipe, because a process
  /// that it left behind may hold the other end.
  package var finalText: String {
    _ = waitForEnd(until: .now + .seconds(5))
    return text
  }

  /// - Returns: whether the text fits; `false` when the output has ended or the time is up.
  package func wait(until deadline: ContinuousClock.Instant, _ fits: (String) -> Bool) -> Bool {
    wait(until: deadline) { fits(String(decoding: data, as: UTF8.self)) }
  }

  package func waitForEnd(until deadline: ContinuousClock.Instant) -> Bool { wait(until: deadline) { hasEnded } }

  private func wait(until deadline: ContinuousClock.Instant, _ isDone: () -> Bool) -> Bool {
    condition.lock()
    defer { condition.unlock() }
    while !isDone() {
      let left = ContinuousClock.now.duration(to: deadline)
      guard !hasEnded, left > .zero else { return false }
      _ = condition.wait(until: Date(timeIntervalSinceNow: left / .seconds(1)))
    }
    return true
  }
}
