import Foundation
import Testing

@testable import MachinePresentation

@Suite("The time zone of an invitation")
struct InvitationZoneTests {
  /// 2026-01-01 00:00 UTC.
  private static let winter = Date(timeIntervalSince1970: 1_767_225_600)
  /// 2026-07-01 00:00 UTC.
  private static let summer = Date(timeIntervalSince1970: 1_782_864_000)

  private static func zone(_ name: String, from begin: Date) throws -> InvitationZone {
    InvitationZone(try #require(TimeZone(identifier: name)), from: begin)
  }

  @Test("L5: an invitation has the offset at its beginning, and the next change of the clock, in both directions")
  func nextChange() throws {
    let berlin = try Self.zone("Europe/Berlin", from: Self.winter)
    // 2026-03-29 01:00 UTC.
    #expect(berlin.offset == 60 && berlin.offsetChange == 1_774_746_000 && berlin.laterOffset == 120)
    let york = try Self.zone("America/New_York", from: Self.summer)
    // 2026-11-01 06:00 UTC.
    #expect(york.offset == -240 && york.offsetChange == 1_793_512_800 && york.laterOffset == -300)
    let kathmandu = try Self.zone("Asia/Kathmandu", from: Self.winter)
    #expect(kathmandu.offset == 345 && kathmandu.offsetChange == nil)
    #expect(kathmandu.warning(until: nil, clock: .utc, now: 0) == nil)
  }

  @Test("L5: the owner is told from when on hours are wrong: at the second change of the clock")
  func secondChange() throws {
    let now = Self.winter.timeIntervalSince1970
    let berlin = try Self.zone("Europe/Berlin", from: Self.winter)
    let early = try #require(berlin.warning(until: nil, clock: .utc, now: now))
    // Berlin's summer ends on 2026-10-25 at 01:00 UTC.
    #expect(early.hasPrefix("From 25 Oct 01:00 on, "), "\(early)")
    #expect(early.contains("days and hours 60 minutes too early"), "\(early)")
    #expect(berlin.warning(until: 1_792_890_000, clock: .utc, now: now) == nil, "it ends at that very second")
    #expect(berlin.warning(until: 1_792_890_001, clock: .utc, now: now) != nil)

    let york = try Self.zone("America/New_York", from: Self.summer)
    let late = try #require(york.warning(until: nil, clock: .utc, now: Self.summer.timeIntervalSince1970))
    // New York's summer begins on 2027-03-14 at 07:00 UTC.
    #expect(late.hasPrefix("From 14 Mar 2027 07:00 on, "), "\(late)")
    #expect(late.contains("days and hours 60 minutes too late"), "\(late)")
  }
}
