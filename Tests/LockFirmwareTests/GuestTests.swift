import Crypto
import LockCryptography
import LockFirmware
import LockProtocol
import Testing

@Suite("Guests, owners and what they revoke") struct GuestTests {
  @Test("L5: a guest opens with a grant that an owner has signed, by one write, and the log has the guest's name")
  func opens() throws {
    var party = try GuestParty()
    #expect(try party.come(with: party.grant().encoded) == .done)
    #expect(party.bench.position == .unlocked)
    #expect(party.bench.log.last?.phone == Array(party.guestKey.publicKey.rawRepresentation))
    #expect(party.bench.access.guests.map(\.name) == [Array("Ben".utf8)])
    #expect(try party.come(.lock, with: party.grant().encoded) == .done)
    // Without the grant, the guest is a stranger.
    #expect(try party.come(with: []) == nil)
    #expect(party.bench.refusals.last == .notEnrolled)
  }

  @Test("attack 7: each guest has a key and a grant of their own; another phone can't use them") func shared() throws {
    var party = try GuestParty()
    let grant = try party.grant()
    let thief = Bench.PrivateKey()
    var session = try party.bench.session(party.guest, key: thief)
    party.bench.happens(
      .commandWritten(
        party.guest,
        try session.seal(LockCommand(.unlock, operation: 5), grant: grant.encoded, using: &party.bench.cryptography)))
    #expect(party.bench.refusals == [.notEnrolled] && party.bench.turns.isEmpty)
  }

