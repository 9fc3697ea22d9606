/// How many refusals the journal is told of: anybody can write to a lock as often as the radio carries it. A few at a time
/// are each a line; of the rest the next line says how many there were.
struct RefusalLines {
  /// Lines that may come at once.
  static let burst = 20
  /// How long until there may be one more, in milliseconds.
  static let refillMilliseconds: Int64 = 10_000

  private var left = burst
  private var refilledAt: Int64 = 0
  private var untold = 0

  /// One refusal.
  /// - Returns: how many went untold before it, where this one may be told; `nil` where it may not.
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
