/// The end of a lock's log: how far it goes, and the hash over everything in it.
///
/// Record n makes `hash(n) = SHA-256(hash(n - 1) || record n)`; before the first record the hash is 32 zero bytes. Nobody
/// who knows the end can be shown a log in which a record was changed, left out or cut off.
package struct LogHead: Equatable, Sendable {
  /// The index of the newest record, or 0 if there is none.
  package var index: UInt64
  /// 32 bytes.
  package var hash: [UInt8]

  package init(index: UInt64, hash: [UInt8]) {
    self.index = index
    self.hash = hash
  }

  /// The end of a log without records.
  package static var empty: LogHead { LogHead(index: 0, hash: [UInt8](repeating: 0, count: NoiseSize.hashByteCount)) }

  /// The end after one more record.
  package func followed<Cryptography: NoiseCryptography>(
    by record: [UInt8], using cryptography: Cryptography.Type
  ) -> LogHead {
    LogHead(index: index &+ 1, hash: Cryptography.hash(hash + record))
  }
}

/// Records of a log, in a row.
package struct LogPage: Equatable, Sendable {
  /// The oldest record that the lock still has; 0 if it has none.
  package var first: UInt64
  /// The log's end now.
  package var head: LogHead
  /// The end before the first record of this page.
  package var before: LogHead
  /// The records, 64 bytes each (`LockRecord` of the firmware).
  package var records: [[UInt8]]

  package init(first: UInt64, head: LogHead, before: LogHead, records: [[UInt8]]) {
    self.first = first
    self.head = head
    self.before = before
    self.records = records
  }

  /// The length of a record in bytes.
  package static let recordByteCount = 64
  /// The most records in one page. A reply with so many is about half as long as a reply may be.
  package static let maximumCount = 32
  /// The greatest index. No lock reaches it, so adding to a lower index needs no overflow check.
  package static let maximumIndex = UInt64.max >> 1
  private static let headByteCount = 8 + NoiseSize.hashByteCount
  private static let emptyByteCount = 8 + 2 * headByteCount + 1

  package var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.write(first)
    writer.write(head.index)
    writer.write(head.hash)
    writer.write(before.index)
    writer.write(before.hash)
    writer.write(UInt8(clamping: records.count))
    for record in records { writer.write(record) }
    return writer.bytes
  }

  /// Reads a page. The number of records must be the one that the page states.
  package init(decoding bytes: [UInt8]) throws(LockMessageError) {
    guard bytes.count >= Self.emptyByteCount else { throw .wrongLength }
    let count = Int(bytes[Self.emptyByteCount - 1])
    guard count <= Self.maximumCount else { throw .unknownValue }
    var reader = try ByteReader(bytes, count: Self.emptyByteCount + count * Self.recordByteCount)
    first = reader.readUInt64()
    head = LogHead(index: reader.readUInt64(), hash: reader.readBytes(NoiseSize.hashByteCount))
    before = LogHead(index: reader.readUInt64(), hash: reader.readBytes(NoiseSize.hashByteCount))
    _ = reader.readByte()
    records = []
    for _ in 0..<count { records.append(reader.readBytes(Self.recordByteCount)) }
    guard head.index <= Self.maximumIndex, before.index <= head.index, first <= head.index else { throw .unknownValue }
  }

  /// The index that a record states, or `nil` if its format is unknown.
  package static func index(of record: [UInt8]) -> UInt64? {
    guard record.count == recordByteCount, record[0] == 1 else { return nil }
    return record[8..<16].reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The end of the log after this page's records.
  package func end<Cryptography: NoiseCryptography>(using cryptography: Cryptography.Type) -> LogHead {
    records.reduce(before) { $0.followed(by: $1, using: cryptography) }
  }
}
