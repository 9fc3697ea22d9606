import AgentQuestions
import Foundation
import LockCryptography
import ProcessTesting
import Testing

@testable import Worlds

/// Guests, by the commands that people type, with real processes.
@Suite("Guests at a door", .serialized, .timeLimit(.minutes(20)))
struct GuestCommandTests {
  @Test("L5 L8: a guest is invited, opens, is counted, is revoked over another owner's phone, and opens no more")
  func guest() async throws {
    let home = try await Household(phones: ["alice", "bob"], guests: ["ben"])
    try await home.bringHome("alice")
    try await home.bringHome("bob")
    let invited = try await home.latchkey(
      "alice", "guests", "invite", "Ben", "--uses", "2", "--until", "2098-12-31", "--hours", "00:00-24:00")
    #expect(invited.status == 0 && invited.output.hasPrefix("invite-1-"), "\(invited)")
    #expect(invited.errors.contains("nobody else"), "\(invited)")
    let twice = try await home.latchkey("alice", "guests", "invite", "Ben")
    #expect(twice.status == 1 && twice.errors.contains("There is a guest \"Ben\" already"), "\(twice)")

    let none = try await home.latchkey("ben", "unlock")
    #expect(none.status == 1 && none.errors.contains("opens no door yet"), "\(none)")
    let wrong = try await home.latchkey("ben", "guests", "accept", "--as", "alices", input: "invite-1-00")
    #expect(wrong.status == 1 && wrong.errors.contains("the invitation is not whole"), "\(wrong)")
    let accepted = try await home.latchkey("ben", "guests", "accept", "--as", "alices", input: invited.output)
    #expect(accepted.status == 0 && accepted.output.contains("latchkey unlock alices"), "\(accepted)")
    try await home.hear("status.answered", on: "ben")
    let opened = try await home.latchkey("ben", "unlock", "alices")
    #expect(opened.status == 0, "\(opened)")
    let locked = try await home.latchkey("ben", "lock")
    #expect(locked.status == 0, "\(locked)")
    let notHis = try await home.latchkey("ben", "log")
    #expect(notHis.status == 1 && notHis.errors.contains("does not tell that to this phone"), "\(notHis)")
    let log = try await home.latchkey("bob", "log")
    #expect(log.output.contains("unlocked, by Ben") && log.output.contains("alice may invite guests"), "\(log)")

    // Alice is away; the list reaches the lock by Bob's phone.
    try await home.stop("alice")
    try await home.startDaemon("alice", isOutOfReach: true)
    let revoked = try await home.latchkey("alice", "guests", "revoke", "Ben")
    #expect(revoked.status == 0 && revoked.output.hasPrefix("revoke-1-"), "\(revoked)")
    let listed = try await home.latchkey("alice", "guests", "list")
    #expect(listed.output.contains("Ben: until ") && listed.output.contains("2 times; revoked"), "\(listed)")
    let list = revoked.output.trimmingCharacters(in: .whitespacesAndNewlines)
    let carried = try await home.latchkey("bob", "guests", "carry", list)
    #expect(carried.status == 0 && carried.output == "The lock has the list.\n", "\(carried)")
    let refused = try await home.latchkey("ben", "unlock", "alices")
    #expect(refused.status == 1 && refused.errors.contains("Your invitation was revoked."), "\(refused)")
    let after = try await home.latchkey("bob", "log", "--last", "3")
    #expect(after.output.contains("by Ben: refused, the invitation was revoked"), "\(after)")

    // Still away, Alice invites him once more: the lock knows her signature.
    let again = try await home.latchkey("alice", "guests", "invite", "Ben")
    #expect(again.status == 0, "\(again)")
    let other = try await home.latchkey("ben", "guests", "accept", "--as", "villa", input: again.output)
    #expect(other.status == 1 && other.errors.contains("use --as alices"), "\(other)")
    let renewed = try await home.latchkey("ben", "guests", "accept", "--as", "alices", input: again.output)
    #expect(renewed.status == 0, "\(renewed)")
    let reopened = try await home.latchkey("ben", "unlock")
    #expect(reopened.status == 0, "\(reopened)")
    let own = try await home.latchkey("bob", "guests", "accept", "--as", "alices", input: again.output)
    #expect(own.status == 1 && own.errors.contains("as an owner's"), "\(own)")
  }

