import Foundation
import RandomTesting
import Testing
import TimeTypes

@testable import latchkey_agent

@Suite("The agent's search for its lock") struct LockSearchTests {
  private static let lock = UUID(uuidString: "00000000-0000-0000-0000-0000000000AA") ?? UUID()
  private static let other = UUID(uuidString: "00000000-0000-0000-0000-0000000000BB") ?? UUID()

  private func at(_ seconds: Int) -> Instant { Instant.zero + .seconds(seconds) }

  private func stranger(_ number: Int) -> UUID {
    UUID(uuid: (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number)))
  }

  @Test("M1: a lock that was seen once and is out of reach does not keep the phone from its own") func outOfReach() {
    var search = LockSearch()
    #expect(search.begin([], at: at(0)) == [.scan])
    #expect(search.found(Self.other, signal: -95, at: at(1)) == [.connect(Self.other)])
    // No stopScan: the search continues.
    #expect(search.found(Self.lock, signal: -60, at: at(2)) == [.connect(Self.lock)])
    #expect(search.linked(Self.lock, at: at(3)) == [.test(Self.lock)])
    #expect(search.end(with: Self.lock) == [.cancel(Self.other), .stopScan])
    #expect(search.nextDeadline == nil)
  }

  @Test("M1: a lock that never answers is dropped after a while, and tried again later") func silent() {
    var search = LockSearch()
    _ = search.begin([], at: at(0))
    _ = search.found(Self.other, signal: -40, at: at(0))
    _ = search.found(Self.lock, signal: -60, at: at(0))
    #expect(search.linked(Self.other, at: at(1)) == [.test(Self.other)])
    #expect(search.linked(Self.lock, at: at(1)) == [])
    #expect(search.nextDeadline == at(31))
    #expect(search.passed(at: at(31)) == [.endTest(Self.other), .cancel(Self.other), .test(Self.lock)])
    #expect(search.passed(at: at(41)) == [.connect(Self.other)])
    #expect(search.tested == Self.lock)
  }

  @Test("M1: a stranger's lock that refuses delays the own one by one refusal") func refused() {
    var search = LockSearch()
    _ = search.begin([], at: at(0))
    _ = search.found(Self.other, signal: -40, at: at(0))
    _ = search.linked(Self.other, at: at(1))
    _ = search.found(Self.lock, signal: -60, at: at(1))
    _ = search.linked(Self.lock, at: at(2))
    #expect(search.refused(Self.other, at: at(2)) == [.endTest(Self.other), .cancel(Self.other), .test(Self.lock)])
  }

  @Test("M1: if there is no other lock, one or two refusals may come from a late offer") func refusedAlone() {
    var search = LockSearch()
    _ = search.begin([], at: at(0))
    _ = search.found(Self.lock, signal: -40, at: at(0))
    _ = search.linked(Self.lock, at: at(1))
    #expect(search.refused(Self.lock, at: at(2)) == [])
    #expect(search.refused(Self.lock, at: at(3)) == [])
    #expect(search.refused(Self.lock, at: at(4)) == [.endTest(Self.lock), .cancel(Self.lock)])
    #expect(search.passed(at: at(14)) == [.connect(Self.lock)])
  }

  @Test("M1: a device without the service is left at once, and asked ever more rarely") func noService() {
    var search = LockSearch()
    _ = search.begin([], at: at(0))
    _ = search.found(Self.other, signal: -40, at: at(0))
    var now = 0
    var pauses: [Int] = []
    for _ in 0..<9 {
      #expect(search.linked(Self.other, at: at(now)) == [.test(Self.other)])
      #expect(search.failed(Self.other, at: at(now)) == [.endTest(Self.other), .cancel(Self.other)])
      let due = search.nextDeadline.map { Int($0.seconds) } ?? 0
      pauses.append(due - now)
      now = due
      #expect(search.passed(at: at(now)) == [.connect(Self.other)])
    }
    #expect(pauses == [10, 20, 40, 80, 160, 320, 640, 640, 640])
  }

  @Test("M1: a link that is lost in the middle of a test says nothing about the device, which is asked again at once")
  func lostInTest() {
    var search = LockSearch()
    _ = search.begin([], at: at(0))
    _ = search.found(Self.lock, signal: -60, at: at(0))
    #expect(search.linked(Self.lock, at: at(1)) == [.test(Self.lock)])
    #expect(search.lost(Self.lock, at: at(2)) == [.leaveTest(Self.lock), .connect(Self.lock)])
    #expect(search.linked(Self.lock, at: at(3)) == [.test(Self.lock)])
  }

  @Test("M1: what the system kept from before the restart of the agent is among the candidates") func restored() {
    var search = LockSearch()
    #expect(
      search.begin([(Self.other, false), (Self.lock, true)], at: at(0))
        == [.connect(Self.other), .scan, .test(Self.lock)])
  }

  @Test("M1: a lock among forty strangers is reached, though all of them can be heard and none be linked") func crowd()
  {
    var search = LockSearch()
    _ = search.begin([], at: at(0))
    for number in 0..<40 { _ = search.found(stranger(number), signal: -50, at: at(0)) }
    _ = search.found(Self.lock, signal: -70, at: at(1))
    var now = at(1)
    var isAsked = false
    for _ in 0..<1000 where !isAsked {
      guard let due = search.nextDeadline else { break }
      now = max(now, due)
      isAsked = search.passed(at: now).contains(.connect(Self.lock))
    }
    #expect(isAsked)
    #expect(now < at(600))
  }

  @Test(
    "M1: whatever happens, requests are bounded and no deadline lies in the past", arguments: 0..<50 as Range<UInt64>)
  func anything(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var search = LockSearch()
    var now = at(0)
    var asked: Set<UUID> = []
    func apply(_ effects: [LockSearch.Effect]) {
      for effect in effects {
        switch effect {
        case .connect(let identifier): asked.insert(identifier)
        case .cancel(let identifier): asked.remove(identifier)
        case .scan, .stopScan, .test, .endTest, .leaveTest: break
        }
      }
      #expect(asked.count <= LockSearch.maximumRequests)
      #expect(search.nextDeadline.map { $0 > now } ?? true)
    }
    apply(search.begin([], at: now))
    for _ in 0..<500 {
      let identifier = stranger(Int.random(in: 0..<50, using: &random))
      switch Int.random(in: 0..<8, using: &random) {
      case 0, 1: apply(search.found(identifier, signal: Int.random(in: -100 ... -30, using: &random), at: now))
      case 2: if asked.contains(identifier) { apply(search.linked(identifier, at: now)) }
      case 3:
        // A request ends together with the link that came of it.
        if asked.remove(identifier) != nil { apply(search.lost(identifier, at: now)) }
      case 4: if let tested = search.tested { apply(search.refused(tested, at: now)) }
      case 5: if let tested = search.tested { apply(search.failed(tested, at: now)) }
      case 6:
        if let due = search.nextDeadline { now = due }
        apply(search.passed(at: now))
      default:
        now = now + .milliseconds(Int.random(in: 0...20_000, using: &random))
        apply(search.passed(at: now))
      }
    }
    apply(search.end(with: nil))
    #expect(asked.isEmpty)
  }

  @Test("M2: a subscription that fails is tried again, a few times on each link") func subscriptions() {
    var retries = SubscriptionRetries()
    var now = 0
    var pauses: [Int] = []
    for _ in 0..<10 {
      retries.failed(at: at(now))
      guard let due = retries.due else { break }
      pauses.append(Int(due.seconds) - now)
      let taken = [now, Int(due.seconds), Int(due.seconds)].map { retries.takeDue(at: at($0)) }
      #expect(taken == [false, true, false])
      now = Int(due.seconds)
    }
    #expect(pauses == [1, 2, 4, 8, 16, 32])
    #expect(retries.isExhausted)
    retries.linkBegan()
    retries.failed(at: at(now))
    #expect(retries.due == at(now + 1))
  }

  private func standing(lock: UUID? = nil, tested: UUID? = nil) -> LockSearch.Standing {
    LockSearch.Standing(lock: lock, tested: tested, isSearching: lock == nil)
  }

  @Test("L8: a device is tested for one door at a time, and then for the next") func inTurn() {
    var search = LockSearch()
    _ = search.begin([], at: at(0))
    _ = search.found(Self.other, signal: -40, at: at(0))
    #expect(search.see([standing(tested: Self.other)], at: at(0)) == [])
    #expect(search.linked(Self.other, at: at(1)) == [])
    _ = search.found(Self.lock, signal: -60, at: at(1))
    #expect(search.linked(Self.lock, at: at(2)) == [.test(Self.lock)], "meanwhile another one is")
    #expect(search.refused(Self.lock, at: at(2)) == [.endTest(Self.lock), .cancel(Self.lock)], "once, for others wait")
    #expect(search.see([standing()], at: at(3)) == [.test(Self.other)])
  }

  @Test("L8: one refusal by the only device is enough if the phone looks for several locks") func oneEach() {
    var search = LockSearch()
    _ = search.begin([], at: at(0))
    _ = search.see([standing()], at: at(0))
    _ = search.found(Self.other, signal: -40, at: at(0))
    _ = search.linked(Self.other, at: at(1))
    #expect(search.refused(Self.other, at: at(2)) == [.endTest(Self.other), .cancel(Self.other)])
  }

  @Test("L8: what has proven to be another door's lock is left out, whatever stage it was at") func taken() {
    var search = LockSearch()
    _ = search.begin([], at: at(0))
    _ = search.found(Self.other, signal: -40, at: at(0))
    #expect(search.see([standing(lock: Self.other)], at: at(1)) == [.cancel(Self.other)])
    #expect(search.found(Self.other, signal: -40, at: at(2)) == [] && !search.knows(Self.other))

    search = LockSearch()
    _ = search.begin([(Self.other, true)], at: at(0))
    #expect(search.tested == Self.other)
    #expect(search.see([standing(lock: Self.other)], at: at(1)) == [.leaveTest(Self.other), .cancel(Self.other)])
    #expect(search.begin([(Self.other, true)], at: at(2)).contains(.cancel(Self.other)))
    // That lock turns its phone away now, so it may be anybody's.
    #expect(search.see([standing()], at: at(3)) == [])
    #expect(search.found(Self.other, signal: -40, at: at(4)) == [.connect(Self.other)])
  }
}
