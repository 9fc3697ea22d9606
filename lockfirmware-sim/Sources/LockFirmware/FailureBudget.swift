/// How often centrals failed, and who must wait. A central that has opened the lock before is not slowed by
/// strangers: nobody can keep an owner out by failing on purpose.
struct FailureBudget: Sendable {
  private struct Entry: Sendable {
    var central: CentralIdentifier
    var count: Int
    var latest: Int64
    var blockedUntil: Int64
  }

  private var entries: [Entry] = []
  private var trusted: [CentralIdentifier] = []
  private var windowStart: Int64 = 0
  private var failuresInWindow = 0

  /// Until when this central must wait; `nil` if it need not.
  func blockedUntil(_ central: CentralIdentifier, at now: Int64) -> Int64? {
    if let entry = entries.first(where: { $0.central == central }), entry.blockedUntil > now {
      return entry.blockedUntil
    }
    let windowEnd = windowStart + LockLimit.windowMilliseconds
    if failuresInWindow >= LockLimit.failuresPerWindow, windowEnd > now, !trusted.contains(central) {
      return windowEnd
    }
    return nil
  }

  mutating func fail(_ central: CentralIdentifier, at now: Int64) {
    if now >= windowStart + LockLimit.windowMilliseconds {
      windowStart = now
      failuresInWindow = 0
    }
    failuresInWindow += 1
    var entry = Entry(central: central, count: 0, latest: now, blockedUntil: now)
    if let index = entries.firstIndex(where: { $0.central == central }) {
      entry = entries.remove(at: index)
    } else if entries.count == LockLimit.centralsWithFailures {
      // They stand in the order of their latest failure.
      entries.removeFirst()
    }
    // One failure every ten minutes is forgiven: it takes an unlucky phone, not an attacker, to be so slow.
    if now - entry.latest > 2 * LockLimit.longestWaitMilliseconds { entry.count = 0 }
    entry.count += 1
    entry.latest = now
    if entry.count >= LockLimit.freeFailures {
      let doublings = min(entry.count - LockLimit.freeFailures, 20)
      entry.blockedUntil = now + min(1000 << Int64(doublings), LockLimit.longestWaitMilliseconds)
    }
    entries.append(entry)
  }

  mutating func succeed(_ central: CentralIdentifier) {
    entries.removeAll { $0.central == central }
    trusted.removeAll { $0 == central }
    if trusted.count == LockLimit.centralsWithFailures { trusted.removeFirst() }
    trusted.append(central)
  }
}
