import AgentQuestions
import HomePolicy
import LockProtocol
import Testing

@testable import latchkey_agent

@Suite("What the policy makes of a lock's answers") struct AnswerTermsTests {
  @Test("L4: a result that only a later lock has ends the unlock, and is not asked for again")
  func laterResult() throws {
    var bytes = LockAnswer(result: .failed, lockState: .locked, doorState: .closed, operation: 7, logIndex: 1).encoded
    bytes[1] = 200
    #expect(HomeAnswer(try LockAnswer(decoding: bytes)) == .refused)
    var phone = Phone(HomeConfiguration())
    phone.settle()
    phone.happens(.unlockAsked)
    #expect(phone.unlocks.count == 1)
    phone.happens(.answered(.refused, bolt: .locked))
    phone.happens(.offerReceived)
    phone.pass(60)
    #expect(phone.unlocks.count == 1)
    #expect(phone.wordOutcomes == [.failed])
  }

  @Test("L8: a lock that asks a person's own command for evidence is told no to once, and not as often as it answers")
  func evidenceForWord() {
    var phone = Phone(HomeConfiguration())
    phone.settle()
    phone.happens(.unlockAsked)
    #expect(phone.unlocks.count == 1)
    phone.happens(.answered(.lockedAtHome, bolt: .locked))
    phone.happens(.offerReceived)
    #expect(phone.unlocks.count == 1)
    #expect(phone.wordOutcomes == [.failed])
  }

  @Test("L8: a door that was unlocked again before the lock could answer is not told to be locked")
  func unlockedSince() {
    for result in [LockResult.done, .notNeeded] {
      let answer = LockAnswer(result: result, lockState: .unlocked, doorState: .closed, operation: 7, logIndex: 1)
      #expect(throws: NoAnswer.self) { try BoltAnswer(door: "home", ofLocking: answer) }
    }
    let answer = LockAnswer(result: .done, lockState: .locked, doorState: .closed, operation: 7, logIndex: 1)
    #expect(throws: Never.self) { try BoltAnswer(door: "home", ofLocking: answer) }
  }

  @Test("L8: what the lock has done a while ago is not told as if the door were still like that") func since() {
    func told(_ state: LockState, isLocking: Bool, _ reason: OpeningReason?) -> String? {
      let answer = LockAnswer(result: .done, lockState: state, doorState: .closed, operation: 7, logIndex: 1)
      return DoorReports.movement(answer, isLocking: isLocking, because: reason)
    }
    #expect(told(.unlocked, isLocking: false, .approach) == "unlocked, because you came")
    #expect(told(.locked, isLocking: false, .approach) == "unlocked, because you came; locked since")
    #expect(told(.notFullyLocked, isLocking: false, .word) == "unlocked, as you asked; not any more")
    #expect(told(.locked, isLocking: true, nil) == "locked, as you asked")
    #expect(told(.unlocked, isLocking: true, nil) == "locked, as you asked; unlocked since")
  }

  @Test("L8: a bolt that stopped half way is not told to have stayed where it was") func halfWay() {
    func told(_ state: LockState) -> String? {
      let answer = LockAnswer(result: .failed, lockState: state, doorState: .closed, operation: 7, logIndex: 1)
      return DoorReports.movement(answer, isLocking: false, because: .approach)
    }
    #expect(told(.locked) == "not unlocked: its bolt did not move")
    #expect(told(.notFullyLocked) == "not unlocked: its bolt stopped on its way")
  }
}
