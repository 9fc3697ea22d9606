import Foundation
import Glibc

/// Collects what a process writes, up to a limit, on a thread of its own.
final class Collector: @unchecked Sendable {
  // Guarded by the condition.
  private let condition = NSCondition()
  private var data = Data()
  private var hasEnded = false

  static let limit = 8 << 20

  /// Takes ownership of the descriptor.
  init(_ descriptor: Int32) {
    Thread.detachNewThread { [self] in
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
  }

  var text: String {
    condition.lock()
    defer { condition.unlock() }
    return String(decoding: data, as: UTF8.self)
  }

  /// Everything that an ended process has written. Waits for what is still in the pipe, for at most 5 s, because a
  /// process that it left behind may hold the other end.
  var finalText: String {
    _ = waitForEnd(until: .now() + .seconds(5))
    return text
  }

  /// - Returns: whether the text is as wanted; `false` when the output has ended or the time is up.
  func wait(until deadline: DispatchTime, _ fits: (String) -> Bool) -> Bool {
    wait(until: deadline) { fits(String(decoding: data, as: UTF8.self)) }
  }

  func waitForEnd(until deadline: DispatchTime) -> Bool { wait(until: deadline) { hasEnded } }

  private func wait(until deadline: DispatchTime, _ isDone: () -> Bool) -> Bool {
    condition.lock()
    defer { condition.unlock() }
    while !isDone() {
      let now = DispatchTime.now()
      guard !hasEnded, now < deadline else { return false }
      let seconds = Double(deadline.uptimeNanoseconds - now.uptimeNanoseconds) / 1e9
      _ = condition.wait(until: Date(timeIntervalSinceNow: seconds))
    }
    return true
  }
}
