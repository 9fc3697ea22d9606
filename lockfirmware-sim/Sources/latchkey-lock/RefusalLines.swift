/// Limits how many refusals are journaled, because anyone can write to a lock as often as the radio allows. A few at
/// a time get a line each; the next line says how many were left out since.
struct RefusalLines {
  /// How many lines may come at once.
  static let burst = 20
  /// How long until another line is allowed, in milliseconds.
  static let refillMilliseconds: Int64 = 10_000

  private var left = burst
  private var refilledAt: Int64 = 0
  private var untold = 0

  /// Reports one refusal.
  /// - Returns: how many were left out before it if this one may be journaled, otherwise `nil`.
  mutating func tell(at milliseconds: Int64) -> Int? {
    let steps = max(0, (milliseconds - refilledAt) / Self.refillMilliseconds)
    if steps > 0 {
      left = Int(min(Int64(left) + steps, Int64(Self.burst)))
      refilledAt += steps * Self.refillMilliseconds
    }
    guard left > 0 else {
      untold += 1
      return nil
    }
    left -= 1
    defer { untold = 0 }
    return untold
  }
}
