import Foundation
import HomePolicy
import RandomTesting
import Testing
import TimeTypes

@Suite("Evidence of an approach") struct ApproachTests {
  @Test("L2, L7: a link that comes up at the edge and a signal that rises to the door's open it, once") func approach()
  {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(5 * 86400)
    phone.walkHome()
    #expect(phone.unlocks.count == 1)
    #expect(phone.writes.last?.command == .unlock(.approach))
    #expect(!phone.writes.contains { !$0.isStored })
    phone.happens(.answered(.done, bolt: .unlocked))
    phone.happens(.offerReceived)
    phone.happens(.offerReceived)
    phone.signal(-50, for: 60)
    #expect(phone.unlocks.count == 1)
    #expect(phone.disk.opening == nil && phone.disk.approach == nil)
    #expect(phone.questions.isEmpty)
  }

  @Test(
    "L7, A1: a link that was lost, however long, and comes back as strong as it was opens nothing and asks",
    arguments: [4.0, 60, 240, 3600, 86400], [-45, -60, -70])
  func outage(seconds: Double, dBm: Int) {
    var phone = Phone()
    phone.settle()
    phone.losesLink(for: seconds)
    phone.signal(dBm, for: 5)
    #expect(phone.writes.last?.command == .status)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.happens(.offerReceived)
    phone.signal(dBm, for: 5)
    // A sleeping owner turns over, gets up in the morning and makes tea beside the door.
    for _ in 0..<40 { phone.signal(Int.random(in: dBm - 12...dBm + 12, using: &phone.random), for: 5) }
    phone.happens(.offerReceived)
    phone.signal(-50, for: 20)
    #expect(phone.unlocks.isEmpty)
    #expect(phone.questions == [.noApproach])
  }

  @Test(
    "L7, A1: a device that has not proven to be the lock begins no approach, and its loss is no absence",
    arguments: [HomeEvent.linkToOther, .linkToUnknown])
  func strangers(_ end: HomeEvent) {
    // A phone that has not met its lock yet was at another one.
    var new = Phone()
    new.happens(.started(isLinked: false))
    new.happens(.linkUp)
    new.happens(end)
    new.pass(3600)
    new.walkHome()
    #expect(new.unlocks.isEmpty)

    // Somebody with such a device is heard from the street, and the phone then lies beside its own door.
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(60)
    phone.happens(.linkUp)
    phone.signal(-93, for: 3)
    phone.happens(end)
    phone.pass(1)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.signal(-55, for: 20)
    #expect(phone.unlocks.isEmpty)
    // When its owner has gone and come back, it opens.
    phone.happens(.linkDown)
    phone.pass(3600)
    phone.happens(.linkUp)
    phone.happens(end)
    phone.walkHome()
    #expect(phone.writes.last?.command == .unlock(.approach))
  }

  @Test("L7, A1: a link that flaps beside the door opens nothing and does not ask again and again") func flapping() {
    var phone = Phone()
    phone.settle()
    for _ in 0..<100 {
      phone.losesLink(for: 170)
      phone.signal(-50, for: 2)
      phone.happens(.answered(.unknownOperation, bolt: .locked))
      phone.happens(.offerReceived)
      phone.signal(-50, for: 5)
    }
    #expect(phone.unlocks.isEmpty)
    // 100 flaps of three minutes are under five hours.
    #expect((1...30).contains(phone.questions.count))
  }

  @Test("L7: at an open door the owner is not asked") func noQuestionAtAnOpenDoor() {
    var phone = Phone()
    phone.settle()
    phone.losesLink(for: 20)
    phone.signal(-50, for: 2)
    phone.happens(.answered(.unknownOperation, bolt: .unlocked))
    phone.happens(.offerReceived)
    phone.signal(-50, for: 20)
    #expect(phone.questions.isEmpty && phone.unlocks.isEmpty)
    #expect(phone.policy.nextDeadline == nil, "the phone rests")
  }

