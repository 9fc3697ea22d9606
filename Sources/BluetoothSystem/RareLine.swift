import TimeTypes

/// Limits the journal's lines about what strangers do, so that a stranger that comes again and again can't fill the
/// journal.
struct RareLine: Sendable {
  private var untold = 0
  private var next: Instant?

  /// There is at most one line in this time.
  static let interval: Duration = .seconds(600)

  /// - Returns: how many events were left out since the last line, or `nil` if this one is left out as well.
  mutating func tell(at now: Instant) -> Int? {
    if let next, now < next {
      untold += 1
      return nil
    }
    defer { untold = 0 }
    next = now + Self.interval
    return untold
  }
}
