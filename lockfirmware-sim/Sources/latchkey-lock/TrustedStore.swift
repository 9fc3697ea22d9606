import Foundation
import LockCryptography
import LockFirmware
import LockProtocol
import Logging

/// The centrals that proved themselves, stored across the lock's restarts. Losing them opens nothing and keeps no one
/// out for long. So they are written without waiting for the disk, and unreadable entries are skipped with a warning.
struct TrustedStore {
  static let fileName = "trusted.json"
  /// The most centrals that the lock trusts: two for each phone that it can have, and a limited number of guests'
  /// (`LockCapacity.trustedCentrals`).
  static let maximumCount = LockCapacity.machine.trustedCentrals
  private static let maximumByteCount = 64 * 1024

  private let path: String
  private let logger: Logger

  private struct Stored: Codable {
    var version: Int
    var centrals: [Entry]
  }

  private struct Entry: Codable {
    var central: UUID
    /// The phone's public key in hexadecimal.
    var phone: String
  }

  init(directory: String, logger: Logger) {
    path = directory + "/" + Self.fileName
    self.logger = logger
  }

  func read() -> [TrustedCentral] {
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    do {
      let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      let data = try handle.read(upToCount: Self.maximumByteCount) ?? Data()
      let stored = try JSONDecoder().decode(Stored.self, from: data)
      guard stored.version == 1 else { throw CocoaError(.fileReadUnknown) }
      let entries = stored.centrals.suffix(Self.maximumCount)
      let trusted = entries.compactMap { entry -> TrustedCentral? in
        guard let phone = Hex.bytes(entry.phone), phone.count == NoiseSize.keyByteCount else { return nil }
        return TrustedCentral(central: CentralIdentifier(entry.central), phone: phone)
      }
      if trusted.count < entries.count {
        let count = entries.count - trusted.count
        logger.warning(
          "\(path) is damaged: \(count) of its phones are strangers until they have proven themselves again")
      }
      return trusted
    } catch {
      logger.warning("\(path) can't be read: each phone is a stranger to the brake until it has proven itself again")
      return []
    }
  }

  func write(_ trusted: [TrustedCentral]) {
    let entries = trusted.map { Entry(central: $0.central.uuid, phone: Hex.text($0.phone)) }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    do {
      try encoder.encode(Stored(version: 1, centrals: entries)).write(
        to: URL(fileURLWithPath: path), options: .atomic)
    } catch { logger.warning("\(path) can't be written: \(error)") }
  }
}
