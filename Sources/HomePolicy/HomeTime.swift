import TimeTypes

/// The time as a phone has it. Within one boot the boot-time clock decides, which nobody can step; the calendar only
/// bridges a reboot.
public struct HomeTime: Sendable, Hashable {
  /// Which boot of the machine this is: `instant`s compare only within one.
  public var boot: String
  /// Time since that boot (in a simulated world: since the world began).
  public var instant: Instant
  /// Seconds since 1970-01-01 UTC; it may step.
  public var unixSeconds: Double

  public init(boot: String, instant: Instant, unixSeconds: Double) {
    self.boot = boot
    self.instant = instant
    self.unixSeconds = unixSeconds
  }
}

extension HomeTime: Codable {
  /// What no clock has ever shown: 100 years since a boot, or a calendar beyond the year 9999.
  private static let longestNanoseconds: Int64 = 100 * 366 * 86400 * 1_000_000_000
  private static let farthestUnixSeconds = 253_402_300_799.0

  private enum CodingKeys: CodingKey { case boot, instant, unixSeconds }

  /// Reads what was stored. A time that no clock shows is damage, and would overflow what is computed with it.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    boot = try values.decode(String.self, forKey: .boot)
    instant = try values.decode(Instant.self, forKey: .instant)
    unixSeconds = try values.decode(Double.self, forKey: .unixSeconds)
    guard instant.nanoseconds.magnitudeClamped <= Self.longestNanoseconds,
      unixSeconds.isFinite, abs(unixSeconds) <= Self.farthestUnixSeconds
    else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "no clock shows this time"))
    }
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
