import LockCryptography
import LockProtocol
import Testing

@testable import LockFirmware

/// Whom the lock's radio should let in.
@Suite("Admission to a lock") struct AdmissionTests {
  @Test("attack 33: a lock bonds with anyone in the window only, or until a phone that was set up by texts was here")
  func bonds() throws {
    var bench = try Bench(phoneCount: 1) {
      $0.enrolmentSecret = EnrolmentCode.draw().secret(using: SwiftCryptography.self)
    }
    #expect(bench.firmware.acceptsBonds)
    bench.happens(.linkUp(Bench.alice))
    #expect(bench.firmware.acceptsBonds && bench.firmware.provenCentrals.isEmpty, "a link is no proof")
    try bench.command(.lock, 1)
    #expect(!bench.firmware.acceptsBonds)
    bench.restart()
    #expect(!bench.firmware.acceptsBonds)
    bench.happens(.enrolmentButton)
    #expect(bench.firmware.acceptsBonds)
    bench.pass(121)
    #expect(!bench.firmware.acceptsBonds)
  }

  @Test("attack 25: a central is proven on its link by a command, known from then on, and a stranger is neither")
  func proof() throws {
    var bench = try Bench()
    bench.happens(.linkUp(Bench.alice))
    bench.happens(.linkUp(Bench.stranger))
    bench.happens(.commandWritten(Bench.stranger, [UInt8](repeating: 0, count: LockService.commandByteCount)))
    #expect(bench.firmware.provenCentrals.isEmpty && bench.firmware.knownCentrals.isEmpty)
    try bench.command(.lock, 1)
    #expect(bench.firmware.provenCentrals == [Bench.alice] && bench.firmware.knownCentrals == [Bench.alice])
    bench.happens(.linkDown(Bench.alice))
    #expect(bench.firmware.provenCentrals.isEmpty && bench.firmware.knownCentrals == [Bench.alice])
    bench.happens(.linkUp(Bench.alice))
    #expect(bench.firmware.provenCentrals.isEmpty, "somebody else may have the address")
  }

  @Test(
    "attack 25: a guest who is too early keeps the link and bonds, one whose grant is over keeps it, and one who is revoked does neither"
  )
  func turnedAway() throws {
    var party = try GuestParty()
    #expect(try party.tell(.setClock(GuestParty.monday)) == .done)
    let early = try party.grant(
      GrantSchedule(
        from: GuestParty.monday + 86_400, until: GuestParty.monday + 2 * 86_400, weekdays: GrantSchedule.everyDay,
        start: 0, end: 1440, offset: 0, offsetChange: .max, laterOffset: 0))
    func isProven(_ party: GuestParty) -> Bool { party.bench.firmware.provenCentrals.contains(party.guest) }
    func isKnown(_ party: GuestParty) -> Bool { party.bench.firmware.knownCentrals.contains(party.guest) }
    #expect(!isKnown(party), "a link is no proof")
    #expect(try party.announce(with: early.encoded) == .outsideSchedule)
    #expect(isKnown(party) && isProven(party))
    party.bench.happens(.linkDown(party.guest))
    #expect(isKnown(party) && !isProven(party), "who comes back slowly keeps the next link as well")
    party.bench.happens(.linkUp(party.guest))
    party.bench.pass(86_400 + 3600)
    #expect(try party.announce(with: early.encoded) == .unknownOperation)
    #expect(isKnown(party) && isProven(party))
    party.bench.pass(86_400)
    #expect(try party.announce(with: early.encoded) == .expired)
    #expect(isKnown(party))
    party.bench.happens(.linkUp(party.guest))
    #expect(try party.announce(with: early.encoded) == .expired)
    #expect(isKnown(party) && !isProven(party))
    // A list that is not about the phone, but about the grant.
    #expect(try party.tell(.deliver(party.list(1, [.grant(early.identifier)]).encoded)) == .done)
    #expect(try party.announce(with: early.encoded) == .revoked)
    #expect(!isKnown(party) && !isProven(party))
  }

  @Test(
    "attack 16: a guest's link is a stranger's as soon as the lock has the list that revokes the grant, and not with the next command"
  )
  func revokedGrant() throws {
    var party = try GuestParty()
    #expect(try party.tell(.setClock(GuestParty.monday)) == .done)
    func isProven(_ party: GuestParty) -> Bool { party.bench.firmware.provenCentrals.contains(party.guest) }
    func isKnown(_ party: GuestParty) -> Bool { party.bench.firmware.knownCentrals.contains(party.guest) }
    var grant = try party.grant()
    #expect(try party.announce(with: grant.encoded) == .unknownOperation)
    #expect(isKnown(party) && isProven(party))
    #expect(try party.tell(.deliver(party.list(1, [.grant(grant.identifier)]).encoded)) == .done)
    #expect(!isKnown(party) && !isProven(party))
    // One who waits for their time, too.
    party.bench.happens(.linkUp(party.guest))
    grant.identifier = [UInt8](repeating: 8, count: 16)
    grant.schedule.from = GuestParty.monday + 86_400
    grant = try party.owner.sign(grant)
    #expect(try party.announce(with: grant.encoded) == .outsideSchedule)
    #expect(isKnown(party) && isProven(party))
    let list = try party.list(2, [.grant([UInt8](repeating: 9, count: 16))])
    #expect(try party.tell(.deliver(list.encoded)) == .done)
    #expect(isKnown(party) && isProven(party), "another grant's list")
    #expect(try party.tell(.deliver(party.list(3, [.grant(grant.identifier)]).encoded)) == .done)
    #expect(!isKnown(party) && !isProven(party))
    #expect(party.bench.firmware.knownCentrals == [Bench.alice], "the owner's stays")
  }

  @Test("attack 25: of a guest's phone that is turned away one link is kept, and a revoked phone's is not")
  func oneLink() throws {
    var budget = FailureBudget()
    let guest = [UInt8](repeating: 7, count: 32)
    budget.turnAway(Bench.alice, phone: guest)
    budget.turnAway(Bench.bob, phone: guest)
    #expect(budget.turnedAway.map(\.central) == [Bench.bob])
    for number in 0..<40 {
      let phone = [UInt8](repeating: 8, count: 31) + [UInt8(number)]
      budget.turnAway(CentralIdentifier(high: 1, low: UInt64(number)), phone: phone)
    }
    #expect(budget.turnedAway.count == LockCapacity.machine.strangersLinks)
    budget.turnAway(Bench.bob, phone: guest)
    #expect(!budget.distrust(phones: [guest]) && !budget.turnedAway.contains { $0.phone == guest })
  }
}
