import TimeTypes

/// Converts between another machine's wall clock and ours.
///
/// Each sample is a question and its answer: the other clock was read at some moment in between. The shorter the time
/// between, the better the sample. But old samples become less useful, because clocks drift apart.
struct MachineClock: Sendable, Equatable {
  /// How far the other clock is ahead of the world's time, in nanoseconds; wrong by at most half of `uncertainty`.
  private(set) var offset: Int64?
  /// The time between the question and the answer of the best sample, in nanoseconds.
  private(set) var uncertainty: Int64 = 0
  private var taken = Instant.zero

  /// The most by which clocks of machines drift apart each second. A drift of 500 ppm is already a bad clock, and a
  /// virtual machine without hardware support has a worse one.
  static let driftPerSecond: Int64 = 1_000_000

  /// The latest time that a clock may show, in Unix seconds: the year 2200. Beyond it, nanoseconds would overflow.
  static let lastUnixSecond: Int64 = 7_258_118_400

  /// - Returns: `nil` for a time before 1970 or after 2200.
  static func unixNanoseconds(microseconds: Int64) -> Int64? {
    (0...lastUnixSecond * 1_000_000).contains(microseconds) ? microseconds * 1000 : nil
  }

  init() {}

  /// - Parameters:
  ///   - asked: when we asked.
  ///   - answered: when the answer arrived.
  ///   - reading: the other clock, in Unix nanoseconds.
  mutating func take(asked: Instant, answered: Instant, reading: Int64) {
    let width = max(0, (answered - asked).wholeNanoseconds)
    let age = max(0, (answered - taken).wholeNanoseconds) / 1_000_000_000
    if offset != nil, uncertainty + 2 * age * Self.driftPerSecond < width { return }
    offset = reading - (asked.nanoseconds + width / 2)
    uncertainty = width
    taken = answered
  }

  /// The world's time for a time on the other clock, or `nil` before the first sample.
  func instant(ofUnixNanoseconds reading: Int64) -> Instant? {
    offset.map { Instant(nanoseconds: reading - $0) }
  }
}
