import Foundation
import HomePolicy
import RandomTesting
import Testing
import Timekeeping

@Suite("Home policy") struct PolicyTests {
  @Test("L2: who was away for longer than the set time, and is near, unlocks once") func arrival() {
    var phone = Phone()
    phone.settle()
    #expect(phone.unlocks.isEmpty)
    phone.happens(.linkDown)
    phone.pass(5 * 86400)
    #expect(phone.happens(.linkUp).contains(.readSignal))
    phone.happens(.offerReceived)
    #expect(phone.unlocks.isEmpty)
    phone.happens(.signalRead(-60))
    #expect(phone.unlocks.count == 1)
    #expect(!phone.writes.contains { !$0.isStored })
    phone.happens(.answered(.done))
    phone.happens(.offerReceived)
    phone.happens(.offerReceived)
    phone.happens(.signalRead(-50))
    #expect(phone.unlocks.count == 1)
    #expect(phone.disk.arrival == nil)
  }

  @Test("L2: a link that flaps opens nothing, however often") func flapping() {
    var phone = Phone()
    phone.settle()
    for _ in 0..<500 {
      phone.happens(.linkDown)
      phone.pass(170)
      phone.happens(.linkUp)
      phone.happens(.offerReceived)
      phone.happens(.signalRead(-40))
      phone.happens(.answered(.unknownOperation))
      phone.happens(.offerReceived)
      phone.pass(5)
    }
    #expect(phone.unlocks.isEmpty)
    #expect(phone.writes.count == 501)
  }

  @Test("L2: on a link with nothing to unlock the phone says once that it is here") func presence() {
    var phone = Phone()
    phone.settle()
    #expect(phone.writes.map(\.command) == [.status])
    phone.happens(.linkDown)
    phone.pass(10)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    #expect(phone.writes.count == 2)
    phone.happens(.answered(.unknownOperation))
    phone.happens(.offerReceived)
    #expect(phone.writes.count == 2)
    // The lock restarted: it makes an offer that no answer came before.
    phone.happens(.offerReceived)
    #expect(phone.writes.count == 3)
  }

  @Test("L4 case 15: a weak or falling signal unlocks nothing, until it is near") func signal() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(600)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.happens(.signalRead(-90))
    #expect(phone.policy.nextDeadline == phone.time.instant + .seconds(1))
    phone.pass(1)
    #expect(phone.happens(.timePassed) == [.readSignal])
    phone.happens(.signalRead(-60))
    #expect(phone.unlocks.count == 1)

