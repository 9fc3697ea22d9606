import Foundation
import Glibc

/// Reads a journal file as it grows. Incomplete input does not stop it: the beginning of a line waits for its end,
/// and a damaged line is counted and skipped.
package struct JournalReader: ~Copyable {
  /// A longer line is damaged; entries are far shorter.
  static let lineLimit = 256 * 1024

  private let file: Int32
  private var rest: [UInt8] = []
  /// The present line is too long to be an entry, and is skipped up to its end.
  private var isSkipping = false
  /// How many lines were not entries.
  package private(set) var damagedLineCount = 0

  /// Opens `path`, which must exist, at its beginning.
  ///
  /// - Throws: `JournalError`.
  package init(path: String) throws {
    file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      throw JournalError(description: "the journal \(path): \(String(cString: strerror(errno)))")
    }
  }

  deinit { close(file) }

  /// The entries written since the last call, in the file's order.
  ///
  /// - Throws: `JournalError` when the file can't be read.
  package mutating func read() throws -> [JournalEntry] {
    var entries: [JournalEntry] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    let decoder = JSONDecoder()
    while true {
      let count = Glibc.read(file, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        throw JournalError(description: "reading the journal: \(String(cString: strerror(errno)))")
      }
      guard count > 0 else { return entries }
      take(buffer[..<count], with: decoder, into: &entries)
    }
  }

  private mutating func take(_ bytes: ArraySlice<UInt8>, with decoder: JSONDecoder, into entries: inout [JournalEntry])
  {
    var bytes = bytes
    while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
      let line = rest + bytes[..<end]
      bytes = bytes[(end + 1)...]
      rest = []
      if isSkipping {
        isSkipping = false
      } else if let entry = try? decoder.decode(JournalEntry.self, from: Data(line)) {
        entries.append(entry)
      } else {
        damagedLineCount += 1
      }
    }
    guard !isSkipping else { return }
    rest += bytes
    if rest.count > Self.lineLimit {
      rest = []
      isSkipping = true
      damagedLineCount += 1
    }
  }
}
