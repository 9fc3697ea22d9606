import HomePolicy
import Testing
import TimeTypes

/// A lock takes no command for its bolt 15 s after the offer that it answers.
@Suite("Words that reach the lock late") struct LateWordTests {
  private func atTheLockedDoor() -> Phone {
    var phone = Phone()
    phone.settle()
    phone.isOffering = false
    phone.pass(60)
    return phone
  }

  @Test("L7: a word is written to an offer of the last seconds only, and to a new one otherwise") func freshOffer() {
    for (age, isWritten) in [(10.0, true), (12, false)] {
      var phone = atTheLockedDoor()
      phone.happens(.offerReceived)
      phone.happens(.answered(.unknownOperation, bolt: .locked))
      phone.happens(.offerReceived)
      phone.pass(age)
      let effects = phone.happens(.unlockAsked)
      #expect(phone.unlocks.count == (isWritten ? 1 : 0))
      #expect(effects.contains(.readOffer) == !isWritten)
      phone.happens(.offerReceived)
      #expect(phone.unlocks.count == 1)
    }
  }

  @Test("L7: nobody is told that the lock did not answer while it may still open") func toldWhenItIsSure() {
    var phone = atTheLockedDoor()
    phone.happens(.unlockAsked)
    // The first offer comes late, as on a link that another operation keeps busy.
    phone.pass(10)
    phone.happens(.timePassed)
    phone.happens(.offerReceived)
    #expect(phone.unlocks.count == 1)
    for _ in 0..<19 {
      phone.pass(1)
      phone.happens(.timePassed)
      #expect(phone.wordOutcomes.isEmpty)
    }
    phone.pass(1)
    phone.happens(.timePassed)
    #expect(phone.wordOutcomes == [.noAnswer])
  }

  @Test("L7: the same is true of a command to lock") func errand() {
    var phone = atTheLockedDoor()
    phone.happens(.errandAsked(.lock))
    phone.pass(10)
    phone.happens(.timePassed)
    phone.happens(.offerReceived)
    #expect(phone.unlocks.count == 1)
    phone.pass(15)
    phone.happens(.timePassed)
    #expect(phone.errandOutcomes.isEmpty)
    phone.pass(5)
    phone.happens(.timePassed)
    #expect(phone.errandOutcomes == [.noAnswer])
  }

  @Test("L7: a word that can't be written soon enough for its answer is not written") func tooLate() {
    var phone = atTheLockedDoor()
    phone.happens(.unlockAsked)
    phone.pass(13)
    phone.happens(.timePassed)
    phone.happens(.offerReceived)
    #expect(phone.unlocks.isEmpty)
    phone.pass(7)
    phone.happens(.timePassed)
    #expect(phone.wordOutcomes == [.noAnswer])
  }

  @Test("L2: an approach needs no read of the offer, which comes every 10 s") func approach() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(600)
    phone.walkHome()
    #expect(phone.unlocks.count == 1)
  }
}
