import HomePolicy
import Testing
import TimeTypes

@Suite("A phone whose grant does not count now") struct RefusedGuestTests {
  private func refused() -> Phone {
    var phone = Phone()
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.signal(-60)
    #expect(phone.writes.map(\.command) == [.status])
    phone.happens(.answered(.refused, bolt: .locked))
    phone.pass(0.05)
    phone.happens(.offerReceived)
    return phone
  }

  @Test("L5: a status that was refused is not repeated on that link, whatever the lock offers; a new link is a new one")
  func notRepeated() {
    var phone = refused()
    for _ in 0..<90 {
      phone.pass(10)
      phone.happens(.offerReceived)
      phone.signal(-60)
    }
    #expect(phone.writes.count == 1)
    phone.losesLink(for: 60)
    phone.signal(-60)
    #expect(phone.writes.map(\.command) == [.status, .status])
  }

  @Test("L5: what a person asks is asked all the same, and who is let in then is announced as ever") func word() {
    var phone = refused()
    phone.pass(60)
    phone.happens(.offerReceived)
    phone.happens(.unlockAsked)
    #expect(phone.writes.last?.command == .unlock(.word))
    phone.happens(.answered(.done, bolt: .unlocked))
    #expect(phone.wordOutcomes == [.done])
    // The spare offer, and one of a lock that has restarted.
    phone.happens(.offerReceived)
    phone.pass(30)
    phone.happens(.offerReceived)
    #expect(phone.writes.map(\.command) == [.status, .unlock(.word), .status])
  }

  @Test("L5: with another grant the phone is announced again, on the same link") func newGrant() {
    var phone = refused()
    phone.pass(5)
    phone.happens(.keysChanged)
    #expect(phone.writes.map(\.command) == [.status, .status])
  }
}
