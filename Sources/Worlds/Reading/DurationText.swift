import TimeTypes

/// Durations as people write them: `250ms`, `10s`, `5min`, `2h`, `1.5d`.
package enum DurationText {
  /// Longest first, so that `ms` is not read as `s`.
  static let units: [(suffix: String, nanoseconds: Double)] = [
    ("min", 60e9), ("ms", 1e6), ("s", 1e9), ("h", 3600e9), ("d", 86400e9),
  ]

  /// A decimal number as people write it, `2`, `1.5` or `-3e2`. `nil` for any other text, such as `0x10` or `nan`.
  package static func number(_ text: some StringProtocol) -> Double? {
    let allowed = text.utf8.allSatisfy { byte in
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || ".+-eE".utf8.contains(byte)
    }
    guard allowed, let value = Double(text), value.isFinite else { return nil }
    return value
  }

  /// The most days that a duration can have: 100 years.
  package static let maximumDays = 36500

  /// A duration from 0 to 100 years, or `nil` if the text isn't a duration.
  package static func parse(_ text: String) -> Duration? {
    guard !isTooLong(text), let total = nanoseconds(text) else { return nil }
    return .nanoseconds(Int64(total.rounded()))
  }

  /// Whether it is written like a duration, and is longer than one can be.
  package static func isTooLong(_ text: String) -> Bool {
    nanoseconds(text).map { $0 > Double(maximumDays) * 86400e9 } ?? false
  }

  private static func nanoseconds(_ text: String) -> Double? {
    for (suffix, nanoseconds) in units where text.hasSuffix(suffix) {
      let digits = text.dropLast(suffix.count)
      guard let last = digits.last, last.isNumber || last == " ",
        let value = number(digits.hasSuffix(" ") ? digits.dropLast() : digits), value >= 0
      else { return nil }
      return value * nanoseconds
    }
    return nil
  }

  package static func format(_ duration: Duration) -> String {
    let seconds = Double(duration.wholeNanoseconds) / 1e9
    let (value, unit) =
      switch seconds {
      case ..<1: (seconds * 1000, "ms")
      case ..<120: (seconds, "s")
      case ..<7200: (seconds / 60, "min")
      case ..<172_800: (seconds / 3600, "h")
      default: (seconds / 86400, "d")
      }
    let rounded = (value * 10).rounded() / 10
    return (rounded == rounded.rounded() ? String(Int64(rounded)) : String(rounded)) + " " + unit
  }
}
