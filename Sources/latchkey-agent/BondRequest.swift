import TimeTypes

/// When to ask the lock for a bond: after an answer, once for as long as this process runs, and again when the bond may be gone, on one
/// side or both. What tells is that links break off, before the lock has answered or soon after. What has failed is tried on the next links as
/// well, and then after pauses, since a bond that can't be made costs the link.
struct BondRequest {
  private var isAsked = false
  /// It was asked on the link of now, and there is no result.
  private var isPending = false
  /// In a row.
  private var failures = 0
  private var notBefore = Instant.zero
  /// When the link of now came up.
  private var linkBegan: Instant?
  private var hasAnswered = false
  /// Links in a row that ended before the lock had answered, or within `brief`.
  private var poorLinks = 0

  /// Tries on links in a row, before pauses are made.
  static let tries = 3
  static let poorLimit = 3
  /// The peripheral of a lost bond ends a link within a second. A slow one takes a few more.
  static let brief: Duration = .seconds(5)
  static let firstPause: Duration = .seconds(60)
  /// The longest pause is about an hour.
  private static let doublings = 6

  mutating func linkBegan(at now: Instant) {
    linkBegan = now
    hasAnswered = false
    isPending = false
    if failures > 0, now >= notBefore { isAsked = false }
  }

  /// The lock has answered. Whether to ask now; from then on it has been asked.
  mutating func take() -> Bool {
    hasAnswered = true
    defer { isAsked = true }
    isPending = isPending || !isAsked
    return !isAsked
  }

  /// - Parameter isSuccess: the lock's bluetoothd has encrypted the link, so there is a bond.
  mutating func ended(isSuccess: Bool, at now: Instant) {
    isPending = false
    guard !isSuccess else {
      failures = 0
      return
    }
    failures += 1
    guard failures >= Self.tries else { return }
    notBefore = now + Self.firstPause * (1 << min(failures - Self.tries, Self.doublings))
  }

  /// The link was lost, and not ended from here.
  mutating func linkEnded(at now: Instant) {
    guard let began = linkBegan else { return }
    linkBegan = nil
    if isPending { ended(isSuccess: false, at: now) }
    let isPoor = !hasAnswered || now < began + Self.brief
    poorLinks = isPoor ? poorLinks + 1 : 0
    if poorLinks >= Self.poorLimit, now >= notBefore { isAsked = false }
  }
}
