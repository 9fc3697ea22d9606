import Foundation

/// The time zone in which a lock reckons the weekdays and hours of an invitation. A grant has room for one change of the clock, so a
/// zone that changes again is another one from then on.
package struct InvitationZone: Equatable, Sendable {
  /// Minutes east of UTC when the invitation begins.
  package private(set) var offset: Int16
  /// From this second on, since 1970-01-01 UTC, `laterOffset` counts. `nil` in a zone whose clock does not change any more.
  package private(set) var offsetChange: Int64?
  package private(set) var laterOffset: Int16?
  /// The change for which a grant has no room, and the minutes by which the lock is wrong about hours from then on: positive if it
  /// takes them too early.
  package private(set) var unknownChange: UnknownChange?

  package struct UnknownChange: Equatable, Sendable {
    package var at: Int64
    package var minutesTooEarly: Int
  }

  /// How many transitions of a zone may leave what its clock shows as it was.
  private static let transitionLimit = 16

  package init(_ zone: TimeZone, from begin: Date) {
    offset = Self.offset(of: zone, at: begin)
    guard let change = Self.change(of: zone, after: begin) else { return }
    let later = Self.offset(of: zone, at: change)
    offsetChange = Int64(change.timeIntervalSince1970)
    laterOffset = later
    guard let next = Self.change(of: zone, after: change) else { return }
    unknownChange = UnknownChange(
      at: Int64(next.timeIntervalSince1970), minutesTooEarly: Int(later) - Int(Self.offset(of: zone, at: next)))
  }

  /// What the owner should know about an invitation for some weekdays or hours.
  /// - Parameter until: when the invitation ends, or `nil` if it does not.
  package func warning(until: Int64?, clock: LocalClock, now: Double) -> String? {
    guard let unknownChange, unknownChange.at < until ?? .max else { return nil }
    let minutes = abs(unknownChange.minutesTooEarly)
    let direction = unknownChange.minutesTooEarly > 0 ? "early" : "late"
    let moment = clock.minute(Double(unknownChange.at), now: now)
    return
      "From \(moment) on, the lock takes these days and hours \(minutes) minutes too \(direction), because an invitation has "
      + "room for one change of the clock. Invite anew by then, or let this one end with --until."
  }

  private static func offset(of zone: TimeZone, at date: Date) -> Int16 {
    // A second later, because the second of a change may count as before it.
    Int16(clamping: zone.secondsFromGMT(for: date.addingTimeInterval(1)) / 60)
  }

  /// The next change of what the clock shows.
  private static func change(of zone: TimeZone, after begin: Date) -> Date? {
    var date = begin
    for _ in 0..<transitionLimit {
      guard let next = zone.nextDaylightSavingTimeTransition(after: date), next > date else { return nil }
      if offset(of: zone, at: next) != offset(of: zone, at: begin) { return next }
      date = next
    }
    return nil
  }
}
