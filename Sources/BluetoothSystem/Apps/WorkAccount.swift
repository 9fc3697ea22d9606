import TimeTypes

/// How much an app in the background is at work: it is, while it has not handled everything that it was told (W2).
///
/// An app may be told things all day. If it handles them quickly, it has time left between them, and this makes up for
/// its work. An app that is always at work uses up its limit, however often it is told something.
struct WorkAccount: Sendable, Hashable {
  /// Work that no rest has made up for.
  private var owed: Duration = .zero
  private var isAtWork = false
  private var since = Instant.zero

  /// Each second of rest makes up for this many seconds of work. With 4, an app may be at work four fifths of the time.
  static let worthOfRest = 4
  /// How many wake budgets of work an app may owe.
  static let budgets = 6

  mutating func beginWork(at now: Instant) {
    guard !isAtWork else { return }
    owed = max(.zero, owed - (now - since) * Self.worthOfRest)
    (isAtWork, since) = (true, now)
  }

  mutating func endWork(at now: Instant) {
    guard isAtWork else { return }
    owed += now - since
    (isAtWork, since) = (false, now)
  }

  /// When an app that stays at work will have worked too much. `nil` while it rests.
  func exhausted(budget: Duration) -> Instant? { isAtWork ? since + max(.zero, budget * Self.budgets - owed) : nil }
}
