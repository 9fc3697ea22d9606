import TimeTypes

/// How many values a peripheral manager may still push to its subscribers: as many as there is room for on the way, given
/// back in batches, so that they do not keep an app busy by themselves, and no faster than a radio could take the values.
struct UpdateCredit: Sendable {
  private var isGranted = false
  /// Below zero where the app was pushing while it was given more.
  private var left = 0
  private var used = 0
  /// When what was used is given back; and before when it is not again.
  private(set) var deadline: Instant?
  private var notBefore = Instant.zero

  /// Returns whether it had none yet: the app is to be told of all of it.
  mutating func grant(_ whole: Int) -> Bool {
    guard !isGranted else { return false }
    isGranted = true
    used = 0
    left = whole
    return true
  }

  /// Returns `false` where the app pushes without credit. The library holds back when its credit is spent; what it may have
  /// said before it heard of a new one is let through.
  mutating func spend(at now: Instant, whole: Int) -> Bool {
    guard left > -whole else { return false }
    left -= 1
    used += 1
    if used >= whole / 2, deadline == nil { deadline = max(now, notBefore) }
    return true
  }

  /// What is given back now; `nil`: nothing is due.
  mutating func giveBack(at now: Instant, whole: Int, interval: Duration) -> Int? {
    guard let due = deadline, due <= now else { return nil }
    deadline = nil
    notBefore = now + interval
    let returned = min(used, whole)
    used = 0
    left = min(left + returned, whole)
    return returned
  }

  /// The app's process is gone: its next one is granted all anew.
  mutating func withdraw() {
    isGranted = false
    deadline = nil
  }
}
