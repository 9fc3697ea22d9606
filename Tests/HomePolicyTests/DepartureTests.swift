import HomePolicy
import Testing
import TimeTypes

/// What a phone measures when it leaves, and what that asks of its return.
@Suite("The way from the door and back") struct DepartureTests {
  /// A phone that has seen these levels since the door opened, and then lost its link.
  private func phone(_ levels: [(Int, Double)], goneFor seconds: Double = 600) -> Phone {
    var phone = Phone()
    phone.settle()
    phone.look(levels)
    phone.happens(.linkDown)
    phone.pass(seconds)
    return phone
  }

  private func leaving(from door: Int, for seconds: Double = 600) -> Phone {
    phone([(door, 4), (door - 15, 4), (-85, 4), (-93, 4)], goneFor: seconds)
  }

  private func comeBack(_ phone: inout Phone, _ dBm: Int, for seconds: Double) {
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.signal(-91, for: 2)
    phone.signal(-84, for: 2)
    phone.signal(dBm, for: seconds)
  }

  @Test("L7: a phone that its lock hears well opens at the door, and not from the street") func walkingPast() {
    var phone = leaving(from: -52)
    #expect(phone.disk.hasLeft == true && phone.disk.doorSignal == -52)
    comeBack(&phone, -69, for: 8)
    #expect(phone.unlocks.isEmpty, "17 dB less than at the door are 15 m")
    phone.signal(-62, for: 3)
    #expect(phone.writes.last?.command == .unlockIfLeft)
  }

  @Test("L2: one that it hears badly opens as one of which nothing is known, and so does one that lay beside it")
  func near() {
    for (door, signal) in [(-68, -70), (-35, -64)] {
      var phone = leaving(from: door)
      comeBack(&phone, signal, for: 3)
      #expect(phone.writes.last?.command == .unlockIfLeft)
    }
  }

  @Test("L3: what the signal was at the door outlives the agent") func stored() {
    var phone = leaving(from: -52)
    phone.relaunch(isLinked: false)
    comeBack(&phone, -69, for: 8)
    #expect(phone.unlocks.isEmpty)
  }

  @Test("L7: a link that comes and goes at the edge after that shows nothing of the door") func edge() {
    // So soon that it is no approach.
    var phone = leaving(from: -52, for: 2)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.signal(-92, for: 3)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.pass(10)
    phone.happens(.offerReceived)
    phone.signal(-92, for: 9)
    phone.happens(.linkDown)
    phone.pass(600)
    #expect(phone.disk.hasLeft == true && phone.disk.doorSignal == -52)
  }

  @Test(
    "L7, A1: a phone that was back for long without coming to the door has to come anew: a strong link opens no more")
  func backForLong() {
    for minutes in [5, 16] {
      var phone = leaving(from: -52)
      phone.happens(.linkUp)
      phone.happens(.offerReceived)
      phone.signal(-91, for: 2)
      phone.happens(.answered(.unknownOperation, bolt: .locked))
      phone.signal(-80, for: Double(minutes) * 60)
      phone.happens(.timePassed)
      phone.losesLink(for: 30)
      phone.signal(-75, for: 0.5)
      phone.signal(-55, for: 4)
      #expect(phone.writes.last?.command == (minutes == 5 ? .unlockIfLeft : .status))
    }
  }

  @Test("L7: a hand's breadth past the lock is not the door") func brief() {
    let phone = phone([(-60, 4), (-40, 1), (-60, 2), (-80, 4), (-93, 4)])
    #expect(phone.disk.doorSignal == -60)
  }

  @Test("L7: a phone that has been away from the door for minutes, and is then not heard, has not left") func late() {
    let phone = phone([(-58, 5), (-70, 150), (-80, 4), (-85, 4), (-93, 4)])
    #expect(phone.disk.hasLeft == nil && phone.disk.hasStayed == nil)
  }

  @Test("L7: a phone that is heard better than from the edge until the end has not left") func room() {
    #expect(phone([(-58, 20), (-88, 30)]).disk.hasLeft == nil)
  }

  @Test("L7: the radio fails minutes after a parcel: not even a whole approach opens, and the owner is asked")
  func outage() {
    var phone = phone([(-58, 10), (-82, 200)])
    #expect(phone.disk.hasStayed == true && phone.disk.hasLeft == nil)
    phone.relaunch(isLinked: false)
    phone.walkHome()
    #expect(phone.writes.last?.command == .unlockUnlessHome)
    phone.happens(.answered(.lockedAtHome, bolt: .locked))
    #expect(phone.questions == [.lockedAtHome])
  }

  @Test("L2: a link that a lift ends right behind the door leaves the whole approach its worth") func lift() {
    var phone = phone([(-58, 10), (-70, 10)])
    #expect(phone.disk.hasStayed == nil && phone.disk.hasLeft == nil)
    phone.walkHome()
    #expect(phone.writes.last?.command == .unlock(.approach))
  }
}
