import TimeTypes

/// How many values a peripheral manager may still push to its subscribers. The credit is limited by the room on the
/// way. It is returned in batches, so that returning it does not keep an app busy, and no faster than a radio could
/// take the values.
struct UpdateCredit: Sendable {
  private var isGranted = false
  /// Below zero if the app pushed values just before it received new credit.
  private var left = 0
  private var used = 0
  /// When spent credit is returned.
  private var due: Instant?
  var deadline: Instant? { isPaused ? nil : due }
  /// Values wait for a link that is coming up, so no credit is returned.
  private var isPaused = false
  /// The earliest time for the next return.
  private var notBefore = Instant.zero

  /// Returns whether this grants the first credit, which the app is to be told of.
  mutating func grant(_ whole: Int) -> Bool {
    guard !isGranted else { return false }
    isGranted = true
    used = 0
    left = whole
    return true
  }

  /// Returns `false` if the app pushes far beyond its credit. The library waits when its credit is spent. What it
  /// sent before it heard of a new grant is let through.
  mutating func spend(at now: Instant, whole: Int) -> Bool {
    guard left > -whole else { return false }
    left -= 1
    used += 1
    if used >= whole / 2, due == nil { due = max(now, notBefore) }
    return true
  }

  mutating func pause(_ isPaused: Bool) { self.isPaused = isPaused }

  /// The credit to return now, or `nil` if none is due.
  mutating func giveBack(at now: Instant, whole: Int, interval: Duration) -> Int? {
    guard let deadline, deadline <= now else { return nil }
    due = nil
    notBefore = now + interval
    let returned = min(used, whole)
    used = 0
    left = min(left + returned, whole)
    return returned
  }

  /// The app's process has ended. The next one gets a whole new grant.
  mutating func withdraw() {
    isGranted = false
    due = nil
  }
}
