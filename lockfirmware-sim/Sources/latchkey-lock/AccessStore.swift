import DurableFiles
import Foundation
import LockCryptography
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
  /// Room for the longest state beside the one that it replaces: what is revoked counts although the disk is full.
  private var reserve: DiskReserve {
    DiskReserve(path: path + ".reserve", byteCount: 2 * LockCapacity.machine.accessByteCount)
  }

  init(directory: String) { path = directory + "/" + Self.fileName }

  /// The stored state. If there is no file, no owner has told the lock anything yet.
  func read() throws -> AccessState {
    let state = try readStored()
    reserve.take()
    return state
  }

  private func readStored() throws -> AccessState {
    guard let handle = FileHandle(forReadingAtPath: path) else {
      guard access(path, F_OK) != 0 else { throw StartError(description: "\(path) can't be read") }
      guard access(markerPath, F_OK) != 0 else {
        throw StartError(
          description:
            "\(path), which holds what is revoked, is missing, but \(markerPath) shows that it was there. Put it "
            + "back. Or remove \(markerPath) as well, and put one from a backup in its place if there is one: then phones "
            + "have to be enrolled anew, and owners have to bring their revocation lists again")
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
          + "Move it away, and \(markerPath) with it, and put one from a backup in its place if there is one: then owners "
          + "have to bring their revocation lists again")
    }
    try check(bytes)
    return state
  }

  /// Durable when it returns.
  func write(_ content: [UInt8]) throws {
    let bytes = Self.header + content + RecordLogFormat.checkSum(content)
    try reserve.use {
      try replace(with: bytes)
    } whereFull: { error in
      (error as? DurableFileError)?.isOfFullDisk == true
    }
    reserve.take()
  }

  private func replace(with bytes: [UInt8]) throws {
    let digest = Self.digest(bytes)
    if let stored = FileManager.default.contents(atPath: path) {
      // Whichever of the two the power leaves is the newest. Without this mark the new one would look like an old one.
      try mark([Self.digest([UInt8](stored)), digest])
    }
    try DurableFile.replace(path, with: bytes)
    settle(digest)
  }

  /// What the mark's first line says. An earlier release writes no other.
  private static let markerLine = "What owners have told the lock was stored beside this file.\n"

  private static func digest(_ bytes: [UInt8]) -> String { Hex.text(SwiftCryptography.hash(bytes)) }

  private func mark(_ digests: [String]) throws {
    let lines = digests.map { "stored \($0)\n" }.joined()
    try DurableFile.replace(markerPath, with: Array((Self.markerLine + lines).utf8))
  }

  /// From now on a loss is noticed, and an older state. What is stored counts without that, too, so it does not wait for the disk.
  private func settle(_ digest: String) {
    try? Data((Self.markerLine + "stored \(digest)\n").utf8).write(
      to: URL(fileURLWithPath: markerPath), options: .atomic)
  }

  /// Refuses a state that is not the one that was stored last: phones and guests that were revoked since would be let in again.
  private func check(_ bytes: [UInt8]) throws {
    let marker = FileManager.default.contents(atPath: markerPath) ?? Data()
    let lines = String(decoding: marker.prefix(1024), as: UTF8.self).split(separator: "\n")
    let known = lines.filter { $0.hasPrefix("stored ") }.map { String($0.dropFirst("stored ".count)) }
    let digest = Self.digest(bytes)
    // An earlier release has made no mark, or one that names no state.
    guard known.isEmpty || known.contains(digest) else {
      throw StartError(
        description:
          "\(path), which holds what is revoked, is not what the lock has stored last: it is from a backup, or an earlier "
          + "latchkey-lock has written it. Phones and guests that were revoked since would be let in. Put the newest one back. To "
          + "go on with this one, remove \(markerPath): then owners have to bring their revocation lists again (latchkey "
          + "guests carry), phones that were enrolled since have to be enrolled anew, and guests get back the uses they have "
          + "had since")
    }
    if known != [digest] { settle(digest) }
  }
}