  @Test("L7: one strong reading, and one weak one, show nothing") func singleReadings() {
    var phone = Phone()
    phone.settle()
    phone.losesLink(for: 600)
    phone.happens(.signalRead(-94))
    phone.pass(0.3)
    phone.happens(.timePassed)
    phone.happens(.signalRead(-62))
    phone.signal(-60, for: 10)
    #expect(phone.unlocks.isEmpty, "a weak first reading alone is no beginning of an approach")

    var far = Phone()
    far.settle()
    far.happens(.linkDown)
    far.pass(600)
    far.happens(.linkUp)
    far.happens(.offerReceived)
    far.signal(-92, for: 3)
    far.isAskedForSignal = false
    far.happens(.signalRead(-50))
    far.signal(-92, for: 5)
    #expect(far.unlocks.isEmpty, "one strong reading across a home is not the door")
  }

  @Test("L2: an owner who walks past does not open; one who stays near does") func walkingPast() {
    for stays in [false, true] {
      var phone = Phone()
      phone.settle()
      phone.losesLink(for: 600)
      for dBm in [-92, -90, -87, -84, -80, -77, -74] { phone.signal(dBm, for: 1) }
      if stays {
        phone.signal(-73, for: 6)
        #expect(phone.unlocks.count == 1)
      } else {
        for dBm in [-73, -74, -78, -82, -88, -92] { phone.signal(dBm, for: 1) }
        #expect(phone.unlocks.isEmpty)
      }
    }
  }

  @Test(
    "L2, A6: an absence of seconds that locked the door opens it again on a real approach", arguments: [10.0, 60, 179])
  func shortAbsence(seconds: Double) {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(seconds)
    phone.walkHome()
    #expect(phone.unlocks.count == 1)
  }

  @Test(
    "L2, A7: an owner who stops on the way for minutes, and then walks up, gets in", arguments: [-74, -79, -83, -88],
    [1.0, 5, 12])
  func stopOnTheWay(dBm: Int, minutes: Double) {
    var phone = Phone()
    phone.settle()
    phone.losesLink(for: 86400)
    phone.signal(-93, for: 1)
    // The app is suspended between the lock's offers, and killed once.
    for round in 0..<Int(minutes * 3) {
      phone.signal(dBm, for: 20)
      if round == 1 { phone.relaunch(isLinked: true) }
      phone.happens(.offerReceived)
    }
    for level in stride(from: dBm, through: -58, by: 2) { phone.signal(level, for: 1) }
    #expect(phone.unlocks.count == 1)
  }

  @Test("L7: an approach that never reaches the door is over after its time") func windowEnds() {
    var phone = Phone()
    phone.settle()
    phone.losesLink(for: 600)
    phone.signal(-90, for: 5)
    phone.pass(1000)
    phone.happens(.offerReceived)
    phone.signal(-50, for: 20)
    #expect(phone.unlocks.isEmpty)
    #expect(phone.writes.last?.command == .status)
  }

  @Test("L3: a link that is lost for a moment on the way does not end the approach") func interruption() {
    for gap in [1.0, 60, 300] {
      var phone = Phone()
      phone.settle()
      phone.losesLink(for: 600)
      for dBm in [-92, -88, -84] { phone.signal(dBm, for: 1) }
      phone.losesLink(for: gap)
      phone.signal(-58, for: 5)
      #expect(phone.unlocks.count == (gap < 120 ? 1 : 0), "after \(gap) s")
    }
  }

