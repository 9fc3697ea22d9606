import Testing

@testable import latchkey_agent

/// A phone compares its lock's clock with its own.
@Suite("A lock's clock, as a phone sees it") struct LockClockTests {
  private static let now: Int64 = 1_800_000_000

  @Test("L5, attack 19: a phone sets a lock's clock that has none, or is behind, and leaves one alone that is right")
  func mended() {
    for lock in [nil, Self.now - 61, Self.now - 3600] as [Int64?] {
      #expect(LockClock(lock: lock, phone: Self.now) == .behind)
    }
    for difference: Int64 in [-60, -1, 0, 60] {
      #expect(LockClock(lock: Self.now + difference, phone: Self.now) == .right)
    }
  }

  @Test(
    "L5, attack 19: a phone whose clock is behind the lock's does not set it back, because what is over would count again"
  )
  func ahead() {
    #expect(LockClock(lock: Self.now + 61, phone: Self.now) == .ahead(61))
    #expect(LockClock(lock: .max, phone: Self.now) == .ahead(.max - Self.now))
  }

  @Test(
    "L5, attack 19: a phone whose clock is far ahead of the lock's does not set it forward, because what is not over would end"
  )
  func farBehind() {
    for seconds in [3601, 3 * 86_400] as [Int64] {
      #expect(LockClock(lock: Self.now - seconds, phone: Self.now) == .farBehind(seconds))
    }
    #expect(LockClock(lock: .min, phone: Self.now) == .farBehind(.max))
    #expect(LockClock(lock: .max, phone: -5) == .ahead(.max))
    let advice = LockClock.farBehind(3 * 86_400).advice
    #expect(advice?.contains("is 3 days behind this phone's") == true && advice?.contains("sets it forward") == true)
    #expect(LockClock.behind.advice == nil && LockClock.right.advice == nil)
  }

  @Test(
    "L8: a person is told by how much a lock is ahead, and what to do",
    arguments: [(61, "1 min"), (7200, "2 h"), (200_000, "2 days")])
  func advice(seconds: Int64, length: String) {
    let text = LockClock.ahead(seconds).advice ?? ""
    #expect(text.contains("is \(length) ahead") && text.contains("latchkey guests clock"))
    // With the door's name, an alert has room for it.
    #expect(text.utf8.count < 512 - 40)
  }
}
