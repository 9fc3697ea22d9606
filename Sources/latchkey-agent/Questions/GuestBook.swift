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
  /// Lists that the lock does not have yet: this phone's own, and those of other owners that it carries, in
  /// hexadecimal.
  var undelivered: [String] = []
  /// The lock has learned this owner's signing key.
  var isIntroduced: Bool?
  /// The user is shown that the lock's clock and this phone's differ.
  var hasAskedAboutClock: Bool?
  /// The introductions of other owners whose lists this phone carries, by their signing keys, in hexadecimal.
  var introductions: [String: String]?

  /// The most guests, without those who are in each list because they are revoked for good (`makeRoom`).
  static let guestLimit = 256
  /// The most lists of other owners. This phone's own list has a place beside them.
  static let carriedLimit = 8
  private static let maximumByteCount = 1 << 20

  static func path(in folder: String) -> String { folder + "/guests.json" }

  static func read(_ path: String) throws -> GuestBook {
    guard FileManager.default.fileExists(atPath: path) else { return GuestBook() }
    let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    let data = try handle.read(upToCount: maximumByteCount) ?? Data()
    guard let book = try? JSONDecoder().decode(GuestBook.self, from: data), book.version == 1, book.isWhole else {
      throw NoAnswer("\(path), which lists the guests, can't be read; restore it from a backup, or move it away.")
    }
    return book
  }

  /// Whether everything in the book can be read. What can't be read would be left out of the next list, and would then
  /// not be revoked any more.
  private var isWhole: Bool {
    guests.allSatisfy { Self.grant($0) != nil }
      && revokedPhones.allSatisfy { Hex.bytes($0)?.count == RevocationList.entryByteCount }
      && lists.count == undelivered.count
      && (introductions ?? [:]).allSatisfy { issuer, sealed in
        Hex.bytes(issuer)?.count == NoiseSize.keyByteCount
          && Hex.bytes(sealed).flatMap { try? SealedIntroduction(decoding: $0) } != nil
      }
  }

  static func grant(_ guest: Guest) -> Grant? { Hex.bytes(guest.grant).flatMap { try? Grant(decoding: $0) } }

  func write(_ path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try DurableFile.replace(path, with: Array(try encoder.encode(self)))
  }

  /// Takes over another owner's list, until the lock has it.
  /// - Parameters:
  ///   - introduction: the introduction that came with the list. A list without one does not remove a known
  ///     introduction.
  ///   - own: this phone's own signing key, if it has one. Its list is never pushed out.
  mutating func carry(_ list: RevocationList, _ introduction: SealedIntroduction?, own: [UInt8]?) throws {
    let waiting = lists
    let isNewest = !waiting.contains { $0.issuer == list.issuer && $0.version > list.version }
    if isNewest {
      let others = waiting.filter { $0.issuer != list.issuer }
      guard list.issuer == own || others.count(where: { $0.issuer != own }) < Self.carriedLimit else {
        throw NoAnswer(
          "This phone carries \(Self.carriedLimit) revocation lists already, which the lock does not have yet, and has no room for "
            + "another: bring it to the lock first.")
      }
      undelivered = (others + [list]).map { Hex.text($0.encoded) }
    }
    guard let introduction else { return }
    introductions = (introductions ?? [:]).merging([Hex.text(list.issuer): Hex.text(introduction.encoded)]) { $1 }
    dropIntroductions()
  }

  /// This phone's own new list waits for the lock, in the place of its earlier one.
  mutating func hold(_ own: RevocationList) {
    undelivered = (lists.filter { $0.issuer != own.issuer } + [own]).map { Hex.text($0.encoded) }
  }

  private var lists: [RevocationList] {
    undelivered.compactMap { Hex.bytes($0) }.compactMap { try? RevocationList(decoding: $0) }
  }

  /// The version of the next list.
  mutating func nextListVersion() throws -> UInt64 {
    guard listVersion < .max else {
      throw NoAnswer(
        "Not revoked: the lock says that it has the last list that this phone can sign. Another owner has to revoke.")
    }
    listVersion += 1
    return listVersion
  }

  /// - Parameter key: the phone's public key, or as much of it as an entry has.
  mutating func revoke(phone key: [UInt8]) {
    let entry = Hex.text(Array(key.prefix(RevocationList.entryByteCount)))
    if !revokedPhones.contains(entry) { revokedPhones.append(entry) }
  }

  func introduction(of issuer: [UInt8]) -> [UInt8]? { introductions?[Hex.text(issuer)].flatMap { Hex.bytes($0) } }

  /// This phone was enrolled once more, so the lock may have forgotten whom it knew and what was revoked. With this
  /// owner's key it would believe this owner's old grants again. So a list of everything that is revoked is made, and
  /// waits for the lock.
  /// - Parameter earlier: the keys that this phone had as an owner's until now. If the lock has not forgotten them,
  ///   they would remain an owner's for ever; this list revokes them.
  static func lockMayHaveForgotten(
    inFolder folder: String, _ lock: LockIdentity, replacing earlier: [[UInt8]] = [], at unixSeconds: Int64
  ) throws {
    var book = try read(path(in: folder))
    for key in earlier { book.revoke(phone: key) }
    guard book != GuestBook() else { return }
    book.isIntroduced = nil
    var entries = book.entries(at: unixSeconds)
    if entries.count > RevocationList.maximumCount { entries = book.entries(at: unixSeconds, isShort: true) }
    if !entries.isEmpty, entries.count <= RevocationList.maximumCount {
      let key = try OwnerKey.readOrMake(inDirectory: folder)
      let version = try book.nextListVersion()
      try book.hold(
        key.sign(RevocationList(lock: lock, issuer: key.publicKey, version: version, entries: entries)))
    }
    try book.write(path(in: folder))
  }

  /// Removes the introductions of owners whose lists this phone does not carry any more.
  mutating func dropIntroductions() {
    let lists = lists
    let kept = introductions?.filter { issuer, _ in lists.contains { Hex.text($0.issuer) == issuer } } ?? [:]
    introductions = kept.isEmpty ? nil : kept
  }
}
