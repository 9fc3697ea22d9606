import HomePolicy
import Testing
import TimeTypes

/// A radio with the lock's address, which can't answer as the lock.
@Suite("False locks and approaches") struct FalseLockTests {
  /// A phone that lies near the locked door, and has just lost its link.
  private func atHome(isBonded: Bool = true) -> Phone {
    var phone = Phone(isBonded: isBonded)
    phone.settle()
    phone.pass(3600)
    phone.happens(.linkDown)
    phone.pass(6)
    return phone
  }

  /// The link comes back to the lock, which is near and locked.
  private func comesBack(_ phone: inout Phone, after seconds: Double) {
    phone.pass(seconds)
    phone.happens(.linkUp)
    phone.lockSays = .locked
    phone.happens(.offerReceived)
    phone.signal(-58, for: 10)
  }

  @Test(
    "attack 20: a false lock whose link came up weak and rose begins no approach at the true one, nor if it makes offers to a phone without a bond",
    arguments: [true, false])
  func weakThenRising(isBonded: Bool) {
    var phone = atHome(isBonded: isBonded)
    phone.happens(.linkUp)
    if !isBonded { phone.happens(.offerReceived) }
    phone.signal(-92, for: 1)
    phone.signal(-84, for: 2)
    phone.happens(.linkDown)
    comesBack(&phone, after: 3)
    #expect(phone.unlocks.isEmpty)
    #expect(phone.questions == [.noApproach])
  }

  @Test("attack 20: nor do its readings count as the first ones of the true lock's link", arguments: [-92, -127])
  func firstReading(dBm: Int) {
    var phone = atHome()
    phone.happens(.linkUp)
    phone.signal(dBm, for: 0.1)
    phone.happens(.linkDown)
    comesBack(&phone, after: 1)
    #expect(phone.unlocks.isEmpty)
    #expect(phone.questions == [.noApproach])
  }

  @Test("attack 20: its rise does not make an approach whole that began at the true lock")
  func risesForTheLock() {
    var phone = atHome()
    phone.pass(3600)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.signal(-92, for: 2)
    phone.happens(.linkDown)
    phone.pass(3)
    phone.happens(.linkUp)
    phone.signal(-80, for: 3)
    phone.happens(.linkDown)
    comesBack(&phone, after: 60)
    #expect(
      phone.writes.last?.command == .unlockUnlessHome, "it comes from the edge, and may have come from a far room")
  }

  @Test("L2: an arrival whose first link is lost before the lock is heard is measured on the next one")
  func flappingArrival() {
    var phone = atHome()
    phone.pass(3600)
    phone.happens(.linkUp)
    phone.signal(-93, for: 1)
    phone.happens(.linkDown)
    phone.pass(2)
    phone.walkHome()
    #expect(phone.unlocks.count == 1)
  }

  @Test("L2: an arrival whose link is lost on the way, after the lock was heard, goes on, and so in a new process")
  func heardOnTheWay() {
    for isRelaunched in [false, true] {
      var phone = atHome()
      phone.pass(3600)
      phone.happens(.linkUp)
      phone.happens(.offerReceived)
      phone.signal(-93, for: 1)
      phone.signal(-84, for: 2)
      if isRelaunched { phone.relaunch(isLinked: false) } else { phone.happens(.linkDown) }
      comesBack(&phone, after: 5)
      #expect(phone.unlocks.count == 1)
    }
  }

  @Test(
    "L2: links that are lost at the edge again and again, before the lock is heard, do not make a late approach whole")
  func longAtTheEdge() {
    var phone = atHome()
    phone.pass(3600)
    for _ in 0..<5 {
      phone.happens(.linkUp)
      phone.signal(-93, for: 1)
      phone.happens(.linkDown)
      phone.pass(60)
    }
    phone.walkHome()
    #expect(phone.writes.last?.command == .unlockUnlessHome)
  }
}
