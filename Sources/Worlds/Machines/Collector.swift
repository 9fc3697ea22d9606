import Foundation
import Glibc

/// Takes in what a process writes, up to a limit, on a thread of its own.
final class Collector: @unchecked Sendable {
  // Guarded by the condition.
  private let condition = NSCondition()
  private var data = Data()
  private var hasEnded = false

  static let limit = 8 << 20

  /// Takes possession of the descriptor.
  init(_ descriptor: Int32) {
    Thread.detachNewThread { [self] in
      var buffer = [UInt8](repeating: 0, count: 65536)
      while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        condition.lock()
        // What comes beyond the limit is read, so that the process goes on, and forgotten.
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

  /// All that a process wrote which has ended: what is still in the pipe is waited for, 5 s at most, since somebody whom
  /// it left behind may have the other end.
  var finalText: String {
    _ = waitForEnd(until: .now() + .seconds(5))
    return text
  }

  /// - Returns: whether what came is as wanted; `false` when it ended or the time is up.
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
