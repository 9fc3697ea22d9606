import Foundation
import Glibc

/// Reads lines from a descriptor on a thread of its own, until it ends.
package enum LineReader {
  /// A longer line is truncated to this.
  private static let lineLimit = 4 << 20

  /// Takes ownership of the descriptor. `onEnd` is called last.
  package static func start(
    _ descriptor: Int32, onLine: @escaping @Sendable (Data) -> Void, onEnd: @escaping @Sendable () -> Void
  ) {
    Thread.detachNewThread {
      var rest = Data()
      var buffer = [UInt8](repeating: 0, count: 65536)
      while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
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
      close(descriptor)
      onEnd()
    }
  }
}
