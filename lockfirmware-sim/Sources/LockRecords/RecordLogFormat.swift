import Foundation
import LockFirmware
import LockProtocol

/// Why the log can't be used.
package enum RecordLogError: Error, Equatable, CustomStringConvertible {
  case system(path: String, call: String, number: Int32)
  case inUse(path: String)
  case notALog(path: String)
  case unknownVersion(path: String, version: UInt8)
  case damaged(path: String, record: UInt64)
  /// The record is complete, but contains something unknown to this program.
  case unknownRecord(path: String, record: UInt64)
  case tooLong(path: String)
  /// The log ends before a record that was durable. `found` is the last record in it, 0 for none.
  case shortened(path: String, found: UInt64, stored: UInt64)
  /// There is no log, and `trace` shows that there was one.
  case missing(path: String, trace: String)
  case countDamaged(path: String)
  /// Losses are accepted as the user of the log's folder alone: another's new files would keep the lock out.
  case otherUser(path: String)

  package var description: String {
    switch self {
    case .system(let path, let call, let number): "\(path): \(call): \(String(cString: strerror(number)))"
    case .inUse(let path): "\(path) is in use by another lock"
    case .notALog(let path): "\(path) is not a lock's log; it was left as it is. \(Self.advice(path))"
    case .unknownVersion(let path, let version):
      "\(path) is a log of version \(version), which this program does not know; it was left as it is: install the newer "
        + "latchkey-lock"
    case .damaged(let path, let record):
      "\(path) is damaged at record \(record), with records after it; it was left as it is. \(Self.advice(path))"
    case .unknownRecord(let path, let record):
      "\(path) holds a record, number \(record), that is whole and says what this program does not know: a newer "
        + "latchkey-lock wrote it; the log was left as it is: install the newer latchkey-lock"
    case .tooLong(let path): "\(path) is longer than a lock can make it; it was left as it is. \(Self.advice(path))"
    case .shortened(let path, let found, let stored):
      "\(path) has lost its end: it ends with record \(found), and record \(stored) was stored; it was left as it is. "
        + Self.advice(path)
    case .missing(let path, let trace):
      "\(path) is missing or empty, and \(trace) tells that there was a log; nothing was changed. \(Self.advice(path))"
    case .countDamaged(let path):
      "\(path), which tells how long the log is, is damaged; nothing was changed. \(Self.advice(path))"
    case .otherUser(let path):
      "the folder of \(path) belongs to \(LogFolder(ofLog: path).user ?? "another user"), and files of this user would keep the "
        + "lock out; nothing was changed: \(LogFolder(ofLog: path).acceptance)"
    }
  }

  private static func advice(_ path: String) -> String {
    "Restore the folder from a backup, or accept the loss with \(LogFolder(ofLog: path).acceptance): what can be read is kept, "
      + "and the lock starts again"
  }
}

/// The log's form on disk: a header, then records of one length, each with a check sum, numbered without a gap.
package enum RecordLogFormat {
  static let header = Array("latchkey lock log".utf8) + [1]
  static let entryByteCount = LockRecord.byteCount + 4
  /// How many of the newest records are kept in memory; enough for the firmware to restore its state.
  static let keptCount = 3 * LockLimit.operations

  struct Content {
    /// The newest records, oldest first.
    var latest: [LockRecord] = []
    var landmarks = LockLandmarks()
    var recordCount = 0
    /// Where the records end. A partial record may follow.
    var validByteCount = 0
    /// Why it can't be used as it is, though everything before `validByteCount` is valid.
    var problem: RecordLogError?
    /// The number of the last record, or 0 if there is none.
    var last: UInt64 { latest.last?.index ?? 0 }
  }

  static func entry(_ record: LockRecord) -> [UInt8] {
    let encoded = record.encoded
    return encoded + checkSum(encoded)
  }

  /// Where the record with this number, counted from 0 within its file, begins.
  static func offset(ofRecord number: Int) -> Int { header.count + number * entryByteCount }

  /// How many complete records fit into so many bytes.
  static func recordCount(ofByteCount count: Int) -> Int { max(0, count - header.count) / entryByteCount }

  /// A record's bytes, without their check sum.
  static func encoded(at number: Int, in bytes: [UInt8]) -> [UInt8] {
    Array(bytes[offset(ofRecord: number)..<offset(ofRecord: number) + LockRecord.byteCount])
  }

  /// `nil` if there is no such record.
  static func record(at number: Int, in bytes: [UInt8]) -> LockRecord? {
    guard number < recordCount(ofByteCount: bytes.count) else { return nil }
    return try? LockRecord(decoding: encoded(at: number, in: bytes))
  }

  static func read(_ bytes: [UInt8], path: String) -> Content {
    var content = Content()
    guard bytes.count >= header.count else {
      // The very first write by an earlier version of this program may be truncated as well.
      if !header.starts(with: bytes) { content.problem = .notALog(path: path) }
      return content
    }
    guard bytes.starts(with: header.dropLast()) else {
      content.problem = .notALog(path: path)
      return content
    }
    guard bytes[header.count - 1] == header.last else {
      content.problem = .unknownVersion(path: path, version: bytes[header.count - 1])
      return content
    }
    content.validByteCount = header.count
    while bytes.count - content.validByteCount >= entryByteCount {
      let position = content.validByteCount
      let encoded = Array(bytes[position..<position + LockRecord.byteCount])
      let sum = bytes[position + LockRecord.byteCount..<position + entryByteCount]
      let isWhole = sum.elementsEqual(checkSum(encoded))
      var decoded: LockRecord?
      do { decoded = try LockRecord(decoding: encoded) } catch {
        // A newer program may have more kinds of records, causes and results. That is not damage.
        if isWhole, error == .unknownVersion || error == .unknownValue {
          content.problem = .unknownRecord(path: path, record: content.last &+ 1)
          break
        }
      }
      // The first record may have any number: older ones are in separate files.
      guard isWhole, let record = decoded, record.index > 0,
        content.recordCount == 0 || record.index == content.last &+ 1
      else {
        // Only the last record can be partial.
        if bytes.count - position >= 2 * entryByteCount {
          content.problem = .damaged(path: path, record: content.last &+ 1)
        }
        break
      }
      content.latest.append(record)
      content.landmarks.take(record)
      if content.latest.count >= 2 * keptCount { content.latest.removeFirst(keptCount) }
      content.recordCount += 1
      content.validByteCount += entryByteCount
    }
    content.latest = Array(content.latest.suffix(keptCount))
    return content
  }

  /// CRC-32 (ISO-HDLC), most significant byte first. It detects torn and decayed records, but not forgery.
  package static func checkSum(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    var remainder: UInt32 = .max
    for byte in bytes { remainder = remainder >> 8 ^ table[Int(UInt8(truncatingIfNeeded: remainder) ^ byte)] }
    var writer = ByteWriter()
    writer.write(~remainder)
    return writer.bytes
  }

  /// The effect of a byte on the remainder.
  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
  }
}
