import Crypto
import LockCryptography
import LockFirmware
import LockProtocol
import Testing

/// What ends a guest's rights in the middle of something.
@Suite("The limits of a guest's grant") struct GuestLimitTests {
  /// An owner is locking the door: what a guest wants has to wait.
  private func lockingParty() throws -> GuestParty {
    var party = try GuestParty()
    party.bench.finishesTurns = false
    party.bench.happens(.offerRead(Bench.alice))
    try party.bench.command(.unlock, 600)
    party.bench.finishTurn()
    party.bench.happens(.offerRead(Bench.alice))
    try party.bench.command(.lock, 601)
    #expect(party.bench.turning == .locked)
    return party
  }

  @Test("L5: an unlock that had to wait is counted, also if the link is lost meanwhile") func waitingUse()
    throws
  {
    var party = try lockingParty()
    let grant = try party.grant(uses: 1).encoded
    try party.write(.unlock, with: grant)
    party.bench.happens(.linkDown(party.guest))
    party.bench.finishTurn()
    #expect(party.bench.turning == .unlocked)
    party.bench.finishTurn()
    party.bench.finishesTurns = true
    party.bench.happens(.linkUp(party.guest))
    #expect(try party.come(.lock, with: grant) == .done)
    #expect(try party.come(with: grant) == .usedUp)
  }

  @Test("L5: an unlock that had to wait does not happen if it is revoked meanwhile") func waitingRevoked() throws {
    var party = try lockingParty()
    let grant = try party.grant()
    try party.write(.unlock, with: grant.encoded)
    party.bench.happens(.linkUp(Bench.bob))
    #expect(try party.tell(.deliver(party.list(1, [.grant(grant.identifier)]).encoded), by: 1) == .done)
    party.bench.finishTurn()
    #expect(party.bench.turning == nil && party.bench.position == .locked)
    #expect(party.bench.log.last?.result == .revoked)
  }

  @Test("L5: a grant's uses are those of the grant that opened, not of another that the guest has shown since")
  func twoGrants() throws {
    var party = try GuestParty()
    var counted = try party.grant(uses: 1)
    counted.identifier = [UInt8](repeating: 8, count: 16)
    counted = try party.owner.sign(counted)
    // Another link of the same phone, with a grant that counts nothing.
    let other = CentralIdentifier(high: 0, low: 8)
    party.bench.happens(.linkUp(other))
    var session = try party.bench.session(other, key: party.guestKey)
    let status = try session.seal(
      LockCommand(.status, operation: 9), grant: party.grant().encoded, using: &party.bench.cryptography)
    party.bench.happens(.commandWritten(other, status))
    #expect(try party.come(with: counted.encoded) == .done)
    #expect(try party.come(.lock, with: counted.encoded) == .done)
    #expect(try party.come(with: counted.encoded) == .usedUp)
  }

  @Test("L5: a guest whose time is over learns nothing more, also in a conversation that began before")
  func over() throws {
    var party = try GuestParty()
    let schedule = GrantSchedule(
      from: GuestParty.monday, until: GuestParty.monday + 7200, weekdays: GrantSchedule.everyDay, start: 0, end: 1440,
      offset: 0,
      offsetChange: .max, laterOffset: 0)
    let grant = try party.grant(schedule, permissions: [.unlock, .lock, .readLog]).encoded
    #expect(try party.tell(.setClock(GuestParty.monday + 3600)) == .done)
    var conversation = try party.conversation(with: grant)
    for request in [LockRequest.state, .log(from: 1, count: 1), .names(from: 0)] {
      #expect(try party.bench.ask(request.encoded, in: &conversation, over: party.guest)?.status == .done)
    }
    party.bench.pass(3600)
    for request in [LockRequest.state, .log(from: 1, count: 1), .names(from: 0)] {
      let reply = try party.bench.ask(request.encoded, in: &conversation, over: party.guest)
      #expect(reply == LockReply(request.kind, .notEntitled), "it says which question it refuses")
    }
  }

  @Test("attack 32: a guest who was let in before and is not any more fills no log, and must wait like a stranger")
  func flood() throws {
    var party = try GuestParty()
    let grant = try party.grant(uses: 1).encoded
    #expect(try party.come(with: grant) == .done)
    #expect(try party.come(.lock, with: grant) == .done)
    #expect(party.bench.trusted.contains { $0.central == party.guest })
    let before = party.bench.log.count
    for number in 0..<200 as Range<UInt64> {
      party.bench.milliseconds += 20
      party.bench.happens(.offerRead(party.guest))
      var write = [UInt8](repeating: 1, count: 100)
      if party.bench.offers[party.guest.low] != nil {
        var session = try party.bench.session(party.guest, key: party.guestKey)
        write = try session.seal(
          LockCommand(.unlock, operation: 9000 + number), grant: grant, using: &party.bench.cryptography)
      }
      party.bench.happens(.commandWritten(party.guest, write))
    }
    #expect(!party.bench.trusted.contains { $0.central == party.guest })
    #expect(party.bench.log.count - before < 12, "\(party.bench.log.count - before)")
    #expect(party.bench.refusals.last == .waiting)
    // The owner is not slowed.
    #expect(try party.tell(.state) == .done)
  }

