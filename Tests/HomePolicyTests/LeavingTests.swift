import HomePolicy
import Testing
import TimeTypes

/// What a phone sees of its own leaving, since its lock offers to it while somebody may be.
@Suite("A phone that leaves") struct LeavingTests {
  private func gone(for seconds: Double = 3600) -> Phone {
    var phone = Phone()
    phone.settle()
    phone.look([(-58, 5), (-70, 5), (-80, 5), (-88, 5), (-92, 4)])
    phone.happens(.linkDown)
    phone.pass(seconds)
    return phone
  }

  /// The link comes up a few steps from the door, where nothing of the edge is seen any more.
  private func appear(_ phone: inout Phone, _ dBm: Int = -62) {
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.signal(dBm - 12, for: 0.5)
    phone.signal(dBm, for: 3)
  }

  @Test("L2: who was seen to leave gets in however fast he comes back", arguments: [6.0, 60, 86_400])
  func fast(seconds: Double) {
    var phone = gone(for: seconds)
    #expect(phone.disk.hasLeft == true)
    appear(&phone)
    #expect(phone.writes.last?.command == .unlockIfLeft && phone.writes.last?.isStored == true)
    phone.happens(.answered(.done, bolt: .unlocked))
    #expect(phone.disk.hasLeft == nil, "an arrival is the end of it")
    #expect(phone.questions.isEmpty)
  }

  @Test("L3: over the agent's ends and reboots, and when the link comes and goes at the edge") func keeps() {
    var phone = gone(for: 2)
    for _ in 0..<3 {
      phone.happens(.linkUp)
      phone.happens(.offerReceived)
      phone.signal(-92, for: 3)
      phone.happens(.offerReceived)
      phone.signal(-93, for: 2)
      phone.happens(.linkDown)
      phone.pass(3)
    }
    phone.relaunch(isLinked: false)
    phone.reboot(offFor: 3600)
    phone.relaunch(isLinked: true)
    appear(&phone)
    #expect(phone.writes.last?.command == .unlockIfLeft)
  }

  @Test("L7: a link that is lost where it is strong was not carried away") func jam() {
    for dBm in [-50, -65, -78] {
      var phone = Phone()
      phone.settle()
      phone.look([(-55, 20), (dBm, 30)])
      phone.happens(.linkDown)
      phone.pass(240)
      #expect(phone.disk.hasLeft == nil)
      appear(&phone)
      phone.signal(-50, for: 60)
      #expect(phone.unlocks.isEmpty)
    }
  }

  @Test("L7: a link that was weak for minutes, as in the farthest room, was not carried away") func weakRoom() {
    var phone = Phone()
    phone.settle()
    phone.look([(-55, 20), (-92, 120)])
    phone.happens(.linkDown)
    phone.pass(240)
    #expect(phone.disk.hasLeft == nil)
  }

  @Test("L7: nobody looks where no lock asks for it, and what nobody saw shows nothing") func unasked() {
    var phone = Phone()
    phone.settle()
    phone.signal(-58, for: 5)
    phone.signal(-92, for: 5)
    phone.happens(.linkDown)
    phone.pass(3600)
    #expect(phone.disk.hasLeft == nil)
    appear(&phone)
    #expect(phone.unlocks.isEmpty)

    var late = Phone()
    late.settle()
    late.look([(-58, 9), (-92, 5)])
    late.pass(30)
    late.happens(.linkDown)
    #expect(late.disk.hasLeft == nil, "the last look is too old")
  }

  @Test("L7: who is near again while somebody may be leaving has not left") func cameBack() {
    var phone = gone(for: 3)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.happens(.answered(.unknownOperation, bolt: .unlocked))
    phone.happens(.offerReceived)
    phone.signal(-90, for: 3)
    #expect(phone.disk.hasLeft == true)
    phone.look([(-80, 20)])
    #expect(phone.disk.hasLeft == nil)
  }

  @Test("L3: an agent that is started by the lock's offer sees it as well") func startedByTheOffer() {
    var phone = Phone()
    phone.settle()
    phone.relaunch(isLinked: true)
    phone.look([(-62, 5), (-80, 5), (-92, 4)])
    phone.happens(.linkDown)
    #expect(phone.disk.hasLeft == true)
  }

  @Test("L7: where the lock does not bear it out, what the approach shows has to do, or the owner is asked")
  func notBelieved() {
    for isSeenToCome in [true, false] {
      var phone = gone()
      if isSeenToCome { phone.walkHome() } else { appear(&phone) }
      #expect(phone.writes.last?.command == .unlockIfLeft)
      phone.happens(.answered(.lockedAtHome, bolt: .locked))
      #expect(phone.disk.hasLeft == nil)
      phone.happens(.offerReceived)
      phone.signal(-60, for: 3)
      #expect(phone.unlocks.count == (isSeenToCome ? 2 : 1))
      if isSeenToCome { #expect(phone.writes.last?.command == .unlock(.approach)) }
      #expect(phone.questions == (isSeenToCome ? [] : [.lockedAtHome]))
    }
  }

  @Test("L7: a lock that knows no such command refuses it: its owner is asked, or it gets what it knows")
  func olderLock() {
    for isSeenToLeave in [true, false] {
      var phone = gone()
      if !isSeenToLeave {
        phone = Phone()
        phone.settle()
        phone.happens(.linkDown)
        phone.pass(3600)
        phone.walkHome()
      } else {
        appear(&phone)
      }
      for _ in 0..<2 {
        phone.happens(.writeFailed)
        phone.happens(.offerReceived)
        #expect(phone.writes.last?.command == .status)
        phone.happens(.answered(.unknownOperation, bolt: .locked))
        phone.happens(.offerReceived)
        phone.signal(-60, for: 1)
      }
      #expect(phone.questions == (isSeenToLeave ? [.lockedAtHome] : []))
      #expect(phone.writes.last?.command == (isSeenToLeave ? .status : .unlockUnlessHome))
      #expect(phone.unlocks.count == (isSeenToLeave ? 2 : 3))
    }
  }
}