  @Test("attack 8: dates, weekdays and hours are checked by the lock, with the time that an owner has set")
  func schedule() throws {
    var party = try GuestParty()
    let day: Int64 = 86_400
    // Mondays to Fridays, 8:00 to 17:30, two hours east of UTC, for two weeks.
    let schedule = GrantSchedule(
      from: GuestParty.monday, until: GuestParty.monday + 14 * day, weekdays: 0b0011111, start: 480, end: 1050,
      offset: 120,
      offsetChange: .max, laterOffset: 120)
    let grant = try party.grant(schedule).encoded
    #expect(try party.come(with: grant) == .clockUnknown, "without a clock it fails closed")
    for (time, expected) in [
      (GuestParty.monday - day, LockResult.outsideSchedule), (GuestParty.monday + 5 * 3600, .outsideSchedule),
      (GuestParty.monday + 8 * 3600, .done), (GuestParty.monday + 15 * 3600, .done),
      (GuestParty.monday + 16 * 3600, .outsideSchedule),
      (GuestParty.monday + 5 * day + 8 * 3600, .outsideSchedule), (GuestParty.monday + 7 * day + 8 * 3600, .done),
      (GuestParty.monday + 14 * day + 8 * 3600, .expired),
    ] {
      #expect(try party.tell(.setClock(time - 310)) == .done)
      #expect(try party.come(with: grant) == expected, "\((time - GuestParty.monday) / 3600)")
      if expected == .done { #expect(try party.come(.lock, with: party.grant().encoded) == .done) }
    }
  }

  @Test("attack 19: only an owner sets the clock, and a clock that has run for long is not trusted near a limit")
  func clock() throws {
    var party = try GuestParty()
    let grant = try party.grant(
      GrantSchedule(
        from: GuestParty.monday, until: GuestParty.monday + 100 * 86_400, weekdays: GrantSchedule.everyDay, start: 0,
        end: 1440,
        offset: 0, offsetChange: .max, laterOffset: 0))
    #expect(try party.come(with: party.grant().encoded) == .done)
    var conversation = try party.conversation(with: party.grant().encoded)
    for request in [
      LockRequest.setClock(GuestParty.monday + 86_400),
      .introduce(signingKey: [UInt8](repeating: 1, count: 32), name: []),
      .log(from: 1, count: 1), .names(from: 0),
    ] {
      #expect(try party.bench.ask(request.encoded, in: &conversation, over: party.guest)?.status == .notEntitled)
    }
    #expect(try party.tell(.setClock(0)) == .malformed)
    #expect(try party.tell(.setClock(.max)) == .malformed)
    #expect(try party.tell(.setClock(4_102_444_800)) == .malformed, "2100 begins")
    #expect(try party.tell(.setClock(4_102_444_799)) == .done)
    // 60 days later the clock may be 17 minutes wrong, and the grant ends in 10.
    #expect(try party.tell(.setClock(GuestParty.monday + 39 * 86_400)) == .done)
    party.bench.pass(60 * 86_400)
    #expect(try party.come(with: grant.encoded) == .notNeeded)
    party.bench.pass(86_400 - 310 - 600)
    #expect(try party.come(with: grant.encoded) == .expired)
    // Another start of the machine: how long it was off is unknown.
    party.bench.configuration.boot = [UInt8](repeating: 1, count: 16)
    party.bench.restart()
    party.bench.happens(.linkUp(party.guest))
    #expect(try party.come(with: grant.encoded) == .clockUnknown)
  }

  @Test("L5: hours with a gap that is shorter than the clock may be wrong do not count in it") func gap() throws {
    var party = try GuestParty()
    let grant = try party.grant(
      GrantSchedule(
        from: .min, until: .max, weekdays: GrantSchedule.everyDay, start: 480, end: 470, offset: 0, offsetChange: .max,
        laterOffset: 0))
    #expect(try party.tell(.setClock(GuestParty.monday)) == .done)
    // 60 days later, at 07:25 and then at 07:55, the clock may be 17 minutes wrong.
    party.bench.pass(60 * 86_400 + 7 * 3600 + 1200)
    #expect(try party.come(with: grant.encoded) == .done)
    party.bench.pass(25 * 60)
    #expect(try party.come(with: grant.encoded) == .outsideSchedule)
    party.bench.pass(25 * 60)
    #expect(try party.come(.lock, with: grant.encoded) == .done)
  }

  @Test("L5: a gap of seconds, which a change of the time zone leaves in the hours, is a gap all the same")
  func zoneGap() throws {
    var party = try GuestParty()
    // The hours end at 17:00:00. Ten seconds later it is 16:00:10 once more.
    let change = GuestParty.monday + 17 * 3600 + 10
    let grant = try party.grant(
      GrantSchedule(
        from: .min, until: .max, weekdays: GrantSchedule.everyDay, start: 480, end: 1020, offset: 0,
        offsetChange: change, laterOffset: -60))
    // The clock may be 35 seconds wrong, and none of the whole minutes from the earliest time on is in the gap.
    let days: Int64 = 2
    #expect(try party.tell(.setClock(change - days * 86_400 - 310)) == .done)
    party.bench.pass(Double(days * 86_400))
    #expect(try party.come(with: grant.encoded) == .outsideSchedule)
    // Long after the change it counts.
    party.bench.pass(1200)
    #expect(try party.come(with: grant.encoded) == .done)
  }

  @Test("L5: a grant opens as often as it may, also over restarts of the lock") func uses() throws {
    var party = try GuestParty()
    let grant = try party.grant(uses: 2).encoded
    #expect(try party.come(with: grant) == .done)
    #expect(try party.come(with: grant) == .notNeeded, "the bolt did not turn for it")
    #expect(try party.come(.lock, with: grant) == .done)
    party.bench.restart()
    party.bench.happens(.linkUp(party.guest))
    #expect(try party.come(with: grant) == .done)
    #expect(try party.come(.lock, with: grant) == .done)
    #expect(try party.come(with: grant) == .usedUp)
    #expect(party.bench.log.last?.result == .usedUp)
  }

  @Test("attack 9: a guest does what the grant allows, and nothing else") func permissions() throws {
    var party = try GuestParty()
    let grant = try party.grant(permissions: .lock).encoded
    #expect(try party.come(with: grant) == .notPermitted)
    #expect(try party.come(.unlockUnlessInside, with: grant) == .notPermitted)
    #expect(try party.come(.lock, with: grant) == .notNeeded)
    #expect(party.bench.turns.isEmpty)
  }

  @Test("L5: a list that would leave a lock without owners is refused") func lastOwner() throws {
    var party = try GuestParty()
    let phones = party.bench.keys.map { Array($0.publicKey.rawRepresentation.prefix(16)) }
    let all = try party.list(1, phones.map { .phone($0) })
    #expect(try party.tell(.deliver(all.encoded)) == .notBelieved)
    #expect(party.bench.access.lists.isEmpty)
    // Another owner is left.
    let others = try party.list(1, [.phone(phones[1])])
    #expect(try party.tell(.deliver(others.encoded)) == .done)
    try party.bench.command(.unlock, 1)
    #expect(party.bench.turns.count == 1)
  }

  @Test("attack 16: what an owner revokes does not open any more, whoever brought the list") func revoked() throws {
    var party = try GuestParty()
    let grant = try party.grant()
    #expect(try party.come(with: grant.encoded) == .done)
    #expect(try party.come(.lock, with: grant.encoded) == .done)
    // Another owner's phone brings it.
    party.bench.happens(.linkUp(Bench.bob))
    #expect(try party.tell(.deliver(party.list(1, [.grant(grant.identifier)]).encoded), by: 1) == .done)
    #expect(try party.come(with: grant.encoded) == .revoked)
    party.bench.restart()
    party.bench.happens(.linkUp(party.guest))
    #expect(try party.come(with: grant.encoded) == .revoked)
    #expect(party.bench.turns.count == 2)
  }

  @Test("attack 18: an older list, or an old one under a new owner's name, is refused") func rollBack() throws {
    var party = try GuestParty()
    let grant = try party.grant()
    let first = try party.list(1, []).encoded
    let second = try party.list(2, [.grant(grant.identifier)])
    #expect(try party.tell(.deliver(second.encoded)) == .done)
    #expect(try party.tell(.deliver(second.encoded)) == .done, "the same once more changes nothing")
    #expect(try party.tell(.deliver(first)) == .older)
    // Its signature is the second one's.
    let forged = RevocationList(
      lock: second.lock, issuer: second.issuer, version: 3, entries: [], signature: second.signature)
    #expect(try party.tell(.deliver(forged.encoded)) == .notBelieved)
    let stranger = OwnerKey(key: Curve25519.Signing.PrivateKey())
    #expect(try party.tell(.deliver(party.list(9, [], by: stranger).encoded)) == .notBelieved)
    // Another owner can't take over the first one's key.
    party.bench.happens(.linkUp(Bench.bob))
    #expect(try party.tell(.introduce(signingKey: party.owner.publicKey, name: []), by: 1) == .notBelieved)
    #expect(try party.come(with: grant.encoded) == .revoked)
    party.bench.restart()
    party.bench.happens(.linkUp(Bench.alice))
    #expect(try party.tell(.deliver(first)) == .older)
  }

  @Test("attacks 18, 30: the same owner's newer list for another lock takes nobody off this lock's list")
  func otherLock()
    throws
  {
    var party = try GuestParty()
    let grant = try party.grant()
    #expect(try party.tell(.deliver(party.list(1, [.grant(grant.identifier)]).encoded)) == .done)
    let elsewhere = try #require(LockIdentity([UInt8](repeating: 4, count: 16)))
    let other = try party.owner.sign(
      RevocationList(lock: elsewhere, issuer: party.owner.publicKey, version: 2, entries: []))
    #expect(try party.tell(.deliver(other.encoded)) == .notBelieved)
    #expect(try party.come(with: grant.encoded) == .revoked)
  }

  @Test("L5: a lost phone of an owner is revoked by another owner: it opens nothing, and what it signed counts no more")
  func lostPhone() throws {
    var party = try GuestParty()
    let grant = try party.grant().encoded
    let bob = OwnerKey(key: Curve25519.Signing.PrivateKey())
    party.bench.happens(.linkUp(Bench.bob))
    #expect(try party.tell(.introduce(signingKey: bob.publicKey, name: Array("Bob".utf8)), by: 1) == .done)
    let lost = Array(party.bench.keys[0].publicKey.rawRepresentation)
    let list = try party.list(1, [.phone(Array(lost.prefix(16)))], by: bob)
    // The lost phone is on its link, in the middle of a conversation.
    var conversation = try party.bench.conversation()
    #expect(try party.tell(.deliver(list.encoded), by: 1) == .done)
    #expect(try party.bench.ask(LockRequest.state.encoded, in: &conversation) == nil)
    party.bench.pass(310)
    party.bench.happens(.offerRead(Bench.alice))
    try party.bench.command(.unlock, 500)
    #expect(party.bench.refusals.last == .notEnrolled && party.bench.turns.isEmpty)
    #expect(try party.come(with: grant) == nil, "a grant of a revoked owner")
    party.bench.happens(.offerRead(Bench.bob))
    try party.bench.command(.unlock, 501, by: 1)
    #expect(party.bench.turns.count == 1)
  }

  @Test("attacks 11, 30: a grant with any bit flipped, of an unknown owner, or for another lock opens nothing")
  func forged() throws {
    var party = try GuestParty()
    let good = try party.grant().encoded
    for position in stride(from: 0, to: good.count, by: 3) {
      var bytes = good
      bytes[position] ^= 0x10
      #expect(!party.bench.firmware.wouldAdmit(Array(party.guestKey.publicKey.rawRepresentation), bytes), "\(position)")
    }
    #expect(party.bench.firmware.wouldAdmit(Array(party.guestKey.publicKey.rawRepresentation), good))
    let elsewhere = try #require(LockIdentity([UInt8](repeating: 4, count: 16)))
    #expect(try party.come(with: party.grant(lock: elsewhere).encoded) == nil)
    var unknown = try GuestParty(introduces: false)
    #expect(try unknown.come(with: unknown.grant().encoded) == nil)
  }

  @Test("L5: what can't be stored does not count") func fullDisk() throws {
    var party = try GuestParty()
    party.bench.storesAtOnce = false
    let grant = try party.grant()
    let list = try party.list(1, [.grant(grant.identifier)]).encoded
    var conversation = try party.bench.conversation()
    #expect(try party.bench.ask(LockRequest.deliver(list).encoded, in: &conversation) == nil, "not before it is stored")
    let record = try #require(party.bench.unstored.first)
    party.bench.unstored = []
    party.bench.happens(.recordFailed(record.index))
    #expect(party.bench.firmware.access.lists.isEmpty)
    #expect(party.bench.access.lists.isEmpty, "nor after a restart")
    // Two that fail together: neither counts.
    for request in [LockRequest.deliver(list), .setClock(GuestParty.monday)] {
      #expect(try party.bench.ask(request.encoded, in: &conversation) == nil)
    }
    let first = try #require(party.bench.unstored.first)
    party.bench.unstored = []
    party.bench.happens(.recordFailed(first.index))
    #expect(party.bench.firmware.access.lists.isEmpty && party.bench.firmware.access.clock == nil)
    #expect(party.bench.access == party.bench.firmware.access)
    party.bench.storesAtOnce = true
    #expect(try party.come(with: grant.encoded) == .done)
  }

  @Test("L5: hours that go over midnight belong to the day on which they begin") func midnight() {
    let fridayNight = GrantSchedule(
      from: .min, until: .max, weekdays: 1 << 4, start: 22 * 60, end: 6 * 60, offset: 0, offsetChange: .max,
      laterOffset: 0)
    let friday = GuestParty.monday + 4 * 86_400
    #expect(fridayNight.verdict(at: friday + 21 * 3600) == .outsideHours)
    #expect(fridayNight.verdict(at: friday + 22 * 3600) == .counts)
    #expect(fridayNight.verdict(at: friday + 29 * 3600) == .counts)
    #expect(fridayNight.verdict(at: friday + 30 * 3600) == .outsideHours)
    #expect(fridayNight.verdict(at: friday + 5 * 3600) == .outsideHours)
    #expect(fridayNight.verdict(at: -1) == .outsideHours && fridayNight.verdict(at: 86_400 + 22 * 3600) == .counts)
  }

  @Test("L5: a guest's name is stored after the record of what they do, so one that can't be stored keeps nobody out")
  func nameAfterRecord() throws {
    var party = try GuestParty()
    let grant = try party.grant()
    party.bench.happens(.offerRead(party.guest))
    var session = try party.bench.session(party.guest, key: party.guestKey)
    let command = try session.seal(
      LockCommand(.unlock, operation: 5), grant: grant.encoded, using: &party.bench.cryptography)
    let effects = party.bench.firmware.handle(.commandWritten(party.guest, command), at: party.bench.time)
    let order = effects.compactMap { effect in
      switch effect {
      case .appendRecord: "record"
      case .storeAccess: "name"
      default: nil
      }
    }
    #expect(order == ["record", "name"])
  }
}
