import Foundation
import LockCryptography
import LockProtocol
import ProcessTesting
import Testing

@testable import Worlds

/// Phones are enrolled by the code on the lock, by the commands that people type, with real processes.
@Suite("Enrolment at a door", .serialized, .timeLimit(.minutes(20)))
struct EnrollCommandTests {
  private static func key(_ text: String, of name: String) -> String? {
    text.split(separator: "\n").first { $0.hasPrefix(name) }?.split(separator: " ").last.map(String.init)
  }

  /// What comes in place of a bond.
  private static let noBond: Set<String> = ["pairing.refused"]

  @Test("attack 33: an owner and a guest who come while the window is closed bond when they have proven their keys")
  func bonds() async throws {
    let home = try await Household(phones: ["alice"], guests: ["ben"])
    try await home.bringHome("alice")
    // The phone's system waits for a bonded lock by a registration.
    try await home.hear("profile.registered", on: "alice", unless: Self.noBond)
    let invited = try await home.latchkey("alice", "guests", "invite", "Ben")
    let accepted = try await home.latchkey("ben", "guests", "accept", "--as", "alices", input: invited.output)
    #expect(accepted.status == 0, "\(accepted)")
    try await home.hear("status.answered", on: "ben")
    try await home.hear("profile.registered", on: "ben", unless: Self.noBond)
  }

  @Test("attack 33: a guest who is too early bonds, keeps the link, and is told why") func tooEarly()
    async throws
  {
    let home = try await Household(phones: ["alice"], guests: ["ben"])
    try await home.bringHome("alice")
    let invited = try await home.latchkey("alice", "guests", "invite", "Ben", "--from", "2098-01-01")
    #expect(invited.status == 0, "\(invited)")
    let accepted = try await home.latchkey("ben", "guests", "accept", "--as", "alices", input: invited.output)
    #expect(accepted.status == 0, "\(accepted)")
    try await home.hear("status.answered", on: "ben")
    try await home.hear("profile.registered", on: "ben", unless: Self.noBond)
    for _ in 1...2 {
      let refused = try await home.latchkey("ben", "unlock")
      #expect(refused.status == 1 && refused.errors.contains("does not count at this time"), "\(refused)")
    }
    let journal = try home.journalText()
    #expect(!journal.contains("pairing.refused") && !journal.contains("link.unproven"))
  }

  @Test("attack 33: a phone with the keys of another lock asks this one for no bond")
  func otherKeys() async throws {
    let home = try await Household(phones: ["alice"], strangers: ["mallory"])
    try await home.bringHome("alice")
    // A phone with keys for another lock takes this one for its own, until it has tried.
    let sent = try await home.latchkey("mallory", "open", "org.latchkey.agent")
    #expect(sent.status == 0, "\(sent)")
    try await home.hear("command.refused", on: "door", unless: Self.noBond)
    let opened = try await home.latchkey("alice", "unlock")
    #expect(opened.status == 0, "\(opened)")
    let journal = try home.journalText()
    #expect(!journal.contains("pairing.refused"), "an agent asks for no bond before it has an answer")
  }

  /// Alice is enrolled, and her phone and the lock have their pairing.
  private func pairedHome() async throws -> (home: Household, code: String) {
    let home = try await Household(phones: [], guests: ["alice"])
    let code = try home.lockCode().words
    try await home.press()
    let enrolled = try await home.latchkey("alice", "enroll", "--as", "home", input: code + "\n")
    #expect(enrolled.status == 0, "\(enrolled)")
    try await home.hear("profile.registered", on: "alice")
    return (home, code)
  }

