import TimeTypes

/// When to retry a subscription that failed on a link: a few times, after ever longer pauses.
struct SubscriptionRetries {
  static let limit = 6
  private var failures = 0
  private(set) var due: Instant?

  /// Whether there are no more attempts on this link.
  var isExhausted: Bool { failures > Self.limit }

  mutating func linkBegan() { self = SubscriptionRetries() }

  mutating func failed(at now: Instant) {
    failures += 1
    // 1, 2, 4 … 32 s.
    due = isExhausted ? nil : now + .seconds(1 << min(failures - 1, 5))
  }

  /// Returns whether a retry is due, and clears it.
  mutating func takeDue(at now: Instant) -> Bool {
    guard let due, due <= now else { return false }
    self.due = nil
    return true
  }
}
