import TimeTypes

/// The time as a phone has it. Within one boot the boot-time clock decides, which nobody can step; the calendar only
/// bridges a reboot.
package struct HomeTime: Sendable, Hashable {
  /// Which boot of the machine this is: `instant`s compare only within one.
  package var boot: String
  /// Time since that boot (in a simulated world: since the world began).
  package var instant: Instant
  /// Seconds since 1970-01-01 UTC; it may step.
  package var unixSeconds: Double

  package init(boot: String, instant: Instant, unixSeconds: Double) {
    self.boot = boot
    self.instant = instant
    self.unixSeconds = unixSeconds
  }
}

extension HomeTime {
  /// What no clock has ever shown: 100 years since a boot, or a calendar beyond the year 9999.
  private static let longestNanoseconds: Int64 = 100 * 366 * 86400 * 1_000_000_000
  private static let farthestUnixSeconds = 253_402_300_799.0

  /// Whether a clock can show it. A stored time that no clock shows is damage, and would overflow what is computed with
  /// it.
  package var isPossible: Bool {
    instant.nanoseconds.magnitudeClamped <= Self.longestNanoseconds && unixSeconds.isFinite
      && abs(unixSeconds) <= Self.farthestUnixSeconds
  }
}

extension Int64 {
  /// The magnitude, without the one value that has none.
  fileprivate var magnitudeClamped: Int64 { self == .min ? .max : Swift.abs(self) }
}

extension HomeTime {
  /// How long ago `earlier` was. Over a reboot the calendar has to do, and the time since the boot is the least it can
  /// be, wherever the calendar has been stepped to.
  func duration(since earlier: HomeTime) -> Duration {
    if earlier.boot == boot { return instant - earlier.instant }
    return max(.seconds(unixSeconds - earlier.unixSeconds), instant - .zero)
  }

  static func start(ofBootAt time: HomeTime) -> HomeTime {
    HomeTime(boot: time.boot, instant: .zero, unixSeconds: time.unixSeconds - time.instant.seconds)
  }
}
