import DurableFiles
import Foundation
import LockCryptography
import LockProtocol

/// The hash chain over the records of one file of the log: its beginning, its end, and marks in between, from which the
/// hash at any record is soon computed.
struct RecordChain {
  /// The end of the log before this file's first record.
  let base: LogHead
  private(set) var head: LogHead
  private var marks: [LogHead] = []
  /// How many records are between two marks.
  static let markInterval: UInt64 = 256

  init(base: LogHead) {
    self.base = base
    head = base
  }

  mutating func append(_ record: [UInt8]) {
    head = head.followed(by: record, using: SwiftCryptography.self)
    if (head.index - base.index).isMultiple(of: Self.markInterval) { marks.append(head) }
  }

  /// The last known end of the log before the record with this index.
  func mark(before index: UInt64) -> LogHead {
    guard index > base.index else { return base }
    let number = Int((index - 1 - base.index) / Self.markInterval)
    return number == 0 ? base : marks[min(number, marks.count) - 1]
  }
}

/// The beginning of the hash chain for each file of the log. A file that was set aside keeps its beginning, so a phone
/// can follow the chain through all files.
struct ChainBeginnings {
  let path: String
  private(set) var beginnings: [LogHead]

  private static let header = Array("latchkey lock chain".utf8) + [1]
  private static let entryByteCount = 8 + NoiseSize.hashByteCount + 4
  /// One beginning for each file that is kept, for the present file, and for one that is being begun.
  private static let limit = RecordLog.olderFileLimit + 2

  /// Reads the file. If it is missing or damaged, there are no beginnings. The chain then begins anew where necessary,
  /// and phones report that the log does not continue what they have seen.
  /// - Returns: whether there was a file that can't be read.
  static func read(_ path: String) -> (beginnings: ChainBeginnings, isDamaged: Bool) {
    var found = ChainBeginnings(path: path, beginnings: [])
    guard let handle = FileHandle(forReadingAtPath: path) else { return (found, access(path, F_OK) == 0) }
    let bytes = [UInt8]((try? handle.read(upToCount: header.count + (limit + 1) * entryByteCount)) ?? Data())
    guard bytes.starts(with: header), (bytes.count - header.count).isMultiple(of: entryByteCount) else {
      return (found, true)
    }
    for start in stride(from: header.count, to: bytes.count, by: entryByteCount) {
      let content = Array(bytes[start..<start + entryByteCount - 4])
      guard
        bytes[(start + entryByteCount - 4)..<(start + entryByteCount)].elementsEqual(RecordLogFormat.checkSum(content)),
        var reader = try? ByteReader(content, count: content.count)
      else { return (found, true) }
      found.beginnings.append(
        LogHead(index: reader.readUInt64(), hash: reader.readBytes(NoiseSize.hashByteCount)))
    }
    return (found, false)
  }

  /// The beginning of the chain for the file whose first record comes right after this index, or `nil` if it is not
  /// known.
  func beginning(after index: UInt64) -> LogHead? { beginnings.first { $0.index == index } }

  /// Adds a beginning, durably. Those of files that are not kept any more are forgotten.
  mutating func add(_ beginning: LogHead) throws {
    guard !beginnings.contains(beginning) else { return }
    var next = beginnings.filter { $0.index != beginning.index } + [beginning]
    next.sort { $0.index < $1.index }
    next = Array(next.suffix(Self.limit))
    var bytes = Self.header
    for head in next {
      var writer = ByteWriter()
      writer.write(head.index)
      writer.write(head.hash)
      bytes += writer.bytes + RecordLogFormat.checkSum(writer.bytes)
    }
    try DurableFile.replace(path, with: bytes)
    beginnings = next
  }
}
