import Foundation
import HomePolicy
import RandomTesting
import Testing
import TimeTypes

@Suite("Home policy") struct PolicyTests {
  private func arrived() -> Phone {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(600)
    phone.walkHome()
    return phone
  }

  @Test("L2: the signal is asked for before what a link brings is stored, and is heard though that fails")
  func signalBeforeStore() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(60)
    phone.isDiskFull = true
    #expect(phone.happens(.linkUp).prefix(2) == [.readSignal, .store])
    // The one that was asked for, and no second one beside it.
    #expect(!phone.happens(.signalRead(-90)).contains(.readSignal))
    phone.pass(0.3)
    #expect(phone.happens(.timePassed).first == .readSignal)
  }

  @Test("L2: on a link with nothing to unlock, the phone announces itself once") func presence() {
    var phone = Phone()
    phone.settle()
    #expect(phone.writes.map(\.command) == [.status])
    phone.losesLink(for: 2)
    #expect(phone.writes.count == 2)
    phone.happens(.answered(.unknownOperation, bolt: .unlocked))
    phone.happens(.offerReceived)
    #expect(phone.writes.count == 2)
    // The lock restarted: it makes an offer without a preceding answer.
    phone.happens(.offerReceived)
    #expect(phone.writes.count == 3)
  }

  @Test("attack 15: away and back without a command or an approach, the phone only announces itself")
  func nearAtOnce() {
    var phone = Phone()
    phone.settle()
    phone.losesLink(for: 600)
    phone.signal(-60, for: 60)
    #expect(phone.unlocks.isEmpty)
    #expect(phone.writes.last?.command == .status)
  }

  @Test("attack 35: killed between the write and its answer, the phone asks instead of repeating")
  func killedAfterWrite() {
    var phone = arrived()
    let operation = phone.unlocks[0]
    phone.relaunch(isLinked: true)
    #expect(phone.policy.nextDeadline != nil)
    phone.pass(2)
    #expect(phone.happens(.timePassed).contains(.readOffer))
    phone.happens(.offerReceived)
    #expect(phone.writes.last?.command == .status)
    #expect(phone.writes.last?.operation == operation)
    phone.happens(.answered(.done, bolt: .unlocked))
    phone.happens(.offerReceived)
    phone.signal(-55, for: 10)
    #expect(phone.unlocks == [operation])
    #expect(phone.disk.opening == nil)
  }

  @Test(
    "L2: right after an answer a command waits for the offer that follows it, and reads it if none comes",
    arguments: [true, false])
  func offerAfterAnswer(comes: Bool) {
    var phone = Phone()
    phone.settle()
    phone.pass(60)
    phone.happens(.offerReceived)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    #expect(!phone.happens(.unlockAsked).contains(.readOffer))
    #expect(phone.unlocks.isEmpty)
    if comes {
      phone.happens(.offerReceived)
      #expect(phone.unlocks.count == 1)
    } else {
      phone.pass(0.25)
      #expect(phone.happens(.timePassed).contains(.readOffer))
    }
  }

  @Test("attack 35: an unlock that the lock never had is written again under the same name")
  func lostWrite() {
    var phone = arrived()
    let operation = phone.unlocks[0]
    phone.happens(.writeFailed)
    phone.losesLink(for: 3)
    #expect(phone.writes.last?.command == .status)
    #expect(phone.writes.last?.operation == operation)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.happens(.offerReceived)
    phone.signal(-60)
    #expect(phone.unlocks == [operation, operation])
    phone.happens(.answered(.done, bolt: .unlocked))
    #expect(phone.disk.opening == nil)
  }

  @Test("L7: an unlock that was lost on the way home is not written again hours later") func lostForGood() {
    var phone = arrived()
    phone.happens(.writeFailed)
    phone.losesLink(for: 4 * 3600)
    #expect(phone.writes.last?.command == .status)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.happens(.offerReceived)
    phone.signal(-50, for: 30)
    #expect(phone.unlocks.count == 1)
    #expect(phone.disk.opening == nil)
  }

  @Test(
    "L2: a later arrival is one of its own, whatever became of the earlier one",
    arguments: [.done, .unknownOperation, .failed] as [HomeAnswer])
  func laterArrival(_ fate: HomeAnswer) {
    var phone = arrived()
    phone.losesLink(for: 86400)
    phone.signal(-93, for: 1)
    phone.happens(.answered(fate, bolt: .locked))
    phone.happens(.offerReceived)
    for dBm in stride(from: -90, through: -60, by: 3) { phone.signal(dBm, for: 1) }
    #expect(phone.unlocks.count == 2)
    // A command that the lock never received may keep its operation number: it moves the bolt once.
    #expect(Set(phone.unlocks).count == 2 || fate == .unknownOperation)
  }

  @Test("L6: a bolt that did not move is tried three times at once and three with pauses, then its owner is asked")
  func failed() throws {
    var phone = arrived()
    let start = phone.time.instant
    var tried: [Int64] = [0]
    for _ in 0..<200 {
      let before = phone.unlocks.count
      phone.happens(.answered(.failed, bolt: .between))
      phone.happens(.offerReceived)
      phone.signal(-60, for: 1)
      if phone.unlocks.count > before { tried.append((phone.time.instant - start).wholeNanoseconds / 1_000_000_000) }
    }
    try #require(tried.count == 6 && Set(phone.unlocks).count == 6)
    let pauses = zip(tried.dropFirst(), tried).map { $0 - $1 }
    #expect(pauses[0...1].allSatisfy { $0 <= 1 } && pauses[2] >= 4 && pauses[3] >= 14 && pauses[4] >= 29, "\(pauses)")
    #expect(phone.disk.opening == nil)
    #expect(phone.questions == [.jammed])
  }

  @Test("L6: whoever comes home to a lock that refuses, for its battery or its mode, is told so, once in a while")
  func refused() {
    var phone = arrived()
    #expect(phone.unlocks.count == 1)
    phone.happens(.answered(.refused, bolt: .locked))
    phone.happens(.offerReceived)
    phone.signal(-60, for: 30)
    #expect(phone.questions == [.refused])
    #expect(phone.unlocks.count == 1)
    // Within ten minutes another arrival is refused as well, and nobody is told again.
    phone.happens(.linkDown)
    phone.pass(120)
    phone.walkHome()
    #expect(phone.unlocks.count == 2)
    phone.happens(.answered(.refused, bolt: .locked))
    phone.signal(-60, for: 5)
    #expect(phone.questions == [.refused])
  }

  @Test("L8: a person's own command that is refused has the reason as its answer, and asks nothing")
  func refusedWord() {
    var phone = Phone()
    phone.settle()
    phone.happens(.unlockAsked)
    phone.happens(.answered(.refused, bolt: .locked))
    phone.signal(-60, for: 5)
    #expect(phone.wordOutcomes == [.failed] && phone.questions.isEmpty)
  }

  @Test("L6: a bolt that is free again a moment after three attempts opens for the owner who waits at it")
  func freed() {
    var phone = arrived()
    for _ in 0..<3 {
      phone.happens(.answered(.failed, bolt: .between))
      phone.happens(.offerReceived)
      phone.signal(-60, for: 1)
    }
    #expect(phone.unlocks.count == 3)
    phone.signal(-60, for: 4)
    #expect(phone.unlocks.count == 3)
    phone.signal(-60, for: 6)
    #expect(phone.unlocks.count == 4)
    phone.happens(.answered(.done, bolt: .unlocked))
    phone.happens(.offerReceived)
    phone.signal(-60, for: 120)
    #expect(phone.unlocks.count == 4 && phone.questions.isEmpty)
  }

  @Test(
    "L6: a phone beside a jammed bolt is told something every five seconds, so its system lets it go on to the next attempt"
  )
  func awakeAtTheJam() throws {
    var phone = arrived()
    var pauses: [Duration] = []
    while phone.questions.isEmpty {
      let attempts = phone.unlocks.count
      phone.happens(.answered(.failed, bolt: .between))
      phone.happens(.offerReceived)
      var told = phone.time.instant
      while phone.unlocks.count == attempts, phone.questions.isEmpty {
        if phone.isAskedForOffer {
          phone.isAskedForOffer = false
          phone.happens(.offerReceived)
          told = phone.time.instant
          continue
        }
        guard phone.isAskedForSignal else {
          let due = try #require(phone.policy.nextDeadline)
          phone.pass((due - phone.time.instant) / .seconds(1))
          phone.happens(.timePassed)
          continue
        }
        phone.isAskedForSignal = false
        phone.happens(.signalRead(-60))
        pauses.append(phone.time.instant - told)
        told = phone.time.instant
      }
    }
    #expect(phone.unlocks.count == 6)
    #expect(pauses.allSatisfy { $0 <= .seconds(6) }, "\(pauses.max().map { "\($0)" } ?? "no readings")")
  }

  @Test("L6: the owner of a jammed bolt who goes away meanwhile opens nothing") func goneFromTheJam() {
    var phone = arrived()
    for _ in 0..<3 {
      phone.happens(.answered(.failed, bolt: .between))
      phone.happens(.offerReceived)
      phone.signal(-60, for: 1)
    }
    phone.signal(-60, for: 1)
    phone.signal(-95, for: 60)
    #expect(phone.unlocks.count == 3)
  }

  @Test("L6, L8: the owner's word at a jammed bolt does not wait, and has attempts of its own") func wordAtTheJam() {
    var phone = arrived()
    for _ in 0..<3 {
      phone.happens(.answered(.failed, bolt: .between))
      phone.happens(.offerReceived)
      phone.signal(-60, for: 1)
    }
    phone.happens(.unlockAsked)
    #expect(phone.unlocks.count == 4)
    for _ in 0..<6 {
      phone.happens(.answered(.failed, bolt: .between))
      phone.happens(.offerReceived)
    }
    #expect(phone.unlocks.count == 6)
    #expect(phone.wordOutcomes == [.failed])
  }

  @Test("L2: a loss that the agent was not told of makes no arrival") func unheardLoss() {
    var phone = Phone()
    phone.settle()
    phone.pass(8 * 3600)
    phone.relaunch(isLinked: false)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.signal(-40, for: 10)
    #expect(phone.unlocks.isEmpty)
  }

  @Test("An old offer is not written to: a fresh one is read first") func oldOffer() {
    var phone = Phone()
    phone.settle()
    phone.losesLink(for: 600)
    phone.isOffering = false
    phone.signal(-92, for: 8)
    phone.pass(60)
    phone.happens(.timePassed)
    for dBm in stride(from: -88, through: -60, by: 4) { phone.signal(dBm, for: 1) }
    #expect(phone.unlocks.isEmpty)
    phone.happens(.offerReceived)
    phone.signal(-60)
    #expect(phone.unlocks.count == 1)
  }

  @Test(
    "L2, L3, L7: whatever the schedule, an approach unlocks at most once, and without one only a word does",
    arguments: 0..<60 as Range<UInt64>)
  func schedules(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var phone = Phone()
    var isLinked = false
    // What the lock has carried out, by operation; how many links came up that may have been approaches; and the
    // owner's commands.
    var carriedOut: Set<UInt64> = []
    var movements = 0
    var links = 0
    var words = 0
    var answer: HomeAnswer?
    var seen = 0
    // In half of the runs the signal is never weak, so those have no approach at all.
    let signals = seed % 2 == 0 ? -95 ... -40 : -85 ... -40
    for _ in 0..<600 {
      switch Int.random(in: 0..<14, using: &random) {
      case 0, 1:
        if isLinked {
          phone.happens(.linkDown)
        } else {
          links += 1
          phone.happens(.linkUp)
        }
        isLinked.toggle()
        answer = nil
      case 2: phone.pass(Double.random(in: 0...400, using: &random))
      case 3: phone.pass(Double.random(in: 0...5, using: &random))
      case 4: phone.relaunch(isLinked: isLinked)
      case 5: phone.signal(Int.random(in: signals, using: &random), for: 2)
      case 6: phone.happens(.signalRead(nil))
      case 7: phone.happens(.timePassed)
      case 8: phone.time.unixSeconds += Double.random(in: -1e6...1e6, using: &random)
      case 9:
        phone.happens(.writeFailed)
        answer = nil
      case 10:
        if let given = answer {
          phone.happens(.answered(given, bolt: Bool.random(using: &random) ? .locked : .unlocked))
        }
        answer = nil
      case 11 where Int.random(in: 0..<10, using: &random) == 0:
        words += 1
        phone.happens(.unlockAsked)
      case 12: phone.isDiskFull.toggle()
      default: if isLinked { phone.happens(.offerReceived) }
      }
      // The lock, with its memory of operations. Some writes never reach it.
      for write in phone.writes[seen...] {
        #expect(write.isStored)
        let arrives = Int.random(in: 0..<4, using: &random) > 0
        switch write.command {
        case .unlock, .unlockUnlessHome, .unlockIfLeft:
          if seed % 2 == 1 { #expect(write.command == .unlock(.word)) }
          guard arrives else {
            answer = nil
            continue
          }
          if carriedOut.insert(write.operation).inserted { movements += 1 }
          answer = .done
        case .status, .lock: answer = carriedOut.contains(write.operation) ? .done : .unknownOperation
        }
      }
      seen = phone.writes.count
      #expect(movements <= (seed % 2 == 0 ? links : 0) + words)
    }
  }
}
