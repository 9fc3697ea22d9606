import HomePolicy
import Testing
import TimeTypes

@Suite("A person's errands at the lock") struct ErrandTests {
  private func atHome() -> Phone {
    var phone = Phone()
    phone.settle()
    phone.happens(.offerReceived)
    phone.happens(.answered(.unknownOperation, bolt: .unlocked))
    phone.happens(.offerReceived)
    return phone
  }

  @Test("L8: a door is locked by command, once, and the approach that brought the owner there opens nothing")
  func lock() {
    var phone = Phone()
    phone.settle()
    phone.losesLink(for: 600)
    phone.signal(-93, for: 2)
    #expect(phone.policy.isApproaching)
    phone.happens(.errandAsked(.lock))
    #expect(phone.writes.last?.command == .lock && phone.writes.last?.operation != 0)
    phone.happens(.answered(.done, bolt: .locked))
    #expect(phone.errandOutcomes == [.answered])
    phone.happens(.offerReceived)
    for dBm in stride(from: -90, through: -55, by: 3) { phone.signal(dBm, for: 1) }
    phone.signal(-50, for: 10)
    #expect(phone.writes.count { $0.command == .lock } == 1)
    #expect(phone.writes.allSatisfy { $0.command == .lock || $0.command == .status })
  }

  @Test("L8: looking moves nothing, and does not announce that somebody is at home") func look() {
    var phone = atHome()
    let before = phone.writes.count
    phone.happens(.errandAsked(.look))
    #expect(phone.writes.last?.command == .status && phone.writes.last?.operation != 0)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    #expect(phone.errandOutcomes == [.answered])
    #expect(phone.writes.count == before + 1)
  }

  @Test("L8: an offer that the phone asked for announces nobody anew; one that the lock makes by itself does")
  func asked() {
    var phone = atHome()
    phone.pass(3600)
    let before = phone.writes.count
    #expect(phone.happens(.errandAsked(.look)).contains(.readOffer))
    phone.happens(.offerReceived)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.happens(.offerReceived)
    #expect(phone.writes.count == before + 1 && phone.writes.last?.operation != 0)
    phone.pass(60)
    phone.happens(.offerReceived)
    #expect(phone.writes.count == before + 2 && phone.writes.last?.operation == 0)
  }

  @Test("L8: an errand without a link, or whose link is lost, or that gets no answer, ends, and is not kept for later")
  func ends() {
    var phone = atHome()
    phone.happens(.linkDown)
    phone.happens(.errandAsked(.lock))
    #expect(phone.errandOutcomes == [.notLinked])
    phone.happens(.linkUp)
    phone.happens(.errandAsked(.lock))
    phone.happens(.linkDown)
    #expect(phone.errandOutcomes == [.notLinked, .linkLost])
    phone.isOffering = false
    phone.happens(.linkUp)
    phone.happens(.errandAsked(.lock))
    phone.signal(-93, for: 30)
    #expect(phone.errandOutcomes == [.notLinked, .linkLost, .noAnswer])
    let count = phone.writes.count { $0.command == .lock }
    phone.happens(.offerReceived)
    phone.signal(-93, for: 10)
    #expect(phone.writes.count { $0.command == .lock } == count)
  }

  @Test("L8: a lock command whose answer is lost is written again under its own number, so the bolt moves once")
  func repeated() {
    var phone = atHome()
    phone.happens(.errandAsked(.lock))
    let operation = phone.writes.last?.operation
    phone.happens(.writeFailed)
    phone.happens(.offerReceived)
    #expect(phone.writes.last?.command == .lock && phone.writes.last?.operation == operation)
    phone.happens(.answered(.done, bolt: .locked))
    #expect(phone.errandOutcomes == [.answered])
  }

  @Test("L8: who has a door locked as their link comes up is let in by no approach of that link, but asked")
  func lockAtFirst() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(600)
    phone.happens(.linkUp)
    phone.happens(.errandAsked(.lock))
    phone.happens(.offerReceived)
    #expect(phone.writes.last?.command == .lock)
    phone.happens(.answered(.done, bolt: .locked))
    phone.happens(.offerReceived)
    phone.lockSays = .locked
    for dBm in stride(from: -93, through: -55, by: 3) { phone.signal(dBm, for: 1) }
    phone.signal(-50, for: 10)
    #expect(phone.writes.allSatisfy { $0.command == .lock || $0.command == .status })
    #expect(phone.questions == [.noApproach])
  }
}