    var leaving = Phone()
    leaving.settle()
    leaving.happens(.linkDown)
    leaving.pass(600)
    leaving.happens(.linkUp)
    leaving.happens(.signalRead(-60))
    leaving.pass(2)
    leaving.happens(.timePassed)
    #expect(leaving.policy.isArriving)
    // Passing by: near when nothing could be written yet, then away again.
    leaving.happens(.linkDown)
    leaving.pass(1)
    leaving.happens(.linkUp)
    leaving.happens(.signalRead(-78))
    leaving.pass(1)
    leaving.happens(.timePassed)
    leaving.happens(.signalRead(-84))
    leaving.happens(.offerReceived)
    #expect(leaving.unlocks.isEmpty)
  }

  @Test("L2: after eight weak readings the phone waits for the lock's next offer") func readingsEnd() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(600)
    var readings = phone.happens(.linkUp).filter { $0 == .readSignal }.count
    phone.happens(.offerReceived)
    for _ in 0..<20 {
      phone.happens(.signalRead(-88))
      phone.pass(1)
      readings += phone.happens(.timePassed).filter { $0 == .readSignal }.count
    }
    #expect(readings >= 8 && readings <= 16)
    #expect(phone.policy.nextDeadline == nil)
    #expect(phone.happens(.offerReceived).contains(.readSignal))
    phone.happens(.signalRead(-70))
    #expect(phone.unlocks.count == 1)
  }

  @Test("L2: who stays linked without coming near is no longer arriving") func windowEnds() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(600)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.happens(.signalRead(-90))
    phone.pass(3600)
    phone.happens(.offerReceived)
    phone.happens(.signalRead(-50))
    #expect(phone.unlocks.isEmpty)
    #expect(phone.writes.last?.command == .status)
  }

  @Test("L2: an unreadable signal unlocks only where the owner chose so", arguments: [true, false])
  func unreadable(_ isAllowed: Bool) {
    var configuration = HomeConfiguration()
    configuration.unlocksWithoutSignal = isAllowed
    var phone = Phone(configuration)
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(600)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.happens(.signalRead(nil))
    #expect(phone.unlocks.count == (isAllowed ? 1 : 0))
  }

  @Test("L4 case 35: killed between the write and its answer, the phone asks instead of repeating")
  func killedAfterWrite() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(600)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.happens(.signalRead(-60))
    let operation = phone.unlocks[0]
    phone.relaunch(isLinked: true)
    #expect(phone.policy.nextDeadline != nil)
    phone.pass(2)
    #expect(phone.happens(.timePassed).contains(.readOffer))
    phone.happens(.offerReceived)
    #expect(phone.writes.last?.command == .status)
    #expect(phone.writes.last?.operation == operation)
    phone.happens(.answered(.done))
    phone.happens(.offerReceived)
    #expect(phone.unlocks == [operation])
    #expect(phone.disk.arrival == nil)
  }

  @Test("L4 case 35: an unlock that the lock never had is written again under the same name")
  func lostWrite() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(600)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.happens(.signalRead(-60))
    let operation = phone.unlocks[0]
    phone.happens(.writeFailed)
    phone.happens(.linkDown)
    phone.pass(3)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    #expect(phone.writes.last?.command == .status)
    #expect(phone.writes.last?.operation == operation)
    phone.happens(.answered(.unknownOperation))
    phone.happens(.offerReceived)
    phone.happens(.signalRead(-60))
    #expect(phone.unlocks == [operation, operation])
    phone.happens(.answered(.done))
    #expect(phone.disk.arrival == nil)
  }

  @Test(
    "L2: a later arrival is one of its own, whatever became of the earlier one",
    arguments: [.done, .unknownOperation, .failed] as [HomeAnswer])
  func laterArrival(_ fate: HomeAnswer) {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(600)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.happens(.signalRead(-60))
    phone.happens(.linkDown)
    phone.pass(86400)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.happens(.answered(fate))
    phone.happens(.offerReceived)
    phone.happens(.signalRead(-60))
    #expect(phone.unlocks.count == 2)
    #expect(Set(phone.unlocks).count == 2)
  }

  @Test("L6: a bolt that did not move is tried again, three times at most") func failed() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(600)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.happens(.signalRead(-60))
    for _ in 0..<10 {
      phone.happens(.answered(.failed))
      phone.happens(.offerReceived)
    }
    #expect(phone.unlocks.count == 3)
    #expect(Set(phone.unlocks).count == 3)
    #expect(phone.disk.arrival == nil)
  }

  @Test("L3: days away over relaunches and a reboot end in one unlock") func daysAway() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(3 * 86400)
    phone.relaunch(isLinked: false)
    phone.reboot(offFor: 86400)
    phone.relaunch(isLinked: true)
    // The system says so twice to a relaunched app: by the restored state, and by the event.
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.happens(.signalRead(-65))
    #expect(phone.unlocks.count == 1)
    phone.happens(.answered(.done))
    phone.relaunch(isLinked: true)
    phone.happens(.offerReceived)
    phone.happens(.signalRead(-60))
    #expect(phone.unlocks.count == 1)
  }

  @Test("L3: a calendar that is stepped makes nobody arrive, and nobody stay away", arguments: [-86400.0, 86400.0])
  func calendarSteps(_ step: Double) {
    var home = Phone()
    home.settle()
    home.happens(.linkDown)
    home.time.unixSeconds += step
    home.pass(5)
    home.happens(.linkUp)
    home.happens(.offerReceived)
    home.happens(.signalRead(-50))
    #expect(home.unlocks.isEmpty)

    var away = Phone()
    away.settle()
    away.happens(.linkDown)
    away.pass(600)
    away.time.unixSeconds += step
    away.happens(.linkUp)
    away.happens(.offerReceived)
    away.happens(.signalRead(-50))
    #expect(away.unlocks.count == 1)
  }

  @Test("L3: after a reboot with the calendar set back, the time since the boot still counts") func setBackOverReboot()
  {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.reboot(offFor: 3600, calendarStep: -90000)
    phone.relaunch(isLinked: false)
    phone.pass(200)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.happens(.signalRead(-50))
    #expect(phone.unlocks.count == 1)
  }

  @Test("L2: a loss that nobody heard makes no arrival") func unheardLoss() {
    var phone = Phone()
    phone.settle()
    phone.pass(8 * 3600)
    phone.relaunch(isLinked: false)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.happens(.signalRead(-40))
    #expect(phone.unlocks.isEmpty)
  }

  @Test("An old offer is not written to: a fresh one is read first") func oldOffer() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(600)
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.pass(60)
    #expect(phone.happens(.signalRead(-50)).contains(.readOffer))
    #expect(phone.unlocks.isEmpty)
    phone.happens(.offerReceived)
    #expect(phone.unlocks.count == 1)
  }

  @Test(
    "L2, L3: whatever the schedule, an arrival unlocks at most once, and only after a loss that was long",
    arguments: 0..<40 as Range<UInt64>)
  func schedules(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var phone = Phone()
    var isLinked = false
    // What the lock has carried out, by operation, and how many arrivals there truly were.
    var carriedOut: Set<UInt64> = []
    var movements = 0
    var longLosses = 0
    var lostAt: Instant?
    var answer: HomeAnswer?
    var seen = 0
    for _ in 0..<400 {
      switch Int.random(in: 0..<12, using: &random) {
      case 0, 1:
        if isLinked {
          phone.happens(.linkDown)
          lostAt = phone.time.instant
        } else {
          if let lostAt, phone.time.instant - lostAt >= .seconds(180) { longLosses += 1 }
          phone.happens(.linkUp)
        }
        isLinked.toggle()
        answer = nil
      case 2: phone.pass(Double.random(in: 0...400, using: &random))
      case 3: phone.pass(Double.random(in: 0...5, using: &random))
      case 4: phone.relaunch(isLinked: isLinked)
      case 5: phone.happens(.signalRead(Int.random(in: -95 ... -40, using: &random)))
      case 6: phone.happens(.signalRead(nil))
      case 7: phone.happens(.timePassed)
      case 8: phone.time.unixSeconds += Double.random(in: -1e6...1e6, using: &random)
      case 9:
        phone.happens(.writeFailed)
        answer = nil
      case 10:
        if let given = answer { phone.happens(.answered(given)) }
        answer = nil
      default: if isLinked { phone.happens(.offerReceived) }
      }
      // The lock, with its memory of operations; some writes never reach it.
      for write in phone.writes[seen...] {
        #expect(write.isStored)
        let arrives = Int.random(in: 0..<4, using: &random) > 0
        switch write.command {
        case .unlock where arrives:
          if carriedOut.insert(write.operation).inserted { movements += 1 }
          answer = .done
        case .unlock: answer = nil
        case .status: answer = carriedOut.contains(write.operation) ? .done : .unknownOperation
        }
      }
      seen = phone.writes.count
      #expect(movements <= longLosses)
    }
  }
}
