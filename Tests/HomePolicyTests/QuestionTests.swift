import HomePolicy
import Testing
import TimeTypes

/// The owner is asked only at a door that is locked now.
@Suite("Questions to the owner") struct QuestionTests {
  /// Some distance from a door that reported two seconds ago that it is locked, without any sign of an approach.
  private func withinReach() -> Phone {
    var phone = Phone()
    phone.settle()
    phone.losesLink(for: 600)
    phone.signal(-80, for: 2)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.happens(.offerReceived)
    phone.signal(-80, for: 2)
    return phone
  }

  @Test("L7: a way home that a reboot interrupts ends in a question at the door, however long the rest of it takes")
  func rebootOnTheWay() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(86_400)
    phone.happens(.linkUp)
    phone.reboot(offFor: 5)
    // The system had restored the link, and then hears that it is lost.
    phone.relaunch(isLinked: true)
    phone.happens(.linkDown)
    phone.pass(0.3)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.lockSays = .locked
    phone.signal(-82, for: 60)
    #expect(phone.questions.isEmpty)
    phone.signal(-60, for: 10)
    #expect(phone.questions == [.noApproach])
    #expect(phone.unlocks.isEmpty)
  }

  @Test("L7: a bolt that was turned by hand since it last spoke is asked about before its owner is")
  func handMeanwhile() {
    var phone = withinReach()
    let before = phone.writes.count
    phone.lockSays = .unlocked
    phone.signal(-50, for: 5)
    #expect(phone.questions.isEmpty)
    #expect(phone.writes.count == before + 1)
    #expect(phone.writes.last?.command == .status && phone.writes.last?.operation == 0)
    #expect(phone.unlocks.isEmpty)
  }

  @Test("L7: if the lock reports again that it is locked, the owner is asked at once, and only once") func lockedStill()
  {
    var phone = withinReach()
    let before = phone.writes.count
    phone.signal(-50, for: 60)
    #expect(phone.questions == [.noApproach])
    #expect(phone.writes.count <= before + 1)
    #expect(phone.unlocks.isEmpty)
  }

  @Test("L7: a lock that does not answer is asked again with patience; its old answer leads to no question")
  func silent() {
    var phone = withinReach()
    let before = phone.writes.count
    phone.lockSays = nil
    phone.signal(-50, for: 600)
    #expect(phone.questions.isEmpty && phone.unlocks.isEmpty)
    #expect(phone.writes.count <= before + 45, "no faster than answers are given up")
    phone.lockSays = .locked
    phone.happens(.offerReceived)
    phone.signal(-50, for: 20)
    #expect(phone.questions == [.noApproach])
  }

  @Test("L7: a question that was due when the link was lost is not put on the next one") func linkLost() {
    var phone = withinReach()
    phone.lockSays = nil
    phone.signal(-50, for: 2)
    phone.losesLink(for: 1)
    phone.signal(-80, for: 2)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    #expect(phone.questions.isEmpty)
  }
}
