import TimeTypes

/// The time on a phone. Within one boot the boot-time clock is used, which can't be set. The calendar only bridges a
/// reboot.
package struct HomeTime: Sendable, Hashable {
  /// Identifies the machine's boot: `instant`s can be compared only within one boot.
  package var boot: String
  /// Time since that boot (in a simulated world: since the world began).
  package var instant: Instant
  /// Seconds since 1970-01-01 UTC. It may jump.
  package var unixSeconds: Double

  package init(boot: String, instant: Instant, unixSeconds: Double) {
    self.boot = boot
    self.instant = instant
    self.unixSeconds = unixSeconds
  }
}

extension HomeTime {
  /// What no clock ever shows: 100 years since a boot, or a calendar beyond the year 9999.
  private static let longestNanoseconds: Int64 = 100 * 366 * 86400 * 1_000_000_000
  private static let farthestUnixSeconds = 253_402_300_799.0

  /// Whether a clock can show it. A stored time that no clock can show is damage, and would overflow in calculations.
  package var isPossible: Bool {
    instant.nanoseconds.magnitudeClamped <= Self.longestNanoseconds && unixSeconds.isFinite
      && abs(unixSeconds) <= Self.farthestUnixSeconds
  }
}

extension Int64 {
  /// The magnitude, limited for the one value that has none.
  fileprivate var magnitudeClamped: Int64 { self == .min ? .max : Swift.abs(self) }
}

extension HomeTime {
  /// How long ago `earlier` was. Across a reboot the calendar is used, and the time since the boot is the minimum,
  /// whatever the calendar says.
  func duration(since earlier: HomeTime) -> Duration {
    if earlier.boot == boot { return instant - earlier.instant }
    return max(.seconds(unixSeconds - earlier.unixSeconds), instant - .zero)
  }

  static func start(ofBootAt time: HomeTime) -> HomeTime {
    HomeTime(boot: time.boot, instant: .zero, unixSeconds: time.unixSeconds - time.instant.seconds)
  }
}
