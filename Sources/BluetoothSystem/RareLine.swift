import TimeTypes

/// Limits the journal's lines about what strangers do: who comes again and again fills no journal.
struct RareLine: Sendable {
  private var untold = 0
  private var next: Instant?

  /// One line in this time.
  static let interval: Duration = .seconds(600)

  /// - Returns: how often it happened untold since the last line, or `nil` if there is to be no line now.
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
