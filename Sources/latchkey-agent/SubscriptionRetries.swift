import TimeTypes

/// When a subscription that failed on a link is tried again: a few times, ever later.
struct SubscriptionRetries {
  static let limit = 6
  private var failures = 0
  private(set) var due: Instant?

  /// There are no more tries on this link.
  var isExhausted: Bool { failures > Self.limit }

  mutating func linkBegan() { self = SubscriptionRetries() }

  mutating func failed(at now: Instant) {
    failures += 1
    // 1, 2, 4 … 32 s.
    due = isExhausted ? nil : now + .seconds(1 << min(failures - 1, 5))
  }

  /// Whether it is time; then it is no longer.
  mutating func takeDue(at now: Instant) -> Bool {
    guard let due, due <= now else { return false }
    self.due = nil
    return true
  }
}