  @Test("attacks 16, 26: a lost phone that was revoked waits like a stranger, and costs the lock no more than one")
  func revokedPhoneWaits() throws {
    var party = try GuestParty()
    party.bench.happens(.linkUp(Bench.bob))
    try party.bench.command(.status, 0, by: 1)
    #expect(party.bench.trusted.contains { $0.central == Bench.bob })
    let lost = Array(party.bench.keys[1].publicKey.rawRepresentation.prefix(RevocationList.entryByteCount))
    #expect(try party.tell(.deliver(party.list(1, [.phone(lost)]).encoded)) == .done)
    #expect(!party.bench.trusted.contains { $0.central == Bench.bob })
    for number in 1...10 as ClosedRange<UInt64> {
      party.bench.milliseconds += 100
      party.bench.happens(.offerRead(Bench.bob))
      if party.bench.offers[Bench.bob.low] != nil { try party.bench.command(.unlock, number, by: 1) }
    }
    #expect(party.bench.turns.isEmpty)
    // It gets no offer, and what it writes all the same costs no key agreement.
    #expect(party.bench.refusals.count < 5 && party.bench.refusals.allSatisfy { $0 == .notEnrolled })
    party.bench.happens(.commandWritten(Bench.bob, [UInt8](repeating: 1, count: LockService.commandByteCount)))
    #expect(party.bench.refusals.last == .waiting)
    #expect(try party.tell(.state) == .done)
  }

  @Test("L5, L8: a revoked guest who stays in range does not keep the door from locking behind the others")
  func revokedStays() throws {
    var party = try GuestParty()
    let grant = try party.grant()
    #expect(try party.come(with: grant.encoded) == .done)
    #expect(try party.tell(.deliver(party.list(1, [.grant(grant.identifier)]).encoded)) == .done)
    party.bench.pass(60)
    #expect(party.bench.position == .unlocked, "an owner is here")
    party.bench.happens(.linkDown(Bench.alice))
    party.bench.pass(11)
    #expect(party.bench.position == .locked)
  }

  @Test("attack 9: a guest's conversation stays a guest's, though an owner proves a key on the same link later")
  func mixed() throws {
    var party = try GuestParty()
    var conversation = try party.conversation(with: party.grant().encoded)
    // An owner's command, relayed over the guest's link.
    party.bench.happens(.offerRead(party.guest))
    try party.bench.command(.status, 0, over: party.guest)
    for request in [
      LockRequest.setClock(GuestParty.monday), .introduce(signingKey: [UInt8](repeating: 7, count: 32), name: []),
      .log(from: 1, count: 1), .names(from: 0), .owners(from: 0), .room,
    ] {
      #expect(try party.bench.ask(request.encoded, in: &conversation, over: party.guest)?.status == .notEntitled)
    }
    for request in [LockRequest.state, .mode, .alarms] {
      #expect(try party.bench.ask(request.encoded, in: &conversation, over: party.guest)?.status == .done)
    }
    // Revoked, it is over, although the owner is still behind that link.
    let list = try party.list(1, [.grant(party.grant().identifier)]).encoded
    #expect(try party.tell(.deliver(list)) == .done)
    #expect(try party.bench.ask(LockRequest.state.encoded, in: &conversation, over: party.guest) == nil)
  }

  @Test("L5: an announcement that a grant did not allow is judged anew the next time") func laterStatus() throws {
    var party = try GuestParty()
    let night = GrantSchedule(
      from: GuestParty.monday, until: GuestParty.monday + 86_400, weekdays: GrantSchedule.everyDay, start: 0, end: 1440,
      offset: 0, offsetChange: .max, laterOffset: 0)
    let grant = try party.grant(night).encoded
    #expect(try party.tell(.setClock(GuestParty.monday - 320)) == .done)
    #expect(try party.announce(with: grant) == .outsideSchedule)
    party.bench.pass(400)
    #expect(try party.announce(with: grant) == .unknownOperation)
  }

  @Test("L3: a command that moves the bolt has a number; without one it is refused") func unnumbered() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    try bench.command(.unlock, 0)
    #expect(bench.refusals == [.malformed] && bench.turns.isEmpty)
  }
}