  @Test("A5: who could not be given an invitation is told how to take it back, because it is kept nowhere")
  func lostInvitation() async throws {
    let home = try await Household(phones: ["alice"])
    try await home.bringHome("alice")
    let lost = try await home.bash("alice", "exec $latchkey guests invite Zoe >/dev/full")
    #expect(lost.status == 74 && !lost.errors.contains("Give this to"), "\(lost)")
    #expect(lost.errors.contains("latchkey guests revoke \"Zoe\""), "\(lost)")
    let again = try await home.bash("alice", "$latchkey guests revoke Zoe && $latchkey guests invite 'Zoe again'")
    #expect(again.status == 0 && again.output.contains("invite-1-"), "\(again)")
  }

  @Test("L5: an invitation for a phone's own key is not secret, and is of no use elsewhere") func ownKey() async throws
  {
    let home = try await Household(phones: ["alice"], guests: ["ben", "thief"])
    try await home.bringHome("alice")
    let key = try await home.latchkey("ben", "guests", "key")
    #expect(key.status == 0 && key.output.hasPrefix("phone-1-"), "\(key)")
    let nowhere = try await home.latchkey("ben", "guests", "key", "--door", "alices")
    #expect(nowhere.status == 1 && nowhere.errors.contains("There is no door \"alices\" here"), "\(nowhere)")
    let invited = try await home.latchkey(
      "alice", "guests", "invite", "Ben", "--phone", key.output.trimmingCharacters(in: .whitespacesAndNewlines))
    #expect(invited.status == 0 && invited.errors.contains("on that phone only"), "\(invited)")
    let stolen = try await home.latchkey("thief", "guests", "accept", "--as", "alices", input: invited.output)
    #expect(stolen.status == 1 && stolen.errors.contains("for another phone's key"), "\(stolen)")
    let accepted = try await home.latchkey("ben", "guests", "accept", "--as", "alices", input: invited.output)
    #expect(accepted.status == 0, "\(accepted)")
    try await home.hear("status.answered", on: "ben")
    let opened = try await home.latchkey("ben", "unlock")
    #expect(opened.status == 0, "\(opened)")
    let journal = try home.journalText()
    let secret = invited.output.trimmingCharacters(in: .whitespacesAndNewlines)
    #expect(!journal.contains(secret) && !journal.contains(String(secret.suffix(64))), "no invitation is recorded")
  }

  @Test("L5: nobody is invited with a revoked key, and the guest's phone draws another")
  func revokedKey() async throws {
    let home = try await Household(phones: ["alice"], guests: ["ben"])
    try await home.bringHome("alice")
    let first = try await home.latchkey("ben", "guests", "key").output.trimmingCharacters(in: .whitespacesAndNewlines)
    let again = try await home.latchkey("ben", "guests", "key").output.trimmingCharacters(in: .whitespacesAndNewlines)
    #expect(first == again && first.hasPrefix("phone-1-"))
    let key = Hex.text(try PhoneIntroduction(first).publicKey)
    let revoked = try await home.latchkey("alice", "guests", "revoke", "--key", key)
    #expect(revoked.status == 0, "\(revoked)")
    let refused = try await home.latchkey("alice", "guests", "invite", "Ben", "--phone", first)
    #expect(refused.status == 1 && refused.errors.contains("guests key --new"), "\(refused)")
    let new = try await home.latchkey("ben", "guests", "key", "--new")
    let second = new.output.trimmingCharacters(in: .whitespacesAndNewlines)
    #expect(new.status == 0 && second.hasPrefix("phone-1-") && second != first, "\(new)")
    let invited = try await home.latchkey("alice", "guests", "invite", "Ben", "--phone", second)
    #expect(invited.status == 0, "\(invited)")
    let accepted = try await home.latchkey("ben", "guests", "accept", "--as", "alices", input: invited.output)
    #expect(accepted.status == 0, "\(accepted)")
    try await home.hear("status.answered", on: "ben")
    let opened = try await home.latchkey("ben", "unlock")
    #expect(opened.status == 0, "\(opened)")
  }

