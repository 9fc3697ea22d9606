import DurableFiles
import Foundation
import LockCryptography
import LockProtocol

/// Whom an owner has invited to one door, and what the owner has revoked there. It is stored before anything is given away.
struct GuestBook: Codable, Equatable {
  struct Guest: Codable, Equatable {
    var name: String
    /// In hexadecimal, as it was signed.
    var grant: String
    var isRevoked: Bool
  }

  var version = 1
  var guests: [Guest] = []
  /// Phones that were revoked, by the first 16 bytes of their keys in hexadecimal.
  var revokedPhones: [String] = []
  /// The version of the newest list that was signed.
  var listVersion: UInt64 = 0
  /// A list that the lock does not have yet, or another owner's that this phone carries, in hexadecimal.
  var undelivered: [String] = []
  /// The lock has learned this owner's signing key.
  var isIntroduced: Bool?
  /// The introductions of other owners whose lists this phone carries, by their signing keys, in hexadecimal.
  var introductions: [String: String]?

  static let guestLimit = 256
  static let carriedLimit = 8
  private static let maximumByteCount = 1 << 20

  static func path(in folder: String) -> String { folder + "/guests.json" }

  static func read(_ path: String) throws -> GuestBook {
    guard FileManager.default.fileExists(atPath: path) else { return GuestBook() }
    let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    let data = try handle.read(upToCount: maximumByteCount) ?? Data()
    guard let book = try? JSONDecoder().decode(GuestBook.self, from: data), book.version == 1 else {
      throw NoAnswer("\(path), which lists the guests, can't be read; restore it from a backup, or move it away.")
    }
    return book
  }

  func write(_ path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try DurableFile.replace(path, with: Array(try encoder.encode(self)))
  }

  /// - Parameter introduction: what came with the list. A list without one takes none away.
  mutating func carry(_ introduction: SealedIntroduction?, of issuer: [UInt8]) {
    guard let introduction else { return }
    introductions = (introductions ?? [:]).merging([Hex.text(issuer): Hex.text(introduction.encoded)]) { $1 }
    dropIntroductions()
  }

  func introduction(of issuer: [UInt8]) -> [UInt8]? { introductions?[Hex.text(issuer)].flatMap { Hex.bytes($0) } }

  /// This phone was enrolled once more, so the lock may have forgotten whom it knew.
  static func lockMayHaveForgotten(_ path: String) throws {
    var book = try read(path)
    guard book.isIntroduced == true else { return }
    book.isIntroduced = nil
    try book.write(path)
  }

  /// Those of owners of whom this phone carries nothing any more.
  mutating func dropIntroductions() {
    let lists = undelivered.compactMap { Hex.bytes($0) }.compactMap { try? RevocationList(decoding: $0) }
    let kept = introductions?.filter { issuer, _ in lists.contains { Hex.text($0.issuer) == issuer } } ?? [:]
    introductions = kept.isEmpty ? nil : kept
  }

  /// Everything that is revoked and still matters.
  func entries(at unixSeconds: Int64) -> [RevocationList.Entry] {
    let phones = revokedPhones.compactMap { Hex.bytes($0).map { RevocationList.Entry.phone($0) } }
    let grants = guests.filter(\.isRevoked).compactMap { guest -> RevocationList.Entry? in
      guard let grant = Hex.bytes(guest.grant).flatMap({ try? Grant(decoding: $0) }) else { return nil }
      return grant.schedule.verdict(at: unixSeconds) == .over ? nil : .grant(grant.identifier)
    }
    return phones + grants
  }
}