  @Test("L3: a link at its edge that is lost before it was measured may still begin an approach") func flappingEdge() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(600)
    for _ in 0..<4 {
      phone.happens(.linkUp)
      phone.happens(.signalRead(-94))
      phone.pass(0.2)
      phone.happens(.linkDown)
      phone.pass(1)
    }
    phone.walkHome()
    #expect(phone.unlocks.count == 1)
  }

  @Test("L7: a process that starts on a link it was not told of has no evidence") func startedOnALink() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(3600)
    phone.relaunch(isLinked: true)
    phone.happens(.offerReceived)
    phone.signal(-92, for: 3)
    phone.signal(-55, for: 10)
    #expect(phone.unlocks.isEmpty, "the owner opened the app at home, in the farthest room")

    var woken = Phone()
    woken.settle()
    woken.happens(.linkDown)
    woken.pass(3600)
    woken.relaunch(isLinked: true)
    woken.walkHome()
    #expect(woken.unlocks.count == 1, "the system says that the link has just come up")
  }

  @Test("L3: killed on the way, the phone knows on its disk that an approach had begun") func killedOnTheWay() {
    var phone = Phone()
    phone.settle()
    phone.losesLink(for: 3600)
    phone.signal(-92, for: 1)
    phone.relaunch(isLinked: true)
    phone.happens(.offerReceived)
    phone.signal(-60, for: 3)
    #expect(phone.unlocks.count == 1)
  }

  @Test("L3: killed at the first reading, the phone reads again how the link came up") func killedAtOnce() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(3600)
    phone.happens(.linkUp)
    phone.happens(.signalRead(-93))
    phone.pass(0.5)
    phone.relaunch(isLinked: true)
    phone.happens(.offerReceived)
    for dBm in stride(from: -92, through: -60, by: 4) { phone.signal(dBm, for: 1) }
    #expect(phone.unlocks.count == 1)
  }

  @Test("L7: a signal that can't be read opens nothing, and asks") func unreadable() {
    var phone = Phone()
    phone.settle()
    phone.losesLink(for: 600)
    phone.signal(nil, for: 3)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.happens(.offerReceived)
    phone.signal(nil, for: 3)
    #expect(phone.unlocks.isEmpty)
    #expect(phone.questions == [.noSignal])
  }

  @Test("L7: missing signal readings do not keep the phone from announcing itself to the lock") func silentReadings() {
    var phone = Phone()
    phone.settle()
    phone.losesLink(for: 600)
    let before = phone.writes.count
    for _ in 0..<10 {
      phone.pass(1)
      phone.happens(.timePassed)
    }
    #expect(phone.writes.count == before + 1)
  }

  @Test("L2: after a burst of readings the phone waits for the lock's next offer") func readingsEnd() {
    var phone = Phone()
    phone.settle()
    phone.losesLink(for: 600)
    let began = phone.time.instant
    var latest = began
    for _ in 0..<400 {
      if phone.isAskedForSignal {
        phone.isAskedForSignal = false
        latest = phone.time.instant
        phone.happens(.signalRead(-88))
      }
      guard let due = phone.policy.nextDeadline else { break }
      phone.pass(Double(max(due - phone.time.instant, .zero).wholeNanoseconds) / 1e9)
      phone.happens(.timePassed)
    }
    #expect(phone.policy.nextDeadline == nil)
    #expect(latest - began <= .seconds(10), "a background app has ten seconds a wake")
    #expect(phone.happens(.offerReceived).contains(.readSignal))
  }

  @Test("L3: a step of the wall clock makes no arrival", arguments: [-86400.0, 86400.0])
  func calendarSteps(_ step: Double) {
    var home = Phone()
    home.settle()
    home.happens(.linkDown)
    home.time.unixSeconds += step
    home.pass(2)
    home.happens(.linkUp)
    home.happens(.offerReceived)
    home.signal(-50, for: 5)
    #expect(home.unlocks.isEmpty)

    var away = Phone()
    away.settle()
    away.happens(.linkDown)
    away.pass(600)
    away.time.unixSeconds += step
    away.walkHome()
    #expect(away.unlocks.count == 1)
  }

  @Test("L7: an approach ends with its boot, whatever the calendar says after it", arguments: [0.0, -3600])
  func approachBeforeReboot(calendarStep: Double) {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(600)
    phone.happens(.linkUp)
    phone.signal(-92, for: 2)
    #expect(phone.policy.isApproaching)
    phone.reboot(offFor: 20, calendarStep: calendarStep)
    phone.relaunch(isLinked: true)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.signal(-60, for: 10)
    #expect(phone.unlocks.isEmpty)
  }

  @Test("L3: days away over relaunches and a reboot end in one unlock") func daysAway() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(3 * 86400)
    phone.relaunch(isLinked: false)
    phone.reboot(offFor: 86400)
    phone.relaunch(isLinked: true)
    // The system tells a relaunched app twice: by the restored state, and by the event.
    phone.walkHome()
    #expect(phone.unlocks.count == 1)
    phone.happens(.answered(.done, bolt: .unlocked))
    phone.relaunch(isLinked: true)
    phone.happens(.offerReceived)
    phone.signal(-60, for: 10)
    #expect(phone.unlocks.count == 1)
  }

  @Test("L7: the first link ever is not an arrival") func firstMeeting() {
    var phone = Phone()
    phone.walkHome()
    #expect(phone.unlocks.isEmpty)
  }
}
