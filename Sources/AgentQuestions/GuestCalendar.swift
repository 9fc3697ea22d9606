/// Weekdays and hours of an invitation, as people write them.
package enum GuestCalendar {
  package static let weekdayExamples = ["mon-fri", "sat,sun"]
  package static let hourExamples = ["08:00-17:30", "22:00-06:00"]

  private static let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

  /// - Parameter text: `mon-fri`, or `sat,sun`.
  /// - Returns: the days, of which bit 0 is Monday, or `nil` if the text names no weekdays.
  package static func weekdays(_ text: String) -> UInt8? {
    var days: UInt8 = 0
    for part in text.lowercased().split(separator: ",", omittingEmptySubsequences: false) {
      let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { names.firstIndex(of: String($0)) }
      guard ends.count <= 2, let first = ends.first ?? nil, let last = ends.last ?? nil else { return nil }
      var day = first
      while true {
        days |= 1 << UInt8(day)
        if day == last { break }
        day = (day + 1) % 7
      }
    }
    return days
  }

  /// - Parameter text: `08:00-17:30`.
  /// - Returns: minutes after midnight, or `nil` if the text names no hours. From a time until the same time is none, though for a lock
  ///   it is the whole day: who writes that may mean no time at all.
  package static func hours(_ text: String) -> (start: UInt16, end: UInt16)? {
    let ends = text.split(separator: "-", omittingEmptySubsequences: false).map(minute)
    guard ends.count == 2, let start = ends[0], let end = ends[1], start < 1440, start != end else { return nil }
    return (start, end)
  }

  private static func minute(_ text: Substring) -> UInt16? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { UInt16($0) }
    guard parts.count == 2, let hour = parts[0], let minute = parts[1], minute < 60,
      hour < 24 || (hour == 24 && minute == 0)
    else { return nil }
    return hour * 60 + minute
  }
}
