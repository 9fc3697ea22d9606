import Foundation
import LockFirmware
import LockProtocol
import Logging

/// Why the log can't be used.
enum RecordLogError: Error, Equatable, CustomStringConvertible {
  case system(path: String, call: String, number: Int32)
  case inUse(path: String)
  case notALog(path: String)
  case unknownVersion(path: String, version: UInt8)
  case damaged(path: String, record: Int)
  case tooLong(path: String)

  var description: String {
    switch self {
    case .system(let path, let call, let number): "\(path): \(call): \(String(cString: strerror(number)))"
    case .inUse(let path): "\(path) is in use by another lock"
    case .notALog(let path): "\(path) is not a lock's log; it was left as it is"
    case .unknownVersion(let path, let version):
      "\(path) is a log of version \(version), which this program does not know; it was left as it is"
    case .damaged(let path, let record):
      "\(path) is damaged at record \(record), with records after it; it was left as it is"
    case .tooLong(let path): "\(path) is longer than a lock can make it; it was left as it is"
    }
  }
}

/// The lock's log on disk: records of one length, each with a check sum, each durable before `append` returns.
///
/// A power cut in the middle of an append leaves a piece of a record at the end. Nothing rests on that one, for nobody
/// was told that it is durable: it is moved aside and the log goes on before it. Damage elsewhere is refused.
final class RecordLog {
  /// The newest records, oldest first; enough for the firmware to take up from.
  private(set) var latest: [LockRecord]
  private(set) var recordCount: Int
  private let path: String
  private let descriptor: Int32
  private var length: off_t

  private static let header = Array("latchkey lock log".utf8) + [1]
  private static let entryByteCount = LockRecord.byteCount + 4
  private static let keptCount = 3 * LockLimit.operations
  /// A movement every ten minutes for a hundred years.
  private static let maximumByteCount = 1 << 30

  /// Opens or creates the log.
  init(path: String, logger: Logger) throws {
    self.path = path
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_APPEND, 0o600)
    guard descriptor >= 0 else { throw RecordLogError.system(path: path, call: "open", number: errno) }
    self.descriptor = descriptor
    do {
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        throw errno == EWOULDBLOCK
          ? RecordLogError.inUse(path: path) : .system(path: path, call: "flock", number: errno)
      }
      var status = stat()
      guard fstat(descriptor, &status) == 0 else {
        throw RecordLogError.system(path: path, call: "fstat", number: errno)
      }
      guard status.st_size <= Self.maximumByteCount else { throw RecordLogError.tooLong(path: path) }
      let bytes = [UInt8](try FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).readToEnd() ?? Data())
      let content = try Self.read(bytes, path: path)
      latest = content.latest
      recordCount = content.count
      length = off_t(content.validByteCount)
      if content.validByteCount < bytes.count {
        try keepAside(Array(bytes[content.validByteCount...]), logger: logger)
      }
      if content.validByteCount == 0 { try write(Self.header) }
    } catch {
      close(descriptor)
      throw error
    }
  }

  deinit { close(descriptor) }

  /// Makes a record durable; on failure the log is as it was before.
  func append(_ record: LockRecord) throws {
    let encoded = record.encoded
    try write(encoded + Self.checkSum(encoded))
    recordCount += 1
    latest.append(record)
    if latest.count > Self.keptCount { latest.removeFirst() }
  }

  private func write(_ bytes: [UInt8]) throws {
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let number = errno
        ftruncate(descriptor, length)
        throw RecordLogError.system(path: path, call: "write", number: number)
      }
      written += count
    }
    guard fdatasync(descriptor) == 0 else {
      let number = errno
      ftruncate(descriptor, length)
      throw RecordLogError.system(path: path, call: "fdatasync", number: number)
    }
    length += off_t(bytes.count)
  }

  /// Moves a torn end of the log into a file of its own.
  private func keepAside(_ torn: [UInt8], logger: Logger) throws {
    var aside = path + ".torn"
    var number = 1
    while FileManager.default.fileExists(atPath: aside), number < 1000 {
      aside = path + ".torn.\(number)"
      number += 1
    }
    try Data(torn).write(to: URL(fileURLWithPath: aside), options: .withoutOverwriting)
    guard ftruncate(descriptor, length) == 0, fdatasync(descriptor) == 0 else {
      throw RecordLogError.system(path: path, call: "ftruncate", number: errno)
    }
    logger.error("the log ended in \(torn.count) bytes that are no record: they were moved to \(aside)")
  }

  private static func read(
    _ bytes: [UInt8], path: String
  ) throws -> (latest: [LockRecord], count: Int, validByteCount: Int) {
    guard bytes.count >= header.count else {
      // The very first write may be torn as well.
      guard header.starts(with: bytes) else { throw RecordLogError.notALog(path: path) }
      return ([], 0, 0)
    }
    guard bytes.starts(with: header.dropLast()) else { throw RecordLogError.notALog(path: path) }
    guard bytes[header.count - 1] == header.last else {
      throw RecordLogError.unknownVersion(path: path, version: bytes[header.count - 1])
    }
    var latest: [LockRecord] = []
    var count = 0
    var position = header.count
    while bytes.count - position >= entryByteCount {
      let encoded = Array(bytes[position..<position + LockRecord.byteCount])
      let sum = Array(bytes[position + LockRecord.byteCount..<position + entryByteCount])
      guard sum == checkSum(encoded), let record = try? LockRecord(decoding: encoded),
        record.index == UInt64(count + 1)
      else {
        // Only the last one can be torn.
        guard bytes.count - position < 2 * entryByteCount else {
          throw RecordLogError.damaged(path: path, record: count + 1)
        }
        break
      }
      latest.append(record)
      if latest.count > keptCount { latest.removeFirst() }
      count += 1
      position += entryByteCount
    }
    return (latest, count, position)
  }

  /// CRC-32 (ISO-HDLC), most significant byte first: it finds torn and decayed records, and no forger.
  private static func checkSum(_ bytes: [UInt8]) -> [UInt8] {
    var remainder: UInt32 = .max
    for byte in bytes {
      remainder ^= UInt32(byte)
      for _ in 0..<8 { remainder = remainder & 1 == 1 ? remainder >> 1 ^ 0xEDB8_8320 : remainder >> 1 }
    }
    var writer = ByteWriter()
    writer.write(~remainder)
    return writer.bytes
  }
}
