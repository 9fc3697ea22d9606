import HomePolicy
import Testing
import TimeTypes

@Suite("A person's word") struct WordTests {
  private func atTheDoor() -> Phone {
    var phone = Phone()
    phone.settle()
    phone.losesLink(for: 600)
    phone.signal(-50, for: 2)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.happens(.offerReceived)
    phone.signal(-50, for: 3)
    return phone
  }

  @Test("L7, L8: the owner is asked, and the owner's word opens") func word() {
    var phone = atTheDoor()
    #expect(phone.questions == [.noApproach])
    phone.happens(.unlockAsked)
    #expect(phone.writes.last?.command == .unlock(.word))
    #expect(phone.writes.last?.isStored == true)
    #expect(phone.wordOutcomes.isEmpty)
    let effects = phone.happens(.answered(.done, bolt: .unlocked))
    #expect(effects.contains(.stopAsking))
    #expect(phone.wordOutcomes == [.done])
    phone.happens(.offerReceived)
    phone.signal(-50, for: 60)
    #expect(phone.unlocks.count == 1)
    #expect(phone.disk.opening == nil)
  }

  @Test("L8: a word without a link is answered at once, and is not kept for later") func noLink() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.happens(.unlockAsked)
    #expect(phone.wordOutcomes == [.notLinked])
    phone.pass(60)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.signal(-50, for: 10)
    #expect(phone.unlocks.isEmpty)
  }

  @Test("L8: a word whose link is lost is over: the unlock is not written on another link") func linkLost() {
    for isWritten in [false, true] {
      var phone = atTheDoor()
      if !isWritten { phone.pass(60) }  // The offer is too old: a new one must be read first.
      phone.happens(.unlockAsked)
      #expect(phone.unlocks.count == (isWritten ? 1 : 0))
      phone.happens(.linkDown)
      #expect(phone.wordOutcomes == [.linkLost])
      phone.pass(5)
      phone.happens(.linkUp)
      phone.happens(.offerReceived)
      phone.signal(-50, for: 2)
      phone.happens(.answered(.unknownOperation, bolt: .locked))
      phone.happens(.offerReceived)
      phone.signal(-50, for: 10)
      #expect(phone.unlocks.count == (isWritten ? 1 : 0))
    }
  }

  @Test("L8: a word that the lock does not answer ends by itself, and does not open an hour later") func noAnswer() {
    var phone = atTheDoor()
    phone.happens(.unlockAsked)
    phone.happens(.writeFailed)
    phone.signal(-50, for: 30)
    #expect(phone.wordOutcomes == [.noAnswer])
    let written = phone.unlocks.count
    phone.pass(3600)
    phone.happens(.offerReceived)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.happens(.offerReceived)
    phone.signal(-50, for: 10)
    #expect(phone.unlocks.count == written)
    #expect(phone.disk.opening == nil)
  }

  @Test("L8: a process that ends after a word does not repeat it") func killed() {
    var phone = atTheDoor()
    phone.happens(.unlockAsked)
    phone.relaunch(isLinked: true)
    phone.happens(.offerReceived)
    #expect(phone.writes.last?.command == .status)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.happens(.offerReceived)
    phone.signal(-50, for: 10)
    #expect(phone.unlocks.count == 1)
  }

  @Test("L8: a bolt that jams is tried again, and then the owner is told") func jammed() {
    var phone = atTheDoor()
    phone.happens(.unlockAsked)
    for _ in 0..<6 {
      phone.happens(.answered(.failed, bolt: .between))
      phone.happens(.offerReceived)
    }
    #expect(phone.wordOutcomes == [.failed])
    #expect(phone.unlocks.count == 3)
    #expect(Set(phone.unlocks).count == 3)
  }

  @Test("L8, M4: a command that can't be stored is not carried out, and the owner is told") func diskFull() {
    var phone = atTheDoor()
    phone.isDiskFull = true
    phone.happens(.unlockAsked)
    #expect(phone.unlocks.isEmpty)
    #expect(phone.wordOutcomes == [.notStored])
    phone.isDiskFull = false
    phone.signal(-50, for: 30)
    phone.happens(.offerReceived)
    #expect(phone.unlocks.isEmpty)
  }

  @Test("L3, M4: a disk that is full while coming home keeps the door shut, and opens it when there is space again")
  func fullOnTheWay() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(600)
    phone.isDiskFull = true
    phone.walkHome()
    #expect(phone.unlocks.isEmpty)
    phone.isDiskFull = false
    phone.signal(-60, for: 10)
    phone.happens(.offerReceived)
    phone.signal(-60, for: 5)
    #expect(phone.unlocks.count == 1)
    #expect(!phone.writes.contains { !$0.isStored })
  }
}
