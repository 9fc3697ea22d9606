import Foundation
import HomePolicy
import Testing
import TimeTypes

@testable import latchkey_agent

@Suite("A phone that its lock turns away") struct TurningAwayTests {
  /// A phone beside the lock, whose writes are refused until it ends its link.
  private func refuse(_ phone: inout Phone) {
    var writes = phone.writes.count
    let ends = phone.ends.count
    for _ in 0..<40 where phone.ends.count == ends {
      phone.happens(.offerReceived)
      phone.signal(-60, for: 0.3)
      guard phone.writes.count > writes else { continue }
      writes = phone.writes.count
      phone.happens(.writeRefused)
    }
  }

  private func turnedAway(links: Int = 1) -> Phone {
    var phone = Phone()
    phone.happens(.linkUp)
    refuse(&phone)
    phone.happens(.linkDown)
    for _ in 1..<max(links, 1) { comesBack(&phone) }
    return phone
  }

  /// The pause is over, and the lock is still there.
  private func comesBack(_ phone: inout Phone, after seconds: Double = 1) {
    phone.pass(phone.policy.linkDelay(at: phone.time) / .seconds(1) + seconds)
    phone.happens(.linkUp)
    refuse(&phone)
    phone.happens(.linkDown)
  }

  private func minutes(_ phone: Phone) -> [Double] { phone.ends.map { $0 / .seconds(60) } }

  @Test("L2: after two refused writes it ends the link and writes no more, and later links cost one write each")
  func bounded() {
    var phone = Phone()
    phone.happens(.linkUp)
    refuse(&phone)
    #expect(phone.writes.count == 2)
    #expect(phone.ends == [.seconds(60)])
    let time = phone.time
    for _ in 0..<10 {
      phone.happens(.offerReceived)
      phone.signal(-60)
    }
    #expect(phone.writes.count == 2)
    phone.time = time
    phone.happens(.linkDown)
    #expect(phone.policy.linkDelay(at: phone.time) == .seconds(60))
    for _ in 0..<9 { comesBack(&phone) }
    #expect(phone.writes.count == 2 + 9)
    #expect(minutes(phone) == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60])
  }

