import TimeTypes

/// How fast one process of an app is told events.
///
/// What an app asks of its system, without the radio, is answered at once. An app that asks again at each answer, such as one that reads
/// the signal whenever it has read it, would keep the home's time from passing for ever. On a computer each answer takes a while. So it
/// does here, if an app is told very much at one instant.
struct EventPace {
  /// How many events may come at once, and how long one takes that comes after them.
  static let burst = 1000
  static let interval = Duration.milliseconds(2)

  /// When everything that was told so far would have been told, if each event took its time.
  private var end = Instant.zero

  /// When the next event is due.
  var deadline: Instant { end - Self.interval * Self.burst }

  /// Whether an event is due now, which then counts as told.
  mutating func takes(at now: Instant) -> Bool {
    guard deadline <= now else { return false }
    end = max(end, now) + Self.interval
    return true
  }
}
