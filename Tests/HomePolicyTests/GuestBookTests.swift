import Crypto
import Foundation
import LockCryptography
import LockProtocol
import Testing

@testable import latchkey_agent

@Suite("An owner's book of guests") struct GuestBookTests {
  private let owner = OwnerKey(key: Curve25519.Signing.PrivateKey())
  private let identity = LockIdentity([UInt8](repeating: 3, count: 16))

  private func guest(_ number: UInt16, until: Int64, isRevoked: Bool = true) throws -> GuestBook.Guest {
    var schedule = GrantSchedule.always
    schedule.until = until
    let grant = try owner.sign(
      Grant(
        lock: #require(identity),
        identifier: [UInt8(number >> 8), UInt8(number & 0xFF)] + [UInt8](repeating: 9, count: 14),
        phone: [UInt8](repeating: 1, count: 32), issuer: owner.publicKey, schedule: schedule, uses: 0,
        permissions: .unlock, name: []))
    return GuestBook.Guest(name: "\(number)", grant: Hex.text(grant.encoded), isRevoked: isRevoked)
  }

  @Test("L5: a phone whose clock runs ahead leaves nothing out of its list that its lock may still let in")
  func clockAhead() throws {
    var book = GuestBook()
    book.guests = [try guest(1, until: 1_800_000_000), try guest(2, until: 1_900_000_000, isRevoked: false)]
    for time in [1_700_000_000, 1_800_000_001, 4_000_000_000] as [Int64] {
      #expect(book.entries(at: time).map(\.bytes) == [[0, 1] + [UInt8](repeating: 9, count: 14)], "\(time)")
    }
    // There is no room for all that are over: those that still count are in it, and then those that ended last.
    for number in 3..<200 as Range<UInt16> {
      book.guests.append(try guest(number, until: 1_800_000_000 + Int64(number)))
    }
    #expect(book.entries(at: 1_950_000_000).count == RevocationList.maximumCount)
    #expect(book.entries(at: 1_950_000_000).first?.bytes.prefix(2) == [0, 199])
    #expect(book.entries(at: 1_950_000_000, isShort: true).isEmpty)
  }

