import HomePolicy
import Testing
import TimeTypes

@Suite("A bolt that was locked at home") struct LockedAtHomeTests {
  /// At the door as it is locked; then the signal goes on as said, a second each, while the lock calls every 10 s.
  private func locked(then signals: [Int], _ configuration: HomeConfiguration = HomeConfiguration()) -> Phone {
    var phone = Phone(configuration)
    phone.settle()
    phone.lockSays = .locked
    phone.call()
    for (second, dBm) in ([-62, -62, -63] + signals).enumerated() {
      if second % 10 == 9 { phone.call() }
      phone.signal(dBm, for: 1)
    }
    phone.happens(.linkDown)
    return phone
  }

  private static let walkAway = Array(stride(from: -66, through: -93, by: -2))

  @Test("L7, A1: without having been seen to leave, the best approach leaves it to the lock") func unseen() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(3600)
    phone.walkHome()
    #expect(phone.writes.last?.command == .unlockUnlessHome)
  }

  @Test("L7: who was seen to walk away from the door that was just locked, and comes back, opens it, once")
  func seenToLeave() {
    var phone = locked(then: Self.walkAway)
    phone.pass(3600)
    phone.relaunch(isLinked: false)
    phone.walkHome()
    #expect(phone.writes.last?.command == .unlock(.approach))
    phone.happens(.answered(.done, bolt: .unlocked))
    phone.happens(.linkDown)
    phone.pass(3600)
    phone.walkHome()
    #expect(phone.writes.last?.command == .unlockUnlessHome, "what was seen then says nothing of the next time")
  }

  @Test(
    "L7, A1: a link that breaks off, or whose radio dies, is nobody's leaving",
    arguments: [[], [-62], [-63, -66, -70], [-62, -94, -94], Array(repeating: -62, count: 30) + [-94]])
  func breaksOff(_ signals: [Int]) {
    var phone = locked(then: signals)
    phone.pass(240)
    phone.walkHome()
    #expect(phone.writes.last?.command == .unlockUnlessHome)
  }

  @Test("L7, A1: who is seen at the door again has not left") func cameBackWithoutAWord() {
    var phone = locked(then: Self.walkAway)
    phone.pass(3600)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.signal(-60, for: 2)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.happens(.offerReceived)
    phone.call()
    phone.signal(-60, for: 5)
    phone.happens(.linkDown)
    phone.pass(600)
    phone.walkHome()
    #expect(phone.writes.last?.command == .unlockUnlessHome)
  }

  @Test("L7: a stop of minutes on the way back is no return to a door that was locked by hand") func stopOnTheWay() {
    var phone = locked(then: Self.walkAway)
    phone.pass(3600)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    for (dBm, seconds) in [(-92, 1.0), (-86, 1), (-82, 240), (-76, 1), (-66, 3)] { phone.signal(dBm, for: seconds) }
    #expect(phone.writes.last?.command == .unlockUnlessHome)
  }

  @Test("L7, A1: where the lock says that it was locked at home, the owner is asked") func asks() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(3600)
    phone.walkHome()
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
