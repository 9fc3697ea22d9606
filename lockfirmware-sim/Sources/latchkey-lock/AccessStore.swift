import DurableFiles
import Foundation
import LockFirmware
import LockProtocol
import LockRecords

/// What owners have told the lock over the air, in one file that is replaced as a whole.
///
/// If it can't be read, the lock does not start: without it, phones and guests that were revoked would be let in again.
struct AccessStore {
  static let fileName = "access.state"
  private static let header = Array("latchkey lock access".utf8) + [1]
  /// Longer than what the lock can write.
  private static let maximumByteCount = 1 << 20

  let path: String

  init(directory: String) { path = directory + "/" + Self.fileName }

  /// Nothing was told yet if there is no file.
  func read() throws -> AccessState {
    guard let handle = FileHandle(forReadingAtPath: path) else {
      guard access(path, F_OK) != 0 else { throw StartError(description: "\(path) can't be read") }
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
          + "Restore it from a backup, or move it away: then owners have to bring their revocation lists again")
    }
    return state
  }

  /// Durable when it returns.
  func write(_ content: [UInt8]) throws {
    try DurableFile.replace(path, with: Self.header + content + RecordLogFormat.checkSum(content))
  }
}
