import HomePolicy
import Testing
import TimeTypes

/// What becomes of a person's word when the person gives up, and of one that comes too late.
@Suite("A word that is taken back") struct TakenBackTests {
  /// A phone that needs a new offer before it can write.
  private func waiting() -> Phone {
    var phone = Phone()
    phone.settle()
    phone.pass(60)
    return phone
  }

  @Test("L8: a word that is taken back before it is written opens nothing, whatever comes then") func unwritten() {
    var phone = waiting()
    phone.happens(.unlockAsked)
    #expect(phone.unlocks.isEmpty)
    phone.happens(.unlockTakenBack)
    #expect(phone.wordOutcomes == [.takenBack] && phone.disk.opening == nil)
    phone.happens(.offerReceived)
    phone.signal(-50, for: 30)
    #expect(phone.unlocks.isEmpty)
    // It can be given again.
    phone.happens(.unlockAsked)
    phone.happens(.offerReceived)
    phone.happens(.answered(.done, bolt: .unlocked))
    #expect(phone.unlocks.count == 1 && phone.wordOutcomes == [.takenBack, .done])
  }

  @Test("L8: a word that is taken back after it was written is not written again, and its person is told what is known")
  func written() {
    for answer in [HomeAnswer.done, .failed, .unknownOperation, nil] {
      var phone = waiting()
      phone.happens(.unlockAsked)
      phone.happens(.offerReceived)
      #expect(phone.unlocks.count == 1)
      phone.happens(.unlockTakenBack)
      #expect(phone.wordOutcomes.isEmpty)
      if let answer {
        phone.happens(.answered(answer, bolt: answer == .done ? .unlocked : .locked))
        phone.happens(.offerReceived)
      }
      phone.signal(-50, for: 60)
      let expected: [WordOutcome] = [answer == .done ? .done : answer == nil ? .sentAlready : .failed]
      #expect(phone.wordOutcomes == expected, "\(String(describing: answer))")
      #expect(phone.unlocks.count == 1 && phone.rewrites.isEmpty)
    }
  }

  @Test("L8: who gives the word again before the lock has answered is obeyed") func again() {
    var phone = waiting()
    phone.happens(.unlockAsked)
    phone.happens(.offerReceived)
    phone.happens(.unlockTakenBack)
    phone.happens(.unlockAsked)
    phone.happens(.answered(.failed, bolt: .locked))
    phone.happens(.offerReceived)
    phone.happens(.answered(.done, bolt: .unlocked))
    #expect(phone.wordOutcomes == [.done] && phone.unlocks.count == 2)
  }

  @Test("L8: nor is a door locked for a person who has taken that back") func errand() {
    var phone = waiting()
    phone.happens(.errandAsked(.lock))
    phone.happens(.errandTakenBack)
    #expect(phone.errandOutcomes == [.takenBack])
    phone.happens(.offerReceived)
    phone.signal(-50, for: 5)
    #expect(!phone.writes.contains { $0.command == .lock })

    phone = waiting()
    phone.errandOutcomes = [.takenBack]
    phone.happens(.errandAsked(.lock))
    phone.happens(.offerReceived)
    #expect(phone.writes.last?.command == .lock)
    phone.happens(.errandTakenBack)
    phone.happens(.writeFailed)
    phone.happens(.offerReceived)
    phone.signal(-50, for: 5)
    #expect(phone.errandOutcomes == [.takenBack, .sentAlready])
    #expect(phone.writes.count { $0.command == .lock } == 1)
  }

  @Test("L8: a word is not written so late that a slow lock carries it out after its person was told that it failed")
  func tooLate() {
    for isErrand in [false, true] {
      var phone = waiting()
      phone.happens(isErrand ? .errandAsked(.lock) : .unlockAsked)
      phone.pass(15.5)
      phone.happens(.offerReceived)
      phone.signal(-50, for: 10)
      #expect(!phone.writes.contains { $0.command == .lock || $0.command == .unlock(.word) })
      #expect(phone.wordOutcomes == (isErrand ? [] : [.noAnswer]))
      #expect(phone.errandOutcomes == (isErrand ? [.noAnswer] : []))
    }
  }
}
