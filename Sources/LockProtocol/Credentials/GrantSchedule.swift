/// The times at which a grant counts.
package struct GrantSchedule: Equatable, Sendable {
  /// From this second on, since 1970-01-01 UTC; `Int64.min` for any time.
  package var from: Int64
  /// Before this second; `Int64.max` for any time.
  package var until: Int64
  /// The weekdays on which it counts: bit 0 is Monday, bit 6 Sunday.
  package var weekdays: UInt8
  /// The part of such a day on which the grant counts, in minutes after midnight: from `start` on, and before `end`. If
  /// `end` is not later than `start`, the part ends at `end` on the following day.
  package var start: UInt16
  package var end: UInt16
  /// The time zone of weekdays and minutes, in minutes east of UTC: `offset` before `offsetChange`, and `laterOffset`
  /// from then on. `offsetChange` is in seconds since 1970-01-01 UTC.
  package var offset: Int16
  package var offsetChange: Int64
  package var laterOffset: Int16

  package static let everyDay: UInt8 = 0x7F
  private static let minutesPerDay: UInt16 = 1440
  /// From Bangkok's to Kiritimati's, and some more.
  private static let farthestOffset: Int16 = 18 * 60

  /// Always.
  package static var always: GrantSchedule {
    GrantSchedule(
      from: .min, until: .max, weekdays: everyDay, start: 0, end: minutesPerDay, offset: 0, offsetChange: .max,
      laterOffset: 0)
  }

  package init(
    from: Int64, until: Int64, weekdays: UInt8, start: UInt16, end: UInt16, offset: Int16, offsetChange: Int64,
    laterOffset: Int16
  ) {
    self.from = from
    self.until = until
    self.weekdays = weekdays
    self.start = start
    self.end = end
    self.offset = offset
    self.offsetChange = offsetChange
    self.laterOffset = laterOffset
  }

  static let byteCount = 8 + 8 + 1 + 2 + 2 + 2 + 8 + 2

  func write(to writer: inout ByteWriter) {
    writer.write(UInt64(bitPattern: from))
    writer.write(UInt64(bitPattern: until))
    writer.write(weekdays)
    writer.write(start)
    writer.write(end)
    writer.write(UInt16(bitPattern: offset))
    writer.write(UInt64(bitPattern: offsetChange))
    writer.write(UInt16(bitPattern: laterOffset))
  }

  init(reading reader: inout ByteReader) throws(LockMessageError) {
    from = Int64(bitPattern: reader.readUInt64())
    until = Int64(bitPattern: reader.readUInt64())
    weekdays = reader.readByte()
    start = reader.readUInt16()
    end = reader.readUInt16()
    offset = Int16(bitPattern: reader.readUInt16())
    offsetChange = Int64(bitPattern: reader.readUInt64())
    laterOffset = Int16(bitPattern: reader.readUInt16())
    guard weekdays & ~Self.everyDay == 0, start < Self.minutesPerDay, end <= Self.minutesPerDay,
      abs(Int(offset)) <= Int(Self.farthestOffset), abs(Int(laterOffset)) <= Int(Self.farthestOffset)
    else { throw .unknownValue }
  }

  /// Whether the lock needs the time to decide whether the grant counts.
  package var needsClock: Bool { from != .min || until != .max || !isEveryMoment }

  private var isEveryMoment: Bool { weekdays == Self.everyDay && start == 0 && end == Self.minutesPerDay }

  package enum Verdict: Equatable, Sendable { case counts, tooEarly, over, outsideHours }

  /// - Parameter unixSeconds: the time, which must be one that a clock can show.
  package func verdict(at unixSeconds: Int64) -> Verdict {
    if unixSeconds < from { return .tooEarly }
    if unixSeconds >= until { return .over }
    if isEveryMoment { return .counts }
    let local = unixSeconds + 60 * Int64(unixSeconds < offsetChange ? offset : laterOffset)
    let day = Self.floorDivide(local, 86_400)
    let minute = UInt16((local - day * 86_400) / 60)
    // 1970-01-01 was a Thursday.
    let weekday = Int(day + 3) - Int(Self.floorDivide(day + 3, 7)) * 7
    let isOn = { (weekday: Int) in weekdays >> UInt8((weekday + 7) % 7) & 1 == 1 }
    if start < end { return isOn(weekday) && minute >= start && minute < end ? .counts : .outsideHours }
    let counts = isOn(weekday) && minute >= start || isOn(weekday - 1) && minute < end
    return counts ? .counts : .outsideHours
  }

  /// The first verdict other than `counts` at any time in this range, which must be times that a clock can show.
  package func verdict(from earliest: Int64, through latest: Int64) -> Verdict {
    var time = earliest
    while true {
      let verdict = verdict(at: time)
      guard verdict == .counts, time < latest else { return verdict }
      // Hours are in whole minutes, so each gap in them lasts a minute or more, except where the offset changes.
      var next = min(time + 60, latest)
      for edge in [offsetChange == .min ? offsetChange : offsetChange - 1, offsetChange]
      where edge > time && edge < next {
        next = edge
        break
      }
      time = next
    }
  }

  private static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
    value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor)
  }
}
