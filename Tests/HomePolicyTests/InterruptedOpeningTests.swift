import HomePolicy
import Testing
import TimeTypes

/// What interrupts an opening: a link that is lost in the moment of the command, a person who speaks meanwhile, a process that stands still.
@Suite("Openings that are interrupted") struct InterruptedOpeningTests {
  /// An approach has written its unlock, and the link is lost before the answer.
  private func interrupted(hasLeft: Bool = false, beginning: Int = -93, for seconds: Double) -> Phone {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(600)
    if hasLeft {
      phone.disk.hasLeft = true
      phone.relaunch(isLinked: false)
    }
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    for dBm in stride(from: beginning, through: -60, by: 3) { phone.signal(dBm, for: 1) }
    phone.signal(-58, for: 2)
    #expect(phone.unlocks.count == 1)
    phone.losesLink(for: seconds)
    #expect(phone.writes.last?.command == .status && phone.writes.last?.operation == phone.unlocks.last)
    return phone
  }

  @Test("L8: a word is not answered by the unlock of before: a bolt that was locked since is unlocked anew")
  func lockedSince() {
    var phone = interrupted(for: 20)
    phone.happens(.unlockAsked)
    phone.happens(.answered(.done, bolt: .locked))
    #expect(phone.wordOutcomes.isEmpty)
    phone.happens(.offerReceived)
    #expect(phone.writes.last?.command == .unlock(.word))
    #expect(Set(phone.unlocks).count == 2)
    phone.happens(.answered(.done, bolt: .unlocked))
    #expect(phone.wordOutcomes == [.done])
    #expect(phone.disk.opening == nil)
  }

  @Test("L8: a word that finds the door opened by the unlock of before is done") func openedBefore() {
    var phone = interrupted(for: 6)
    phone.happens(.unlockAsked)
    phone.happens(.answered(.done, bolt: .unlocked))
    #expect(phone.wordOutcomes == [.done])
    #expect(phone.unlocks.count == 1)
  }

  @Test(
    "L8: a refusal of the approach of before says nothing of a word",
    arguments: [HomeAnswer.somebodyInside, .lockedAtHome, .refused, .failed])
  func refusedBefore(_ answer: HomeAnswer) {
    var phone = interrupted(for: 6)
    phone.happens(.unlockAsked)
    phone.happens(.answered(answer, bolt: .locked))
    #expect(phone.wordOutcomes.isEmpty)
    phone.happens(.offerReceived)
    #expect(phone.writes.last?.command == .unlock(.word))
    phone.happens(.answered(.done, bolt: .unlocked))
    #expect(phone.wordOutcomes == [.done])
  }

  @Test("L8: a door that was locked again before the lock could answer is not told to be open") func lockedAgain() {
    var phone = Phone()
    phone.settle()
    phone.happens(.unlockAsked)
    phone.happens(.writeFailed)
    phone.happens(.offerReceived)
    #expect(phone.writes.last?.command == .status)
    phone.happens(.answered(.done, bolt: .locked))
    #expect(phone.wordOutcomes == [.lockedAgain])
    phone.happens(.offerReceived)
    #expect(phone.unlocks.count == 1)
  }

  @Test("L3: a phone that left, and whose link is lost in the moment of its unlock, opens when it is back")
  func seenToLeave() {
    var phone = interrupted(hasLeft: true, for: 20)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.happens(.offerReceived)
    phone.signal(-58, for: 8)
    #expect(phone.unlocks.count == 2 && Set(phone.unlocks).count == 1)
    #expect(phone.questions.isEmpty)
  }

  @Test("L3, L7: a phone that left, and is suddenly near for the second time, is asked if its unlock did not arrive")
  func suddenly() {
    var phone = interrupted(hasLeft: true, beginning: -78, for: 20)
    phone.lockSays = .locked
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.happens(.offerReceived)
    phone.signal(-58, for: 20)
    #expect(phone.unlocks.count == 1)
    #expect(phone.questions == [.noApproach])
    #expect(phone.disk.opening == nil)
  }

  @Test("L3, L7: whoever came is asked if the lock has opened, and locked again before it was heard")
  func cameInVain() {
    var phone = interrupted(for: 20)
    phone.lockSays = .locked
    phone.happens(.answered(.done, bolt: .locked))
    phone.happens(.offerReceived)
    phone.signal(-58, for: 10)
    #expect(phone.questions == [.noApproach])
    #expect(phone.unlocks.count == 1)
  }

  @Test("L8: a process that stood still does not carry out what it was asked before") func stoodStill() {
    var phone = Phone()
    phone.settle()
    phone.pass(60)
    phone.happens(.errandAsked(.lock))
    #expect(!phone.writes.contains { $0.command == .lock })
    phone.pass(3600)
    phone.happens(.offerReceived)
    #expect(phone.errandOutcomes == [.noAnswer])
    #expect(!phone.writes.contains { $0.command == .lock })
  }

  @Test("L8: of two commands, the later one counts: who asked for the other is told at once") func overtaken() {
    var phone = Phone()
    phone.settle()
    phone.pass(60)
    phone.happens(.errandAsked(.lock))
    phone.happens(.unlockAsked)
    #expect(phone.errandOutcomes == [.overtaken])
    phone.happens(.offerReceived)
    #expect(phone.writes.last?.command == .unlock(.word))
    phone.happens(.answered(.done, bolt: .unlocked))
    phone.happens(.offerReceived)
    #expect(!phone.writes.contains { $0.command == .lock })
    phone.pass(60)

    phone.happens(.unlockAsked)
    phone.happens(.errandAsked(.lock))
    #expect(phone.wordOutcomes == [.done, .overtaken])
    phone.happens(.offerReceived)
    #expect(phone.writes.last?.command == .lock)
    phone.happens(.answered(.done, bolt: .locked))
    phone.happens(.offerReceived)
    #expect(phone.unlocks.count == 2)
  }
}
