import Foundation

/// Dates and times as a person at this machine reads them.
package struct LocalClock: Sendable {
  private let calendar: Calendar

  package init(timeZone: TimeZone) {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = timeZone
    self.calendar = calendar
  }

  package static let utc = LocalClock(timeZone: .gmt)

  /// By this machine's time zone.
  package static let machine = LocalClock(timeZone: .current)

  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// `21 Nov 14:03`, and with the year if it is not this one.
  package func minute(_ unixSeconds: Double, now: Double) -> String { text(unixSeconds, now, withSeconds: false) }

  /// `21 Nov 14:03:09`
  package func second(_ unixSeconds: Double, now: Double) -> String { text(unixSeconds, now, withSeconds: true) }

  private func text(_ unixSeconds: Double, _ now: Double, withSeconds: Bool) -> String {
    guard let date = parts(unixSeconds), let day = date.day, let month = date.month, let year = date.year,
      let hour = date.hour, let minute = date.minute, let second = date.second
    else { return "an unknown time" }
    func pad(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let years = year == parts(now)?.year ? "" : " \(year)"
    return "\(day) \(Self.months[month - 1])\(years) \(pad(hour)):\(pad(minute))"
      + (withSeconds ? ":\(pad(second))" : "")
  }

  /// `nil` outside the years 0 to 9999.
  private func parts(_ unixSeconds: Double) -> DateComponents? {
    guard unixSeconds > -62_000_000_000, unixSeconds < 253_000_000_000 else { return nil }
    return calendar.dateComponents(
      [.year, .month, .day, .hour, .minute, .second], from: Date(timeIntervalSince1970: unixSeconds))
  }
}