  @Test("L5: what the lock does not take is not called revoked: a lost book of guests, a list of an unknown owner")
  func notRevoked() async throws {
    let home = try await Household(phones: ["alice", "bob"])
    try await home.bringHome("alice")
    let first = String(repeating: "ab", count: 16)
    let second = String(repeating: "cd", count: 16)
    let revoked = try await home.latchkey("alice", "guests", "revoke", "--key", first)
    #expect(revoked.status == 0 && revoked.output == "Revoked: the lock knows it.\n", "\(revoked)")
    try FileManager.default.removeItem(atPath: "\(home.stateFolder("alice", .agent))/guests.json")
    let lost = try await home.latchkey("alice", "guests", "revoke", "--key", second)
    #expect(lost.status == 1 && lost.errors.contains("Not revoked: the lock has list 1"), "\(lost)")
    let repeated = try await home.latchkey("alice", "guests", "revoke", "--key", second)
    #expect(repeated.status == 0 && repeated.output == "Revoked: the lock knows it.\n", "\(repeated)")

    try await home.startDaemon("bob", isOutOfReach: true)
    let away = try await home.latchkey("bob", "guests", "revoke", "--key", second)
    #expect(away.status == 0 && away.output.hasPrefix("revoke-1-"), "\(away)")
    // Without the introduction that comes with it, nobody could believe it.
    let parts = away.output.trimmingCharacters(in: .whitespacesAndNewlines).split(separator: "-")
    #expect(parts.count == 4, "\(away)")
    let carried = try await home.latchkey("alice", "guests", "carry", parts.prefix(3).joined(separator: "-"))
    #expect(carried.status == 1 && carried.errors.contains("does not believe this list"), "\(carried)")
    let unknown = try await home.latchkey("bob", "guests", "invite", "Ben")
    #expect(unknown.status == 1 && unknown.errors.contains("within reach of the lock"), "\(unknown)")
    for name in ["   ", "Ben ", "\u{A0}"] {
      let blank = try await home.latchkey("alice", "guests", "invite", name)
      #expect(blank.status == 1 && blank.errors.contains("neither begins nor ends with a space"), "\(blank)")
    }
    let turning = try await home.latchkey("alice", "guests", "invite", "B\u{202E}en")
    #expect(turning.status == 1 && turning.errors.contains("without control characters"), "\(turning)")
  }

