import Foundation
import Glibc
import Threads

/// Reads lines from a descriptor on a thread of its own, until it ends.
package enum LineReader {
  /// A longer line is truncated to this.
  private static let lineLimit = 4 << 20

  /// Takes ownership of the descriptor. `onEnd` is called last.
  ///
  /// - Throws: if there is no thread for it. Nothing is called then.
  package static func start(
    _ descriptor: Int32, onLine: @escaping @Sendable (Data) -> Void, onEnd: @escaping @Sendable () -> Void
  ) throws(ThreadError) {
    do {
      try DetachedThread.start {
        read(descriptor, onLine)
        close(descriptor)
        onEnd()
      }
    } catch {
      close(descriptor)
      throw error
    }
  }

  private static func read(_ descriptor: Int32, _ onLine: (Data) -> Void) {
    var rest = Data()
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      rest.append(contentsOf: buffer[..<count])
      while let end = rest.firstIndex(of: 0x0A) {
        onLine(rest[rest.startIndex..<end])
        rest = Data(rest[(end + 1)...])
      }
      if rest.count > lineLimit {
        onLine(rest)
        rest = Data()
      }
    }
  }
}
