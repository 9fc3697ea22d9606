import AppLink
import BlueZ
import BluetoothTypes
import TimeTypes

/// Counts links that break off within a second of coming up, one after the other. This happens when a peripheral has a
/// bond that this machine has lost, or the other way round: the peripheral ends each link at once, and comes back at
/// once. Five such links a second cost both sides energy as long as the two are near. So after ten of them in a row
/// there is a pause before each link, and apps are told of a link only when it has lasted.
///
/// The pauses are at most 32 s long, because the same may happen at the edge of the range, where somebody may be on
/// their way home.
struct BriefLinks: Sendable {
  /// Brief links in a row.
  private var count = 0
  /// Until when no link is to be made.
  private var restsUntil: Instant?
  /// When the present link will have lasted a moment. `nil` if that does not matter.
  private var lastsAt: Instant?

  /// A link that ends earlier than this is brief. Discovery and a first value over a good link take longer.
  static let moment: Duration = .seconds(1)
  /// Pauses begin after this many brief links in a row. At the edge of the range, a few are usual.
  static let limit = 10
  private static let rests = BackOff(first: .seconds(1), doublings: 5)

  /// There were so many brief links in a row that there is a pause before the next.
  var areMany: Bool { count >= Self.limit }
  func isResting(at now: Instant) -> Bool { restsUntil.map { now < $0 } ?? false }
  /// A link that came up has yet to show that it lasts.
  func isWatching(at now: Instant) -> Bool { lastsAt.map { now < $0 } ?? false }
  var deadline: Instant? { [restsUntil, lastsAt].compactMap(\.self).min() }

  mutating func linkCameUp(at now: Instant) {
    restsUntil = nil
    lastsAt = areMany ? now + Self.moment : nil
  }

  /// A link was lost that this machine did not end.
  /// - Parameter isWanted: an app wants the next link. Otherwise only the other side makes it, and a pause here
  ///   changes nothing.
  mutating func linkBrokeOff(since began: Instant, isWanted: Bool, at now: Instant) {
    lastsAt = nil
    count = now < began + Self.moment ? count + 1 : 0
    if areMany, isWanted { restsUntil = now + Self.rests.wait(afterFailures: count - Self.limit + 1) }
  }

  mutating func linkWasEnded() { lastsAt = nil }

  /// An app asks for the peripheral, so the pause ends, and later pauses are short again. While there are pauses, the
  /// app is told of no brief link that would make it ask by itself, so somebody must want something now.
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
  /// A link was lost that this machine did not end. If such links have become too many, there is a pause before the
  /// next.
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