  @Test("L3 L5: an owner who has never been at the lock revokes a guest from afar, by whichever phone, or comes by")
  func neverThere() async throws {
    let home = try await Household(phones: ["alice", "bob"], guests: ["ben", "carl"])
    try await home.startDaemon("bob", isOutOfReach: true)
    try await home.bringHome("alice")
    var keys: [String: String] = [:]
    for guest in ["ben", "carl"] {
      let invited = try await home.latchkey("alice", "guests", "invite", guest)
      let accepted = try await home.latchkey(guest, "guests", "accept", "--as", "alices", input: invited.output)
      #expect(accepted.status == 0, "\(accepted)")
      try await home.hear("status.answered", on: guest)
      #expect(try await home.latchkey(guest, "unlock").status == 0)
      let listed = try await home.latchkey("alice", "guests", "list", "--json")
      let guests = try JSONDecoder().decode(GuestsAnswer.self, from: Data(listed.output.utf8)).guests
      keys[guest] = guests.last?.key
    }
    let revoked = try await home.latchkey("bob", "guests", "revoke", "--key", try #require(keys["ben"]))
    #expect(revoked.status == 0 && revoked.output.hasPrefix("revoke-1-"), "\(revoked)")
    let list = revoked.output.trimmingCharacters(in: .whitespacesAndNewlines)
    let damaged = try await home.latchkey("carl", "guests", "carry", String(list.dropLast()))
    #expect(damaged.status == 1 && damaged.errors.contains("not a revocation list"), "\(damaged)")
    // Another guest's phone is enough.
    let carried = try await home.latchkey("carl", "guests", "carry", list)
    #expect(carried.status == 0 && carried.output == "The lock has the list.\n", "\(carried)")
    for _ in 1...2 { try await home.hear("access.changed", on: Household.door) }
    let refused = try await home.latchkey("ben", "unlock")
    #expect(refused.status == 1 && refused.errors.contains("Your invitation was revoked."), "\(refused)")
    // The lock takes no questions of a guest whom it refuses, and it has said why.
    let asked = try await home.latchkey("ben", "door")
    #expect(asked.status == 1 && asked.errors.contains("Your invitation was revoked."), "\(asked)")
    let log = try await home.latchkey("alice", "log")
    #expect(log.output.contains("bob may invite guests, and revoke"), "\(log)")
    #expect(try await home.latchkey("carl", "unlock").status == 0)

    // The next list waits in Bob's own phone, until that comes home.
    let second = try await home.latchkey("bob", "guests", "revoke", "--key", try #require(keys["carl"]))
    #expect(second.status == 0 && second.output.hasPrefix("revoke-1-"), "\(second)")
    try await home.world("{\"move\":{\"machine\":\"bob\",\"x\":1,\"y\":0}}")
    #expect(try await home.latchkey("bob", "open", "org.latchkey.agent").status == 0)
    try await home.hear("access.changed", on: Household.door)
    let carl = try await home.latchkey("carl", "unlock")
    #expect(carl.status == 1 && carl.errors.contains("revoked"), "\(carl)")
  }

  @Test("L5: a list that waits in its owner's own phone is delivered, though the lock did not know that owner before")
  func ownDelivery() async throws {
    let home = try await Household(phones: ["alice", "bob"])
    try await home.startDaemon("bob", isOutOfReach: true)
    let key = String(repeating: "ab", count: 32)
    let revoked = try await home.latchkey("bob", "guests", "revoke", "--key", key)
    #expect(revoked.status == 0 && revoked.output.hasPrefix("revoke-1-"), "\(revoked)")
    try await home.world("{\"move\":{\"machine\":\"bob\",\"x\":1,\"y\":0}}")
    #expect(try await home.latchkey("bob", "open", "org.latchkey.agent").status == 0)
    // The introduction, and the list.
    for _ in 1...2 { try await home.hear("access.changed", on: Household.door) }
    let log = try await home.latchkey("bob", "log")
    #expect(log.output.contains("a new revocation list, brought by this phone"), "\(log)")
    let listed = try await home.latchkey("bob", "guests", "list")
    #expect(!listed.output.contains("wait for the lock"), "\(listed)")
  }

  @Test(
    "L5: a book of guests of which one entry is damaged revokes nobody by half, and the agent's log says that its list waits"
  )
  func damagedEntry() async throws {
    let home = try await Household(phones: ["alice"])
    try await home.bringHome("alice")
    for name in ["Ben", "Carla"] {
      let invited = try await home.latchkey("alice", "guests", "invite", name)
      #expect(invited.status == 0, "\(invited)")
    }
    let ben = try await home.latchkey("alice", "guests", "revoke", "Ben")
    #expect(ben.status == 0, "\(ben)")
    let book = home.stateFolder("alice", .agent) + "/guests.json"
    let whole = try String(contentsOfFile: book, encoding: .utf8)
    // Ben's grant can't be read any more: a list without it would let him in again.
    try whole.replacing(#""grant" : "0"#, with: #""grant" : "x"#, maxReplacements: 1).write(
      toFile: book, atomically: true, encoding: .utf8)
    for arguments in [["guests", "revoke", "Carla"], ["guests", "list"], ["guests", "invite", "Dora"]] {
      let refused = try await home.latchkey("alice", arguments)
      #expect(refused.status == 1 && refused.errors.contains("restore it from a backup"), "\(refused)")
    }
    let door = try await home.latchkey("alice", "door")
    #expect(door.status == 0, "\(door)")
    #expect(try home.journalText().contains("what waits for the lock is not delivered"))
    // It is restored.
    try whole.write(toFile: book, atomically: true, encoding: .utf8)
    let carla = try await home.latchkey("alice", "guests", "revoke", "Carla")
    #expect(carla.status == 0, "\(carla)")
  }
}
