import DurableFiles
import Foundation
import LockProtocol

/// The number of the log's last record, in a separate file, so that a log that lost its end is recognised.
///
/// A record is durable before its number is written here. So after a power cut between the two, the log may be one
/// record longer than this number, but never shorter. Two places are written in turn, each with a check sum, so one
/// of them is always valid.
struct RecordCount {
  let path: String
  private(set) var last: UInt64
  private var sequence: UInt64

  private static let header = Array("latchkey lock count".utf8) + [1]
  /// Each place is in its own sector, because a power cut may destroy the one being written.
  private static let placeInterval = 512
  private static let placeByteCount = 8 + 8 + 4

  /// Reads the number. Changes nothing.
  /// - Returns: `nil` if there is no such file.
  static func read(_ path: String) throws -> RecordCount? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw RecordLogError.system(path: path, call: "open", number: errno)
    }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 3 * placeInterval)
    let length = Foundation.read(descriptor, &bytes, bytes.count)
    guard length == bytes.count, bytes.starts(with: header) else { throw RecordLogError.countDamaged(path: path) }
    let places = (1...2).compactMap { place -> (sequence: UInt64, last: UInt64)? in
      let start = place * placeInterval
      let content = Array(bytes[start..<start + 16])
      guard bytes[(start + 16)..<(start + placeByteCount)].elementsEqual(RecordLogFormat.checkSum(content)),
        var reader = try? ByteReader(content, count: 16)
      else { return nil }
      return (reader.readUInt64(), reader.readUInt64())
    }
    guard let newest = places.max(by: { $0.sequence < $1.sequence }) else {
      throw RecordLogError.countDamaged(path: path)
    }
    return RecordCount(path: path, last: newest.last, sequence: newest.sequence)
  }

  /// Creates the complete file, replacing an existing one.
  static func make(_ path: String, last: UInt64) throws -> RecordCount {
    var bytes = header + [UInt8](repeating: 0, count: 3 * placeInterval - header.count)
    for sequence in [UInt64(1), 2] {
      let start = Int(offset(of: sequence))
      bytes.replaceSubrange(start..<start + placeByteCount, with: place(sequence, last))
    }
    try DurableFile.replace(path, with: bytes)
    return RecordCount(path: path, last: last, sequence: 2)
  }

  /// Makes a new number durable.
  mutating func write(_ last: UInt64) throws {
    let next = sequence &+ 1
    let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw RecordLogError.system(path: path, call: "open", number: errno) }
    defer { close(descriptor) }
    let bytes = Self.place(next, last)
    guard pwrite(descriptor, bytes, bytes.count, Self.offset(of: next)) == bytes.count else {
      throw RecordLogError.system(path: path, call: "pwrite", number: errno)
    }
    guard fdatasync(descriptor) == 0 else {
      throw RecordLogError.system(path: path, call: "fdatasync", number: errno)
    }
    (self.last, sequence) = (last, next)
  }

  private static func offset(of sequence: UInt64) -> off_t { off_t(placeInterval) * off_t(1 + sequence % 2) }

  private static func place(_ sequence: UInt64, _ last: UInt64) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(sequence)
    writer.write(last)
    return writer.bytes + RecordLogFormat.checkSum(writer.bytes)
  }
}
