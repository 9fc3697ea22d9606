import HomePolicy
import Testing
import TimeTypes

@Suite("A lock whose answers do not arrive") struct UnansweredTests {
  @Test("L2: a lock that offers after each command, and is never heard to answer, is asked slowly")
  func offersWithoutAnswers() {
    var phone = Phone()
    phone.happens(.linkUp)
    for _ in 0..<1000 { phone.happens(.offerReceived) }
    #expect(phone.writes.count == 1 + phone.policy.configuration.interruptions)
    let before = phone.writes.count
    phone.pass(16)
    phone.happens(.timePassed)
    #expect(phone.writes.count == before + 1, "with the latest offer, when the wait is over")
    for _ in 0..<1000 { phone.happens(.offerReceived) }
    #expect(phone.writes.count == before + 1)
  }

  @Test("L2: an answer, and a new link, let offers cut a wait short again")
  func afterAnAnswer() {
    var phone = Phone()
    phone.happens(.linkUp)
    for _ in 0..<10 { phone.happens(.offerReceived) }
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.happens(.offerReceived)
    let answered = phone.writes.count
    phone.happens(.offerReceived)
    phone.happens(.offerReceived)
    #expect(phone.writes.count > answered)
    phone.happens(.linkDown)
    phone.pass(1)
    phone.happens(.linkUp)
    let linked = phone.writes.count
    phone.happens(.offerReceived)
    phone.happens(.offerReceived)
    #expect(phone.writes.count == linked + 2)
  }

  @Test("L2: a command that the lock seems not to have is written again, a few times, and at last to be confirmed")
  func rewriting() {
    var phone = Phone()
    phone.settle()
    phone.happens(.unlockAsked)
    #expect(phone.writes.last?.command == .unlock(.word))
    phone.happens(.offerRepeated)
    #expect(phone.rewrites.isEmpty, "what was on its way already shows nothing")
    for _ in 0..<10 {
      phone.pass(0.25)
      phone.happens(.offerRepeated)
    }
    #expect(phone.rewrites == [false, false, false, false])
    phone.pass(0.6)
    phone.happens(.timePassed)
    phone.pass(5)
    phone.happens(.timePassed)
    #expect(phone.rewrites == [false, false, false, false, true])
    #expect(phone.writes.count { $0.command == .unlock(.word) } == 1)

    phone.happens(.answered(.done, bolt: .unlocked))
    phone.pass(1)
    phone.happens(.offerRepeated)
    #expect(phone.rewrites.count == 5, "nothing is awaited")
  }
}
