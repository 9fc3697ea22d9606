import HomePolicy
import Testing
import TimeTypes

@Suite("A bolt that was locked at home") struct LockedAtHomeTests {
  private func away() -> Phone {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(3600)
    return phone
  }

  @Test("L7, A1: an owner who comes straight from the edge of the range opens, whatever locked the bolt") func whole() {
    var phone = away()
    phone.walkHome()
    #expect(phone.writes.last?.command == .unlock(.approach))
  }

  @Test("L7, A1: any lesser approach leaves it to the lock, and asks where it was locked at home")
  func ordinary() {
    // From the edge of the range, but slowly; from not quite the edge; and with a stop on the way.
    let ways: [[(Int, Double)]] = [
      [(-91, 40), (-84, 5), (-78, 5), (-66, 3)], [(-87, 1), (-82, 1), (-77, 1), (-66, 3)],
      [(-92, 1), (-86, 1), (-82, 240), (-76, 1), (-66, 3)],
    ]
    for way in ways {
      var phone = away()
      phone.happens(.linkUp)
      phone.happens(.offerReceived)
      for (dBm, seconds) in way { phone.signal(dBm, for: seconds) }
      #expect(phone.writes.last?.command == .unlockUnlessHome, "\(way)")
      phone.happens(.answered(.lockedAtHome, bolt: .locked))
      #expect(phone.questions == [.lockedAtHome])
      phone.happens(.offerReceived)
      phone.signal(-55, for: 60)
      #expect(phone.unlocks.count == 1, "one refusal ends it")
      #expect(phone.disk.opening == nil && phone.disk.approach == nil)
      phone.happens(.unlockAsked)
      phone.signal(-55, for: 1)
      phone.happens(.offerReceived)
      #expect(phone.writes.last?.command == .unlock(.word))
    }
  }

  @Test(
    "L7, A1: a link that comes and goes at the edge for minutes is that of a phone in the farthest room",
    arguments: [0, 4])
  func flapping(times: Int) {
    var phone = away()
    for _ in 0..<times {
      phone.happens(.linkUp)
      phone.happens(.offerReceived)
      phone.signal(-93, for: 3)
      phone.happens(.linkDown)
      phone.pass(20)
    }
    phone.walkHome()
    #expect(phone.writes.last?.command == (times == 0 ? .unlock(.approach) : .unlockUnlessHome))
  }
}