  private func list(_ version: UInt64, by key: OwnerKey) throws -> RevocationList {
    try key.sign(RevocationList(lock: #require(identity), issuer: key.publicKey, version: version, entries: []))
  }

  @Test("L5: lists of others that a phone carries push out neither its own nor one another; what is too much is said")
  func carried() throws {
    var book = GuestBook()
    book.hold(try list(1, by: owner))
    let others = (0..<GuestBook.carriedLimit).map { _ in OwnerKey(key: Curve25519.Signing.PrivateKey()) }
    for other in others { try book.carry(list(1, by: other), nil, own: owner.publicKey) }
    let before = book
    let more = try list(1, by: OwnerKey(key: Curve25519.Signing.PrivateKey()))
    let refusal = #expect(throws: NoAnswer.self) { try book.carry(more, nil, own: owner.publicKey) }
    #expect(refusal?.reason.contains("has no room for another") == true)
    #expect(book == before)
    // A newer one takes the place of its own owner's, an older one of none.
    try book.carry(list(3, by: others[0]), nil, own: owner.publicKey)
    try book.carry(list(2, by: others[0]), nil, own: owner.publicKey)
    book.hold(try list(2, by: owner))
    try book.carry(list(1, by: owner), nil, own: owner.publicKey)
    let kept = try book.undelivered.map { try RevocationList(decoding: #require(Hex.bytes($0))) }
    #expect(kept.count == GuestBook.carriedLimit + 1)
    #expect(kept.first { $0.issuer == others[0].publicKey }?.version == 3)
    #expect(kept.first { $0.issuer == owner.publicKey }?.version == 2)
  }

  @Test("L5, L6: after a reset of the lock and another enrolment, what was revoked waits for it once more")
  func forgotten()
    throws
  {
    let folder = NSTemporaryDirectory() + "latchkey-book-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let lock = try #require(identity)
    let path = GuestBook.path(in: folder)
    // Nobody was ever invited.
    try GuestBook.lockMayHaveForgotten(inFolder: folder, lock, at: 0)
    #expect(!FileManager.default.fileExists(atPath: path))
    var book = GuestBook()
    book.isIntroduced = true
    book.listVersion = 4
    book.guests = [try guest(1, until: .max), try guest(2, until: .max, isRevoked: false)]
    book.revokedPhones = [Hex.text([UInt8](repeating: 5, count: 16))]
    try book.write(path)
    try GuestBook.lockMayHaveForgotten(inFolder: folder, lock, at: 0)
    let after = try GuestBook.read(path)
    #expect(after.isIntroduced == nil && after.listVersion == 5 && after.undelivered.count == 1)
    let list = try RevocationList(decoding: #require(after.undelivered.first.flatMap { Hex.bytes($0) }))
    #expect(list.version == 5 && list.lock == lock && list.isSigned(using: SwiftCryptography.self))
    #expect(list.revokes(grant: [0, 1] + [UInt8](repeating: 9, count: 14)) && list.entries.count == 2)
    #expect(list.revokes(phone: [UInt8](repeating: 5, count: 32)))
  }

  @Test("L5: a lock that says it has the last list that there can be ends no agent") func lastVersion() throws {
    var book = GuestBook()
    book.listVersion = .max - 1
    #expect(try book.nextListVersion() == .max)
    let refusal = #expect(throws: NoAnswer.self) { try book.nextListVersion() }
    #expect(refusal?.reason.contains("Another owner has to revoke") == true && book.listVersion == .max)
  }

  @Test("L5: a list that the lock does not take is not called revoked, whatever the reason") func notTaken() throws {
    let own = try list(1, by: owner)
    for status in [LockReplyStatus.noRoom, .failed, .notBelieved, .notEntitled, .malformed] {
      #expect(QuestionDesk.refusal(status, of: own)?.reason.hasPrefix("Not revoked: ") == true, "\(status)")
    }
    #expect(QuestionDesk.refusal(.noRoom, of: own)?.reason.contains("has no room for a list of 0 entries") == true)
    #expect(QuestionDesk.refusal(.done, of: own) == nil)
  }

  @Test("L5: a book of which anything is damaged is refused: nothing that it says is revoked is left out of a list")
  func damaged() throws {
    let folder = NSTemporaryDirectory() + "latchkey-book-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = GuestBook.path(in: folder)
    let whole = try guest(1, until: .max)
    let damages: [(String, (inout GuestBook) -> Void)] = [
      ("a grant", { $0.guests = [whole, GuestBook.Guest(name: "2", grant: "0x", isRevoked: true)] }),
      ("a cut grant", { $0.guests[0].grant = String(whole.grant.dropLast(2)) }),
      ("a phone", { $0.revokedPhones = ["zz"] }), ("a short phone", { $0.revokedPhones = ["0505"] }),
      ("a list", { $0.undelivered = ["zz"] }), ("a cut list", { $0.undelivered[0].removeLast(2) }),
      ("an introduction", { $0.introductions = ["00": "zz"] }),
    ]
    for (what, damage) in damages {
      var book = GuestBook()
      book.guests = [whole]
      book.hold(try list(1, by: owner))
      try book.write(path)
      #expect(try GuestBook.read(path) == book)
      damage(&book)
      try book.write(path)
      let refusal = #expect(throws: NoAnswer.self, "\(what)") { try GuestBook.read(path) }
      #expect(refusal?.reason.contains("restore it from a backup") == true, "\(what)")
    }
  }

  @Test("L5: the 257th guest is invited when the first are over, and those who are to be kept out stay in the list")
  func manyGuests() throws {
    let day: Int64 = 86_400
    let now: Int64 = 1_800_000_000
    var book = GuestBook()
    book.guests = try (0..<UInt16(GuestBook.guestLimit)).map { number in
      try guest(number, until: now - 30 * day + Int64(number) - 2, isRevoked: number % 2 == 0)
    }
    // Who needs no entry any more is left out first, and who has been over for longest.
    try book.makeRoom(at: now)
    #expect(book.guests.count == GuestBook.guestLimit - 1 && !book.guests.contains { $0.name == "1" })
    book.guests.append(try guest(1000, until: .max, isRevoked: false))
    try book.makeRoom(at: now)
    #expect(book.guests.count == GuestBook.guestLimit - 1 && !book.guests.contains { $0.name == "0" })
    book.guests.append(try guest(1001, until: .max, isRevoked: false))
    // The clocks of phones and locks differ, so who has only just been over is kept.
    let before = book
    let refusal = #expect(throws: NoAnswer.self) { try book.makeRoom(at: now) }
    #expect(refusal?.reason.contains("latchkey guests revoke") == true && book == before)
    // Who is revoked for good has a place in the list, and takes no guest's.
    try book.revoke(guest: "1000", at: now)
    try book.makeRoom(at: now)
    #expect(book.entries(at: now, isShort: true).count == 1)
  }

  @Test("L5: a full list says who stays welcome, and how to keep them out; a lost phone's key still has room")
  func fullList() throws {
    var book = GuestBook()
    book.guests = try (0..<200 as Range<UInt16>).map { number in
      try guest(number, until: .max, isRevoked: false)
    }
    var refusal: NoAnswer?
    var count = 0
    while refusal == nil, count < 200 {
      do { try book.revoke(guest: "\(count)", at: 0) } catch { refusal = error as? NoAnswer }
      if refusal == nil { count += 1 }
    }
    #expect(count >= 100 && count < RevocationList.maximumCount)
    #expect(refusal?.reason.contains("\(count) stays welcome") == true)
    #expect(refusal?.reason.contains("guests revoke --key 0101") == true)
    #expect(book.guests.count(where: \.isRevoked) == count)
    // The phone of all these invitations is lost. Its key needs one entry, and theirs are not needed any more.
    book.revoke(phone: [UInt8](repeating: 1, count: 32))
    #expect(book.entries(at: 0).map(\.bytes) == [[UInt8](repeating: 1, count: 16)])
  }
}
