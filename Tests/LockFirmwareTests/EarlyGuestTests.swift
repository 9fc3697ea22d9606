import LockFirmware
import LockProtocol
import Testing

/// A guest who is at the door before their time, or at a lock that has no time.
@Suite("A guest who is too early") struct EarlyGuestTests {
  private static let day = GrantSchedule(
    from: GuestParty.monday, until: GuestParty.monday + 86_400, weekdays: GrantSchedule.everyDay, start: 0, end: 1440,
    offset: 0, offsetChange: .max, laterOffset: 0)

  @Test("L5: a guest who announces themselves for an hour before their time opens when it comes, and waits for nothing")
  func waitsAtTheDoor() throws {
    var party = try GuestParty()
    let grant = try party.grant(Self.day).encoded
    #expect(try party.tell(.setClock(GuestParty.monday - 3600)) == .done)
    let records = party.bench.log.count
    for _ in 0..<359 {
      #expect(try party.announce(with: grant) == .outsideSchedule)
      party.bench.pass(10)
    }
    #expect(party.bench.log.count == records, "who only says that they are here fills no log")
    party.bench.pass(30)
    #expect(try party.come(with: grant) == .done)
  }

  @Test("L5: without a clock in the lock the same holds, until an owner sets it") func noClock() throws {
    var party = try GuestParty()
    let grant = try party.grant(Self.day).encoded
    for _ in 0..<100 { #expect(try party.announce(with: grant) == .clockUnknown) }
    #expect(try party.tell(.setClock(GuestParty.monday + 60)) == .done)
    #expect(try party.come(with: grant) == .done)
  }

  @Test("L5: one who tries to open again and again before their time waits ten seconds at most; each try is recorded")
  func triesToOpen() throws {
    var party = try GuestParty()
    let grant = try party.grant(Self.day).encoded
    #expect(try party.tell(.setClock(GuestParty.monday - 600)) == .done)
    let records = party.bench.log.count
    var tries = 0
    for _ in 0..<5000 {
      party.bench.milliseconds += 100
      party.bench.happens(.offerRead(party.guest))
      guard party.bench.offers[party.guest.low] != nil else { continue }
      try party.write(.unlock, with: grant)
      tries += 1
    }
    #expect(party.bench.log.count - records == tries && (40..<60).contains(tries), "\(tries) tries in 500 s")
    #expect(!party.bench.notes.contains { if case .alarmRaised = $0 { true } else { false } })
    party.bench.pass(110)
    #expect(try party.come(with: grant) == .done)
  }

  @Test("L5: a phone whose grant does not count gets no more offers by itself; one that is over waits like a stranger")
  func noMoreOffers() throws {
    var party = try GuestParty()
    let grant = try party.grant(Self.day).encoded
    #expect(try party.tell(.setClock(GuestParty.monday - 3600)) == .done)
    #expect(try party.announce(with: grant) == .outsideSchedule)
    let offers = party.bench.notes.count { $0 == .offerSent(party.guest) }
    for _ in 0..<100 { party.bench.pass(10) }
    #expect(party.bench.notes.count { $0 == .offerSent(party.guest) } == offers)
    #expect(try party.tell(.setClock(GuestParty.monday + 100_000)) == .done)
    for _ in 0..<3 { #expect(try party.announce(with: grant) == .expired) }
    party.bench.happens(.offerRead(party.guest))
    #expect(party.bench.offers[party.guest.low] == nil)
  }
}
