import Foundation
import LockCryptography
import LockFirmware
import LockProtocol

/// Pages of the log, for phones that read it.
extension RecordLog {
  /// The log's end.
  package var head: LogHead { chain.head }

  /// Consecutive records from this index on, or from the oldest one that there is. With a count of 0, only the log's
  /// end.
  package func page(from: UInt64, count: Int) throws -> LogPage {
    let count = min(count, LogPage.maximumCount)
    let files = self.files()
    let oldest = files.first?.base.index ?? chain.base.index
    let first = head.index == 0 ? 0 : oldest + 1
    guard count > 0, from <= head.index, head.index > 0 else {
      return LogPage(first: first, head: head, before: head, records: [])
    }
    let start = max(from, oldest + 1)
    let file = files.last { $0.base.index < start } ?? presentFile
    let mark = try chain(of: file).mark(before: start)
    let last = min(start + UInt64(count) - 1, file.last)
    let records = try file.records(from: mark.index + 1, through: last)
    let skipped = Int(start - 1 - mark.index)
    var before = mark
    for record in records.prefix(skipped) { before = before.followed(by: record, using: SwiftCryptography.self) }
    return LogPage(first: first, head: head, before: before, records: Array(records.dropFirst(skipped)))
  }

  private var presentFile: PageFile { PageFile(path: path, base: chain.base, last: head.index) }

  /// The files whose chain is known and without a gap up to the present one, oldest first.
  private func files() -> [PageFile] {
    var found = [presentFile]
    for older in olderFiles().reversed() {
      guard let next = found.first, older.last >= next.base.index else { break }
      guard let base = base(ofOlder: older) else { break }
      found.insert(PageFile(path: older.path, base: base, last: older.last), at: 0)
    }
    return found
  }

  /// The beginning of the chain for a file that was set aside. `nil` if it is not known, or if the file ends before its
  /// last record. Only the beginning of the file is read, because a phone that reads one page must not wait for a
  /// million hashes.
  private func base(ofOlder file: (path: String, last: UInt64)) -> LogHead? {
    if let known = olderChains[file.last] { return known.base }
    guard let handle = FileHandle(forReadingAtPath: file.path),
      let bytes = try? handle.read(upToCount: RecordLogFormat.offset(ofRecord: 1)).map({ [UInt8]($0) }),
      bytes.starts(with: RecordLogFormat.header), let first = RecordLogFormat.record(at: 0, in: bytes), first.index > 0,
      let base = first.index == 1 ? .empty : beginnings.beginning(after: first.index - 1),
      let byteCount = try? handle.seekToEnd(), byteCount <= UInt64(Self.maximumByteCount)
    else { return nil }
    return base.index + UInt64(RecordLogFormat.recordCount(ofByteCount: Int(byteCount))) == file.last ? base : nil
  }

  /// A file that was set aside does not change any more, so its chain is computed once, when a phone reads that far back.
  private func chain(of file: PageFile) throws -> RecordChain {
    if file.path == path { return chain }
    if let known = olderChains[file.last] { return known }
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file.path), options: .alwaysMapped))
    var chain = RecordChain(base: file.base)
    for number in 0..<RecordLogFormat.recordCount(ofByteCount: bytes.count) {
      chain.append(RecordLogFormat.encoded(at: number, in: bytes))
    }
    guard chain.head.index == file.last else { throw RecordLogError.damaged(path: file.path, record: file.last) }
    olderChains[file.last] = chain
    return chain
  }
}

/// One file of the log, for reading.
private struct PageFile {
  var path: String
  /// The end of the log before its first record.
  var base: LogHead
  /// The index of its last record.
  var last: UInt64

  /// The encoded records between these indexes, which must be few.
  func records(from: UInt64, through last: UInt64) throws -> [[UInt8]] {
    let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    let offset = RecordLogFormat.offset(ofRecord: Int(from - 1 - base.index))
    try handle.seek(toOffset: UInt64(offset))
    let count = Int(last - from + 1)
    let bytes = [UInt8](try handle.read(upToCount: count * RecordLogFormat.entryByteCount) ?? Data())
    guard bytes.count == count * RecordLogFormat.entryByteCount else {
      throw RecordLogError.damaged(path: path, record: last)
    }
    return try (0..<count).map { number in
      let start = number * RecordLogFormat.entryByteCount
      let encoded = Array(bytes[start..<start + LockRecord.byteCount])
      guard
        bytes[(start + LockRecord.byteCount)..<(start + RecordLogFormat.entryByteCount)].elementsEqual(
          RecordLogFormat.checkSum(encoded))
      else { throw RecordLogError.damaged(path: path, record: from + UInt64(number)) }
      return encoded
    }
  }
}
