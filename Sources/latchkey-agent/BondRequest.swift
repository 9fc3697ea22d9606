import TimeTypes

/// When to ask the lock for a bond: after an answer, once while this process runs, and again when the bond may be gone
/// on one side or both. Links that break off before the lock has answered, or soon after they came up, are a sign of
/// that. A request that fails is repeated on the next links, and later only after pauses, because a bond that can't be
/// made costs the link.
struct BondRequest {
  private var isAsked = false
  /// The bond was asked for on the present link, and there is no result yet.
  private var isPending = false
  /// Failed requests in a row.
  private var failures = 0
  private var notBefore = Instant.zero
  /// When the present link came up.
  private var linkBegan: Instant?
  private var hasAnswered = false
  /// Links in a row that ended before the lock had answered, or within `brief`.
  private var poorLinks = 0

  /// After this many failed requests in a row, there are pauses.
  static let tries = 3
  static let poorLimit = 3
  /// A link that ends within this time is brief. A peripheral that has lost its bond ends a link within a second; a
  /// slow one takes a few more.
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

  /// The lock has answered. Returns whether to ask for a bond now, and counts it as asked for.
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

  /// The link was lost; this phone did not end it.
  mutating func linkEnded(at now: Instant) {
    guard let began = linkBegan else { return }
    linkBegan = nil
    if isPending { ended(isSuccess: false, at: now) }
    let isPoor = !hasAnswered || now < began + Self.brief
    poorLinks = isPoor ? poorLinks + 1 : 0
    if poorLinks >= Self.poorLimit, now >= notBefore { isAsked = false }
  }
}
