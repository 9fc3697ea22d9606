import DurableFiles
import Foundation
import LockFirmware
import LockProtocol
import LockRecords

/// What owners have told the lock over the air, in one file that is replaced as a whole.
///
/// If it can't be read, or is missing although it was there, the lock does not start: without it, phones and guests that were
/// revoked would be let in again.
struct AccessStore {
  static let fileName = "access.state"
  private static let header = Array("latchkey lock access".utf8) + [1]
  /// Longer than what the lock can write.
  private static let maximumByteCount = 1 << 20

  let path: String
  /// Shows that something was stored. If that is missing, it was lost.
  private var markerPath: String { path + ".made" }

  init(directory: String) { path = directory + "/" + Self.fileName }

  /// The stored state. If there is no file, no owner has told the lock anything yet.
  func read() throws -> AccessState {
    guard let handle = FileHandle(forReadingAtPath: path) else {
      guard access(path, F_OK) != 0 else { throw StartError(description: "\(path) can't be read") }
      guard access(markerPath, F_OK) != 0 else {
        throw StartError(
          description:
            "\(path), which holds what is revoked, is missing, but \(markerPath) shows that it was there. Restore it from a "
            + "backup, or remove \(markerPath) as well: then phones have to be enrolled anew, and owners have to bring their "
            + "revocation lists again")
      }
      return AccessState()
    }
    let bytes = [UInt8](try handle.read(upToCount: Self.maximumByteCount + 1) ?? Data())
    let content = Array(bytes.dropFirst(Self.header.count).dropLast(4))
    guard bytes.count <= Self.maximumByteCount, bytes.starts(with: Self.header), bytes.count >= Self.header.count + 4,
      bytes.suffix(4).elementsEqual(RecordLogFormat.checkSum(content)), let state = try? AccessState(decoding: content)
    else {
      throw StartError(
        description:
          "\(path), which holds what is revoked, is damaged or of a newer latchkey-lock; it was left as it is. "
          + "Restore it from a backup, or move it and \(markerPath) away: then owners have to bring their revocation lists "
          + "again")
    }
    // An earlier release has made no mark.
    mark()
    return state
  }

  /// Durable when it returns.
  func write(_ content: [UInt8]) throws {
    try DurableFile.replace(path, with: Self.header + content + RecordLogFormat.checkSum(content))
    mark()
  }

  /// From now on a loss is noticed. What is stored counts without that, too.
  private func mark() {
    guard access(markerPath, F_OK) != 0 else { return }
    try? DurableFile.replace(
      markerPath, with: Array("What owners have told the lock was stored beside this file.\n".utf8))
  }
}