  @Test(
    "L2: an arrival at an older lock, which refuses two commands that it does not know, goes on to one that it knows")
  func olderLock() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(600)
    phone.walkHome()
    for _ in 0..<2 {
      #expect(phone.writes.last?.command == .unlock(.approach))
      phone.happens(.writeRefused)
      phone.happens(.offerReceived)
      // What became of it is asked first; the lock never received it.
      phone.happens(.answered(.unknownOperation, bolt: .locked))
      phone.happens(.offerReceived)
      phone.signal(-60)
    }
    #expect(phone.writes.last?.command == .unlockUnlessHome)
    #expect(phone.ends.isEmpty)
  }

  @Test("L2: an answer in between, as after a lock's restart, makes refusals begin anew")
  func answered() {
    var phone = Phone()
    phone.happens(.linkUp)
    for _ in 0..<3 {
      phone.happens(.offerReceived)
      phone.signal(-60)
      phone.happens(.writeRefused)
      phone.happens(.offerReceived)
      phone.happens(.answered(.unknownOperation, bolt: .locked))
      phone.pass(1)
    }
    #expect(phone.ends.isEmpty)
    #expect(!phone.policy.isTurnedAway)
  }

  @Test("L5: a guest whose grant is over or revoked ends the link after the one answer, and nothing is asked of them")
  func guest() {
    var phone = Phone()
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.signal(-60)
    phone.happens(.answered(.turnedAway, bolt: .locked))
    #expect(phone.ends == [.seconds(60)])
    for _ in 0..<10 {
      phone.happens(.offerReceived)
      phone.signal(-60)
    }
    #expect(phone.writes.count == 1)
    phone.happens(.linkDown)
    comesBack(&phone)
    phone.signal(-60, for: 10)
    #expect(phone.questions.isEmpty, "the answer to the question would be refused")
  }

  @Test("L2: the pause survives the agent's death, and a reboot ends it") func death() {
    var phone = turnedAway(links: 4)
    phone.pass(60)
    phone.relaunch(isLinked: false)
    #expect(phone.policy.linkDelay(at: phone.time) == .seconds(8 * 60 - 60))
    phone.reboot(offFor: 60)
    phone.relaunch(isLinked: false)
    #expect(phone.policy.linkDelay(at: phone.time) == .zero)
  }

  @Test("L5: a lock that was out of reach meanwhile ends the pauses; one that is just slow does not") func apart() {
    var phone = turnedAway(links: 5)
    comesBack(&phone, after: 59)
    #expect(minutes(phone) == [1, 2, 4, 8, 16, 32])
    comesBack(&phone, after: 61)
    #expect(minutes(phone).last == 1)
  }

  @Test("L3, L5: whoever is welcome again and comes home from elsewhere gets in without doing anything") func welcome()
  {
    var phone = turnedAway(links: 5)
    phone.pass(86400)
    phone.walkHome()
    #expect(phone.writes.last?.command == .unlock(.approach))
    phone.happens(.answered(.done, bolt: .unlocked))
    #expect(!phone.policy.isTurnedAway)
    phone.happens(.linkDown)
    #expect(phone.policy.linkDelay(at: phone.time) == .zero)
  }

  @Test("L3: a link that the phone ended by itself is no evidence of an approach, however weak the next one is")
  func ownEnd() {
    var phone = turnedAway()
    phone.pass(61)
    phone.walkHome()
    #expect(phone.unlocks.isEmpty)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.happens(.offerReceived)
    phone.signal(-60, for: 10)
    #expect(phone.unlocks.isEmpty)
    #expect(phone.questions == [.noApproach], "but who is welcome is asked")
  }

  @Test("L5: a person who asks gets a link at once, and the lock's answer, and neither lengthens nor ends the pauses")
  func person() {
    var phone = turnedAway(links: 3)
    phone.pass(5)
    phone.happens(.unlockAsked)
    #expect(phone.linkRequests == 1 && phone.wordOutcomes.isEmpty)
    #expect(phone.policy.linkDelay(at: phone.time) == .zero)
    phone.pass(2)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    #expect(phone.writes.last?.command == .unlock(.word))
    phone.happens(.writeRefused)
    #expect(phone.wordOutcomes == [.noAnswer])
    #expect(minutes(phone) == [1, 2, 4, 4])
    phone.happens(.linkDown)
    phone.pass(5)
    phone.happens(.errandAsked(.look))
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    // What became of the unlock is asked first.
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.happens(.offerReceived)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    #expect(phone.errandOutcomes == [.answered])
    #expect(phone.unlocks.count == 1, "a word is for now")
    #expect(!phone.policy.isTurnedAway)
  }

  @Test("L5: out of reach, a person waits for six seconds, and their word opens nothing later") func outOfReach() {
    var phone = turnedAway()
    phone.happens(.unlockAsked)
    phone.happens(.errandAsked(.look))
    phone.pass(6)
    phone.happens(.timePassed)
    #expect(phone.wordOutcomes == [.notLinked] && phone.errandOutcomes == [.notLinked])
    phone.pass(2)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.signal(-60, for: 5)
    #expect(phone.unlocks.isEmpty)
    // A phone that was not turned away says so at once.
    var other = Phone()
    other.settle()
    other.happens(.linkDown)
    other.happens(.unlockAsked)
    #expect(other.wordOutcomes == [.notLinked] && other.linkRequests == 0)
  }

  @Test("L5: a new invitation or enrolment is used at once, and who then comes home opens by their approach")
  func newKeys() {
    var phone = turnedAway(links: 6)
    phone.pass(1)
    phone.happens(.keysChanged)
    #expect(phone.linkRequests == 1)
    #expect(phone.policy.linkDelay(at: phone.time) == .zero)
    phone.pass(1)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.signal(-60)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    #expect(!phone.policy.isTurnedAway)

    phone = turnedAway(links: 6)
    phone.happens(.keysChanged)
    phone.pass(3600)
    phone.walkHome()
    #expect(phone.writes.last?.command == .unlock(.approach))
  }

  @Test("L5 L8: a person who accepts an invitation and asks at once waits for the link that the invitation brings")
  func hurry() {
    var phone = turnedAway()
    phone.happens(.keysChanged)
    phone.pass(0.5)
    phone.happens(.unlockAsked)
    #expect(phone.wordOutcomes.isEmpty && phone.linkRequests == 1)
    phone.pass(1)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    #expect(phone.writes.last?.command == .unlock(.word))

    var fresh = Phone()
    fresh.happens(.keysChanged)
    fresh.happens(.errandAsked(.look))
    #expect(fresh.errandOutcomes.isEmpty)
    fresh.pass(6)
    fresh.happens(.timePassed)
    #expect(fresh.errandOutcomes == [.notLinked])
    fresh.happens(.errandAsked(.look))
    #expect(fresh.errandOutcomes == [.notLinked, .notLinked], "nothing looks for the lock now that did not before")
  }

  @Test(
    "L8: a word that went to a device which is not the lock waits for the next device, and for no longer than usual")
  func otherDevice() {
    var phone = Phone()
    phone.happens(.started(isLinked: false))
    phone.happens(.unlockAsked)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    #expect(phone.writes.last?.command == .unlock(.word))
    phone.happens(.writeFailed)
    phone.happens(.linkToOther)
    #expect(phone.wordOutcomes.isEmpty)
    phone.pass(1)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    // The lock is asked first whether it knows the operation, as after every link that was lost.
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.happens(.offerReceived)
    #expect(phone.writes.last?.command == .unlock(.word))
    phone.happens(.answered(.done, bolt: .unlocked))
    #expect(phone.wordOutcomes == [.done])

    var alone = Phone()
    alone.happens(.started(isLinked: false))
    alone.happens(.errandAsked(.look))
    alone.happens(.linkUp)
    alone.happens(.linkToOther)
    alone.pass(6)
    alone.happens(.timePassed)
    #expect(alone.errandOutcomes == [.notLinked])
  }

  @Test("L2: a lock that makes strangers wait, and offers nothing, is not asked every half a minute either")
  func waiting() {
    var phone = turnedAway()
    for _ in 0..<3 {
      phone.pass(phone.policy.linkDelay(at: phone.time) / .seconds(1) + 1)
      phone.happens(.linkUp)
      phone.pass(30)
      phone.happens(.linkDown)
    }
    #expect(phone.policy.linkDelay(at: phone.time) == .seconds(8 * 60))
    // A link that was lost at the edge of the range is asked for at once.
    phone.pass(480)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.pass(20)
    phone.happens(.linkDown)
    #expect(phone.policy.linkDelay(at: phone.time) == .zero)
  }

  @Test("Change 7: that a phone was turned away is stored, and an impossible time of it is damage") func stored() throws
  {
    let state = AgentState(lock: nil, home: turnedAway(links: 3).disk)
    #expect(state.home.refusal?.count == 3)
    let text = String(decoding: try AgentFormat.bytes(state), as: UTF8.self)
    #expect(try AgentFormat.read(Data(text.utf8)) == state)
    let damaged = text.replacing("\"count\" : 3", with: "\"count\" : -3")
    #expect(throws: AgentFormat.Problem.self) { try AgentFormat.read(Data(damaged.utf8)) }
    let golden = try Data(
      contentsOf: #require(Bundle.module.url(forResource: "States/version-2-refusal", withExtension: "json")))
    let time = HomeTime(boot: "first", instant: Instant(nanoseconds: 3_720_000_000_000), unixSeconds: 1_800_000_120)
    #expect(try AgentFormat.read(golden).home.refusal == HomeState.Refusal(count: 2, retry: time))
  }
}