  @Test("L5: a phone that has lost its pairing, which the lock still has, is enrolled again by code and button")
  func enrollWithoutPairing() async throws {
    let (home, code) = try await pairedHome()
    try await home.world(#"{"forgetPairings":{"machine":"alice"}}"#)
    // The lock's bluetoothd ends each link at once, because it asks for the pairing.
    try await home.hear("link.barren", on: "door")
    try await home.press()
    let again = try await home.latchkey("alice", "enroll", "--as", "again", input: code + "\n")
    #expect(again.status == 0, "\(again)")
    try await home.hear("status.answered", on: "alice")
    let opened = try await home.latchkey("alice", "unlock")
    #expect(opened.status == 0, "\(opened)")
  }

  @Test("L5: a phone whose pairing the lock has lost is told so at its enrolment, and enrolled once it has lost it too")
  func enrollAtForgetfulLock() async throws {
    let (home, code) = try await pairedHome()
    // A bond that was never used for long would be made anew by itself.
    for command in ["unlock", "lock", "unlock"] {
      let done = try await home.latchkey("alice", command)
      #expect(done.status == 0, "\(done)")
    }
    try await home.world(#"{"forgetPairings":{"machine":"door"}}"#)
    try await home.hear("link.barren", on: "alice")
    try await home.press()
    let refused = try await home.latchkey("alice", "enroll", "--wait", "0", input: code + "\n")
    #expect(refused.status == 1 && refused.errors.contains("latchkey doctor"), "\(refused)")
    try await home.world(#"{"forgetPairings":{"machine":"alice"}}"#)
    let again = try await home.latchkey("alice", "enroll", input: code + "\n")
    #expect(again.status == 0, "\(again)")
  }

  private static func keys(_ text: String) -> [String] {
    text.split(separator: "\n").compactMap { $0.split(separator: " ").last.map(String.init) }
  }

  @Test(
    "L5: a phone that is enrolled again takes its earlier key out, and keeps its guests; one that was set up anew is told of the earlier one"
  )
  func enrolledAgain() async throws {
    let home = try await Household(phones: [], guests: ["alice", "ben"])
    let code = try home.lockCode().words
    try await home.press()
    let enrolled = try await home.latchkey("alice", "enroll", "--as", "home", input: code + "\n")
    #expect(enrolled.status == 0 && enrolled.errors.isEmpty, "\(enrolled)")
    try await home.hear("status.answered", on: "alice")
    let invited = try await home.latchkey("alice", "guests", "invite", "Ben")
    let accepted = try await home.latchkey("ben", "guests", "accept", "--as", "alices", input: invited.output)
    #expect(invited.status == 0 && accepted.status == 0, "\(invited) \(accepted)")
    try await home.hear("status.answered", on: "ben")
    let first = Self.keys(try await home.latchkey("alice", "owners").output)
    #expect(first.count == 1)

    try await home.press()
    let again = try await home.latchkey("alice", "enroll", input: code + "\n")
    #expect(again.status == 0 && again.errors.isEmpty, "\(again)")
    // A question is answered after what waits for the lock was delivered.
    let second = try await home.latchkey("alice", "owners")
    #expect(Self.keys(second.output).count == 1 && Self.keys(second.output) != first, "\(second)")
    let opened = try await home.latchkey("ben", "unlock")
    #expect(opened.status == 0, "\(opened)")
    let another = try await home.latchkey("alice", "guests", "invite", "Carl")
    #expect(another.status == 0, "\(another)")

    // The phone is set up anew: its keys are gone, and nobody but its owner knows that it is the same one.
    try await home.stop("alice")
    let state = home.stateFolder("alice", .agent)
    for entry in try FileManager.default.contentsOfDirectory(atPath: state) {
      try FileManager.default.removeItem(atPath: state + "/" + entry)
    }
    try await home.startDaemon("alice")
    try await home.press()
    let anew = try await home.latchkey("alice", "enroll", input: code + "\n")
    let earlier = try #require(Self.keys(second.output).first)
    #expect(anew.status == 0 && anew.errors.contains("latchkey guests revoke --key \(earlier)"), "\(anew)")
    let both = try await home.latchkey("alice", "owners")
    #expect(Self.keys(both.output).count == 2, "\(both)")
    let revoked = try await home.latchkey("alice", "guests", "revoke", "--key", earlier)
    #expect(revoked.status == 0, "\(revoked)")
    let left = try await home.latchkey("alice", "owners")
    #expect(Self.keys(left.output).count == 1 && left.output.contains("this phone"), "\(left)")
  }

  @Test("L5: a phone whose book of guests can't be read is enrolled again all the same, and told of its earlier key")
  func damagedBook() async throws {
    let (home, code) = try await pairedHome()
    let first = try #require(Self.keys(try await home.latchkey("alice", "owners").output).first)
    let book = home.stateFolder("alice", .agent) + "/doors/home/guests.json"
    try "damaged".write(toFile: book, atomically: true, encoding: .utf8)
    try await home.press()
    let again = try await home.latchkey("alice", "enroll", input: code + "\n")
    #expect(again.status == 0 && again.errors.contains("latchkey guests revoke --key \(first)"), "\(again)")
    let owners = try await home.latchkey("alice", "owners")
    #expect(owners.output.contains("alice: key \(first)") && owners.output.contains("(this phone)"), "\(owners)")

    // The book is restored: what could not be done is made up for at the agent's next start.
    unlink(book)
    try home.killApp("alice")
    for _ in 0..<2 {
      let asked = try await home.latchkey("alice", "owners")
      #expect(asked.status == 0, "\(asked)")
    }
    let left = try await home.latchkey("alice", "owners")
    #expect(!left.output.contains(first) && left.output.contains("(this phone)"), "\(left)")
  }

  @Test("L4: a phone is enrolled again at a door that it has, by that door's name") func sameName() async throws {
    let (home, code) = try await pairedHome()
    try await home.press()
    let again = try await home.latchkey("alice", "enroll", "--as", "home", input: code + "\n")
    #expect(again.status == 0 && again.output.contains("latchkey unlock home"), "\(again)")
  }

  @Test("L5: a phone whose unconfirmed key was revoked is enrolled at the next try, with another key")
  func revokedPendingKey() async throws {
    let home = try await Household(phones: ["bob"], guests: ["alice"])
    let code = try home.lockCode().words
    try await home.bringHome("bob")
    // The link broke before the lock's confirmation, so Alice's phone keeps its key for the next try.
    let folder = home.stateFolder("alice", .agent) + "/enrolment"
    let pending = try Provisioning.makePendingPhone(directory: folder)
    let key = Hex.text(Array(pending.staticKey.publicKey.rawRepresentation))
    let revoked = try await home.latchkey("bob", "guests", "revoke", "--key", key)
    #expect(revoked.status == 0, "\(revoked)")
    try await home.press()
    let enrolled = try await home.latchkey("alice", "enroll", "--as", "home", input: code + "\n")
    #expect(enrolled.status == 0, "\(enrolled)")
    let owners = try await home.latchkey("alice", "owners")
    #expect(owners.output.contains("(this phone)") && !owners.output.contains(key), "\(owners)")
    let left = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(left.isEmpty, "\(left)")
  }

  @Test("L5: the first phone is enrolled by code and button, opens, and is replaced by another when it is lost")
  func enroll() async throws {
    let home = try await Household(phones: [], guests: ["alice", "second"])
    let code = try home.lockCode().words
    let none = try await home.latchkey("alice", "unlock")
    #expect(none.status == 1 && none.errors.contains("latchkey enroll"), "\(none)")
    let mistyped = try await home.latchkey("alice", "enroll", input: "0" + code.dropFirst() + "\n")
    #expect(mistyped.status == 64 || code.hasPrefix("0"), "\(mistyped)")

    // Nobody has pressed the button.
    let closed = try await home.latchkey("alice", "enroll", "--wait", "0", input: code + "\n")
    #expect(closed.status == 1 && closed.errors.contains("press its button"), "\(closed)")

    try await home.press()
    let wrong = try await home.latchkey("alice", "enroll", "--wait", "0", input: EnrolmentCode.draw().words + "\n")
    #expect(wrong.status == 1 && wrong.errors.contains("refuses the code"), "\(wrong)")
    let enrolled = try await home.latchkey("alice", "enroll", "--as", "home", input: code.lowercased() + "\n")
    #expect(enrolled.status == 0 && enrolled.output.contains("latchkey unlock home"), "\(enrolled)")
    try await home.hear("status.answered", on: "alice")
    let opened = try await home.latchkey("alice", "unlock")
    #expect(opened.status == 0, "\(opened)")

    // The success has closed the window. A second phone needs the button again.
    let late = try await home.latchkey("second", "enroll", "--wait", "0", input: code + "\n")
    #expect(late.status == 1 && late.errors.contains("press its button"), "\(late)")
    try await home.press()
    let second = try await home.latchkey("second", "enroll", "--json", input: code + "\n")
    #expect(second.status == 0 && second.output.contains(#""door":"door""#), "\(second)")
    try await home.hear("status.answered", on: "second")

    // The first one is lost.
    let owners = try await home.latchkey("second", "owners")
    #expect(owners.output.contains("alice: key ") && owners.output.contains("second (this phone): key "), "\(owners)")
    let lost = try #require(Self.key(owners.output, of: "alice"))
    let revoked = try await home.latchkey("second", "guests", "revoke", "--key", lost)
    #expect(revoked.status == 0 && revoked.output.contains("the lock knows it"), "\(revoked)")
    var refused = try await home.latchkey("alice", "unlock")
    // A link on which the phone was refused may be ending just now.
    for _ in 0..<5 where refused.errors.contains("link to the lock") {
      refused = try await home.latchkey("alice", "unlock")
    }
    #expect(refused.status == 1 && refused.errors.contains("The lock refuses this phone"), "\(refused)")
    let left = try await home.latchkey("second", "owners")
    #expect(!left.output.contains("alice"), "\(left)")
    let log = try await home.latchkey("second", "log")
    #expect(log.output.contains("alice was enrolled with the lock's code"), "\(log)")
    #expect(log.output.contains("this phone was enrolled with the lock's code"), "\(log)")

    // After a restart of everything on the phone, the keys are still there.
    try await home.stop("second")
    try await home.startDaemon("second")
    try await home.bringHome("second")
    let locked = try await home.latchkey("second", "lock")
    #expect(locked.status == 0, "\(locked)")
    let file = home.stateFolder("second", .agent) + "/doors/door.json"
    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
    #expect(mode == 0o600)

    let journal = try home.journalText()
    #expect(!journal.contains(code) && !journal.lowercased().contains(code.lowercased()), "no code is recorded")
    #expect(journal.contains("\"event\":\"enrolment.opened\"") && journal.contains("\"event\":\"phone.enrolled\""))
  }
}
