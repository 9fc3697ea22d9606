import Glibc

/// Dates and times as a person at this machine reads them.
package struct LocalClock: Sendable {
  /// How far local time is ahead of UTC at a time, in seconds.
  private let offsetSeconds: @Sendable (Double) -> Int

  package init(offsetSeconds: @escaping @Sendable (Double) -> Int) { self.offsetSeconds = offsetSeconds }

  package static let utc = LocalClock { _ in 0 }

  /// By this machine's time zone.
  package static let machine = LocalClock { unixSeconds in
    var seconds = time_t(unixSeconds)
    var local = tm()
    return localtime_r(&seconds, &local) == nil ? 0 : Int(local.tm_gmtoff)
  }

  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// `21 Nov 14:03`, and with the year if it is not this one.
  package func minute(_ unixSeconds: Double, now: Double) -> String { text(unixSeconds, now, withSeconds: false) }

  /// `21 Nov 14:03:09`
  package func second(_ unixSeconds: Double, now: Double) -> String { text(unixSeconds, now, withSeconds: true) }

  private func text(_ unixSeconds: Double, _ now: Double, withSeconds: Bool) -> String {
    guard let date = date(unixSeconds) else { return "an unknown time" }
    func pad(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let year = date.year == self.date(now)?.year ? "" : " \(date.year)"
    let seconds = withSeconds ? ":" + pad(date.second % 60) : ""
    return "\(date.day) \(Self.months[date.month - 1])\(year) "
      + "\(pad(date.second / 3600)):\(pad(date.second / 60 % 60))\(seconds)"
  }

  /// The date of the Gregorian calendar, and the second of the day. `nil` outside the years 0 to 9999.
  private func date(_ unixSeconds: Double) -> (year: Int, month: Int, day: Int, second: Int)? {
    guard unixSeconds > -62_000_000_000, unixSeconds < 253_000_000_000 else { return nil }
    let local = Int(unixSeconds.rounded(.down)) + offsetSeconds(unixSeconds)
    var days = local / 86400
    if local % 86400 < 0 { days -= 1 }
    let second = local - days * 86400
    // Months and years are counted from 1 March, so that the leap day is a year's last.
    let sinceMarch = days + 719_468
    let era = sinceMarch / 146_097
    let dayOfEra = sinceMarch - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day, second)
  }
}
