import DurableFiles
import Foundation
import LockCryptography
import LockFirmware
import LockProtocol

/// What a person has set at the lock itself: its operating mode, and a factory reset. Also the phone whose leaving
/// locks a bolt that a hand opened. All of it is durable.
final class LockSettings {
  static let fileName = "settings.json"
  private static let maximumByteCount = 64 * 1024

  private let path: String
  private var stored = Stored()
  private(set) var awaited: AwaitedPhone?

  private struct Stored: Codable {
    var version = 1
    var mode: UInt8 = 0
    var reset: Reset?
    /// `nil` in files of earlier releases, which also drop it when they write.
    var awaited: Awaited?
  }

  private struct Awaited: Codable {
    /// The phone's public key in hexadecimal.
    var phone: String
    /// The index of the newest record at that time.
    var record: UInt64

    var isWhole: Bool { Hex.bytes(phone)?.count == NoiseSize.keyByteCount }
  }

  /// The phones that a factory reset has forgotten. The lock can't change its key file, which may be a credential of
  /// its unit, so it keeps this list.
  private struct Reset: Codable {
    /// The lock's identity at that time, in hexadecimal. After `latchkey setup undo` and a new setup it is another one.
    var identity: String
    /// The public keys of the phones, in hexadecimal.
    var phones: [String]
    /// The index of the reset's record in the log.
    var record: UInt64?

    /// Whether no key is damaged. A damaged one would match no phone, so the phone that it forgot could open the lock
    /// again.
    var isWhole: Bool {
      Hex.bytes(identity)?.count == LockIdentity.byteCount
        && phones.allSatisfy { Hex.bytes($0)?.count == NoiseSize.keyByteCount }
    }
  }

  /// - Throws: if the file is damaged. Phones that a reset has forgotten must not come back because of that.
  init(directory: String) throws {
    path = directory + "/" + Self.fileName
    guard FileManager.default.fileExists(atPath: path) else { return }
    let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    let data = try handle.read(upToCount: Self.maximumByteCount) ?? Data()
    guard let read = try? JSONDecoder().decode(Stored.self, from: data), read.version == 1,
      OperatingMode(rawValue: read.mode) != nil, read.reset?.isWhole ?? true, read.awaited?.isWhole ?? true
    else {
      throw StartError(
        description:
          "\(path) is damaged, or of a newer latchkey-lock; it was left as it is. Restore it from a backup, or "
          + "remove it: the mode is then normal, and a factory reset is undone")
    }
    stored = read
    awaited = read.awaited.flatMap { awaited in
      Hex.bytes(awaited.phone).map { AwaitedPhone(phone: $0, record: awaited.record) }
    }
  }

  var mode: OperatingMode { OperatingMode(rawValue: stored.mode) ?? .normal }

  /// The phones that may open the lock: those that no reset has forgotten.
  func remaining(of keys: LockKeys) -> [[UInt8]] {
    guard let reset = stored.reset, Hex.bytes(reset.identity) == keys.identity.bytes else { return keys.enrolledPhones }
    let forgotten = reset.phones.map { Hex.bytes($0) }
    return keys.enrolledPhones.filter { !forgotten.contains($0) }
  }

  func write(_ mode: OperatingMode) throws {
    stored.mode = mode.rawValue
    try write()
  }

  func write(_ awaited: AwaitedPhone) throws {
    stored.awaited = Awaited(phone: Hex.text(awaited.phone), record: awaited.record)
    self.awaited = awaited
    try write()
  }

  /// A factory reset: the phones that are enrolled now open nothing any more.
  /// - Parameter record: the index of its record in the log.
  func forget(_ keys: LockKeys, record: UInt64) throws {
    stored.reset = Reset(
      identity: Hex.text(keys.identity.bytes), phones: keys.enrolledPhones.map(Hex.text), record: record)
    try write()
  }

  /// Finishes a factory reset that is in the log, if the last run could not finish it because its power or its disk
  /// failed.
  /// - Parameter latest: the log's newest records.
  func finishReset(_ latest: [LockRecord], of keys: LockKeys, _ access: AccessStore, _ trusted: TrustedStore) throws {
    guard let reset = latest.last(where: \.isFactoryReset) else { return }
    let isForgotten = stored.reset.map { ($0.record ?? .max) >= reset.index } ?? false
    if !isForgotten { try forget(keys, record: reset.index) }
    // Owners have told the lock something after the reset, so the reset was finished before.
    guard !latest.contains(where: { $0.change != nil && $0.index > reset.index }) else { return }
    guard try access.read() != AccessState() else { return }
    trusted.write([])
    try access.write(AccessState().encoded)
  }

  private func write() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try DurableFile.replace(path, with: Array(try encoder.encode(stored)))
  }
}