@Suite("A lock whose answer can't be understood") struct UnreadableAnswerTests {
  @Test("L4: a person who asked is told at once, and nothing is asked again on that link") func atOnce() {
    var phone = Phone()
    phone.settle()
    phone.happens(.unlockAsked)
    phone.happens(.answerUnreadable)
    #expect(phone.wordOutcomes == [.unreadable])
    phone.happens(.errandAsked(.look))
    phone.happens(.offerReceived)
    phone.happens(.answerUnreadable)
    #expect(phone.errandOutcomes == [.unreadable])
    let writes = phone.writes.count
    for _ in 0..<20 {
      phone.happens(.offerReceived)
      phone.signal(-60, for: 10)
    }
    #expect(phone.writes.count == writes)
  }

  @Test("L4: an arrival writes one unlock, and asks for nothing more after the answer") func arrival() {
    var phone = Phone()
    phone.settle()
    phone.losesLink(for: 600)
    phone.signal(-92)
    for dBm in stride(from: -90, through: -60, by: 3) { phone.signal(dBm, for: 1) }
    #expect(phone.unlocks.count == 1)
    phone.happens(.answerUnreadable)
    let writes = phone.writes.count
    for _ in 0..<20 {
      phone.happens(.offerReceived)
      phone.signal(-60, for: 10)
    }
    #expect(phone.writes.count == writes)
  }
}
