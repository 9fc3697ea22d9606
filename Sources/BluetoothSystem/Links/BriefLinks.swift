import AppLink
import BlueZ
import BluetoothTypes
import TimeTypes

/// Links that break off within a moment of coming up, one after the other. A peripheral that holds a bond which this machine has
/// lost, or the other way round, ends each link at once and is there again at once: five links a second, each of which costs both
/// sides energy, for as long as the two are near. So after many of them a pause is made before each, and apps are told of a link when it has lasted.
///
/// The pauses stay short because the same may happen at the edge of the range, where somebody may be on their way home.
struct BriefLinks: Sendable {
  /// In a row.
  private var count = 0
  /// Until when no link is to be made.
  private var restsUntil: Instant?
  /// When the link of now will have lasted longer than a moment, if that matters.
  private var lastsAt: Instant?

  /// Discovery and a first value over a good link take longer.
  static let moment: Duration = .seconds(1)
  /// At the edge of the range, a few in a row are usual.
  static let limit = 10
  private static let rests = BackOff(first: .seconds(1), doublings: 5)

  /// So many that pauses are made.
  var areMany: Bool { count >= Self.limit }
  func isResting(at now: Instant) -> Bool { restsUntil.map { now < $0 } ?? false }
  /// A link that came up has yet to show that it lasts.
  func isWatching(at now: Instant) -> Bool { lastsAt.map { now < $0 } ?? false }
  var deadline: Instant? { [restsUntil, lastsAt].compactMap(\.self).min() }

  mutating func linkCameUp(at now: Instant) {
    restsUntil = nil
    lastsAt = areMany ? now + Self.moment : nil
  }

  /// A link was lost, and not by anybody's decision here.
  /// - Parameter isWanted: an app wants the next one. Otherwise the other side makes it when it likes.
  mutating func linkBrokeOff(since began: Instant, isWanted: Bool, at now: Instant) {
    lastsAt = nil
    count = now < began + Self.moment ? count + 1 : 0
    if areMany, isWanted { restsUntil = now + Self.rests.wait(afterFailures: count - Self.limit + 1) }
  }

  mutating func linkWasEnded() { lastsAt = nil }

  /// An app asks for the peripheral. It does so when somebody wants something, and while pauses are made it hears of no link
  /// after which it would ask again by itself. So the pause ends, and those that follow are short again.
  mutating func isAskedAnew() {
    restsUntil = nil
    count = min(count, Self.limit)
  }

  mutating func passTime(at now: Instant) {
    if let until = restsUntil, until <= now { restsUntil = nil }
    guard let lasts = lastsAt, lasts <= now else { return }
    lastsAt = nil
    count = 0
  }
}

extension BluetoothSystem {
  /// A link was lost, and not by anybody's decision here. If such links have become too many, a pause is made before the next.
  mutating func noteBriefLink(_ peer: PeerIdentifier, since began: Instant, isBonded: Bool) {
    let wereMany = links[peer]?.brief.areMany == true
    let isWanted = isWanted(peer)
    links[peer]?.brief.linkBrokeOff(since: began, isWanted: isWanted, at: now)
    guard links[peer]?.brief.isResting(at: now) == true else { return }
    // The kernel would connect a device on the accept list at once.
    dropLink(peer)
    guard !wereMany, !isBonded else { return }
    journal(
      .linksBrief,
      [
        .peripheral: peer.uuidString,
        .advice: "The device may hold a pairing that this machine has lost: let the device forget it. "
          + "A lock forgets it while its window for enrolments is open.",
      ])
  }
}
