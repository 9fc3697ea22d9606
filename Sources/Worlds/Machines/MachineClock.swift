import TimeTypes

/// What another machine's clock on the wall says when ours says something else.
///
/// Each sample is a question and its answer: the other clock was read at some moment between. The shorter the time
/// between, the better the sample; but old samples lose worth, since clocks drift apart.
struct MachineClock: Sendable, Equatable {
  /// What the other clock is ahead of the world's time, in nanoseconds; off by at most half of `uncertainty`.
  private(set) var offset: Int64?
  /// Between the question and the answer of the best sample, in nanoseconds.
  private(set) var uncertainty: Int64 = 0
  private var taken = Instant.zero

  /// Clocks of machines differ by up to this much more each second; a drift of 500 ppm is already a bad clock, and a
  /// virtual machine without hardware help has worse.
  static let driftPerSecond: Int64 = 1_000_000

  /// The last moment that a clock may say, in Unix seconds: the year 2200. Beyond, nanoseconds have no room.
  static let lastUnixSecond: Int64 = 7_258_118_400

  /// - Returns: `nil` for a time before 1970 or after 2200.
  static func unixNanoseconds(microseconds: Int64) -> Int64? {
    (0...lastUnixSecond * 1_000_000).contains(microseconds) ? microseconds * 1000 : nil
  }

  init() {}

  /// - Parameters:
  ///   - asked: when we asked.
  ///   - answered: when the answer was there.
  ///   - reading: the other clock, in Unix nanoseconds.
  mutating func take(asked: Instant, answered: Instant, reading: Int64) {
    let width = max(0, (answered - asked).wholeNanoseconds)
    let age = max(0, (answered - taken).wholeNanoseconds) / 1_000_000_000
    if offset != nil, uncertainty + 2 * age * Self.driftPerSecond < width { return }
    offset = reading - (asked.nanoseconds + width / 2)
    uncertainty = width
    taken = answered
  }

  /// The world's time of what the other clock says; `nil` where nobody asked it yet.
  func instant(ofUnixNanoseconds reading: Int64) -> Instant? {
    offset.map { Instant(nanoseconds: reading - $0) }
  }
}
