/// A point in time: nanoseconds since the time source's zero. On a machine, zero is that of CLOCK_BOOTTIME; in a
/// simulated world it is the world's beginning.
package struct Instant: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  package let nanoseconds: Int64

  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  package static let zero = Instant(nanoseconds: 0)

  package static func + (instant: Instant, duration: Duration) -> Instant {
    Instant(nanoseconds: instant.nanoseconds + duration.wholeNanoseconds)
  }
  package static func - (instant: Instant, duration: Duration) -> Instant {
    Instant(nanoseconds: instant.nanoseconds - duration.wholeNanoseconds)
  }
  package static func - (later: Instant, earlier: Instant) -> Duration {
    .nanoseconds(later.nanoseconds - earlier.nanoseconds)
  }
  package static func += (instant: inout Instant, duration: Duration) { instant = instant + duration }
  package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

  /// Seconds with a fraction, for logs and reports.
  package var seconds: Double { Double(nanoseconds) / 1e9 }

  /// `4d 02:13:07.250`
  package var description: String {
    func pad(_ value: Int64, _ digits: Int) -> String {
      let text = String(value)
      return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
    let milliseconds = nanoseconds / 1_000_000
    let seconds = milliseconds / 1000
    return
      "\(seconds / 86400)d \(pad(seconds / 3600 % 24, 2)):\(pad(seconds / 60 % 60, 2)):\(pad(seconds % 60, 2)).\(pad(milliseconds % 1000, 3))"
  }
}

/// The earliest of the times given, of which each may be missing.
package struct Earliest: Sendable {
  package private(set) var instant: Instant?

  package init() {}

  package mutating func consider(_ time: Instant?) {
    guard let time else { return }
    instant = instant.map { min($0, time) } ?? time
  }
}

extension Duration {
  /// Whole nanoseconds. Fractions are cut off.
  package var wholeNanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
