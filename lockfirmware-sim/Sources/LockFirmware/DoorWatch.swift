import LockProtocol

/// What the door's sensor shows about who is here. Leaving and coming home both open the door.
///
/// The sensor does not show who goes through the door, but the phones' links do. A phone that came and had the bolt
/// unlocked comes in. A phone whose link is lost before the door has come to rest may be leaving. A phone that is still
/// linked at that time has stayed. After the door has opened, nothing more is known of a phone without a link.
/// docs/arrival.md has the rules.
package struct DoorWatch: Sendable {
  /// Where a phone's owner is.
  package enum Whereabouts: Equatable, Sendable {
    /// The sensor shows nothing about it.
    case unknown
    /// It came in, and has not left through the door since.
    case inside
    /// The door opened, and the link was lost soon after.
    case left
  }

  private struct Known: Sendable {
    var phone: [UInt8]
    var whereabouts: Whereabouts
    /// The door has opened while this phone was linked. The loss of the link will show where it is.
    var isUndecided = false
    /// The door has opened while this phone was not linked. Nothing is known any more, unless its link comes up soon.
    var isForgotten = false
    /// It counts as inside only because it may be the phone that had to make room (`hasForgottenSomebody`).
    var isPresumed = false
    /// When it came home and had the bolt unlocked, or found it unlocked. `nil` once the door has opened.
    var cameAt: Int64?
  }

  /// How long the door must rest before a phone that is still linked counts as having stayed, in milliseconds. A person
  /// who goes out is out of range by then.
  package static let restMilliseconds: Int64 = 600_000
  /// How long after the door opened the link of the person who opened it may come up, in milliseconds.
  package static let lateMilliseconds: Int64 = 60_000
  /// How long the door may keep moving before its sensor is no longer believed, in milliseconds: it flutters, or the house
  /// is full of guests.
  package static let unrestLimitMilliseconds: Int64 = 3_600_000

  /// Whether this door is the only way out.
  private let isOnlyWay: Bool
  private var door: DoorState
  private var movedAt: Int64?
  private var openedAt: Int64?
  /// Since when the door has not come to rest.
  private var restlessSince: Int64 = 0
  /// When a phone had the bolt unlocked, if the door has not opened since.
  private var unlockedAt: Int64?
  private var known: [Known] = []
  /// A phone that may be inside had to make room. Until the door opens again, any phone that is not known may be that one.
  private var hasForgottenSomebody = false
  /// The most phones in `known`.
  private let limit: Int
  /// How many phones are in `known`.
  package var knownCount: Int { known.count }

  package init(isOnlyWay: Bool, door: DoorState, limit: Int = 128) {
    self.isOnlyWay = isOnlyWay
    self.door = door
    self.limit = limit
  }

  /// - Parameter linked: the phones that have a link.
  package mutating func moved(to state: DoorState, beside linked: [[UInt8]], at now: Int64) {
    guard isOnlyWay, state != door else { return }
    door = state
    if !isRestless(at: now) { restlessSince = now }
    movedAt = now
    guard state == .open else { return }
    openedAt = now
    unlockedAt = nil
    for index in known.indices { known[index].isForgotten = true }
    // From now on, something is known only of phones that are linked.
    let mayBeInside = hasForgottenSomebody
    hasForgottenSomebody = false
    // A phone may have more than one link.
    for phone in linked {
      let index = index(of: phone, mayBeInside: mayBeInside)
      guard known[index].isForgotten else { continue }
      let comesIn = known[index].cameAt.map { now - $0 <= Self.restMilliseconds } ?? false
      known[index].cameAt = nil
      if comesIn {
        known[index].isForgotten = false
        known[index].isPresumed = false
        known[index].whereabouts = .inside
      } else {
        isBesideOpening(index)
      }
    }
  }

  /// A phone that was inside stays inside until its link is lost. One that had left may have come in with a key.
  private mutating func isBesideOpening(_ index: Int) {
    known[index].isForgotten = false
    known[index].isPresumed = false
    known[index].isUndecided = true
    if known[index].whereabouts == .left { known[index].whereabouts = .unknown }
  }

  private mutating func index(of phone: [UInt8]) -> Int { index(of: phone, mayBeInside: hasForgottenSomebody) }

  private mutating func index(of phone: [UInt8], mayBeInside: Bool) -> Int {
    if let index = known.firstIndex(where: { $0.phone == phone }) { return index }
    if known.count >= limit { makeRoom() }
    known.append(
      Known(
        phone: phone, whereabouts: mayBeInside ? .inside : .unknown, isForgotten: !mayBeInside, isPresumed: mayBeInside)
    )
    return known.count - 1
  }

  /// Forgets the phone of which the least is known, and among equals the oldest. If that phone may be inside, no
  /// unknown phone is believed to be outside until the door opens again, and owners are asked.
  private mutating func makeRoom() {
    if let nothing = known.firstIndex(where: { $0.isForgotten && $0.cameAt == nil }) {
      known.remove(at: nothing)
      return
    }
    let little = known.firstIndex { ($0.whereabouts == .unknown || $0.isPresumed) && !$0.isUndecided }
    // A forgotten phone that had left is believed less afterwards: it then needs to be seen on its way home.
    let left = known.firstIndex { $0.whereabouts == .left && !$0.isUndecided && $0.cameAt == nil }
    let forgotten = known.remove(at: little ?? left ?? 0)
    if forgotten.whereabouts == .inside || forgotten.isUndecided || forgotten.cameAt != nil {
      hasForgottenSomebody = true
    }
  }

  /// A phone has proven itself. It counts as linked when the door opened if its link came up before that or soon after: a
  /// person who comes from a room without reception is at the door before the link is up.
  package mutating func proven(_ phone: [UInt8], linkedSince: Int64) {
    guard let openedAt, linkedSince <= openedAt + Self.lateMilliseconds else { return }
    let index = index(of: phone)
    if known[index].isForgotten { isBesideOpening(index) }
  }

  /// A phone had the bolt unlocked, and it moved. If the door does not open then, its sensor is broken.
  package mutating func unlocked(at now: Int64) { if door == .closed { unlockedAt = now } }

  /// A phone has the bolt unlocked, or finds it unlocked.
  /// - Parameter isOnApproach: whether its owner was seen to come. A command may come from an owner who wants to go out.
  package mutating func comes(_ phone: [UInt8], isOnApproach: Bool, at now: Int64) {
    guard isOnlyWay else { return }
    let index = index(of: phone)
    switch whereabouts(of: phone, at: now) {
    case .left: known[index].cameAt = now
    case .unknown: if isOnApproach { known[index].cameAt = now }
    case .inside: break
    }
  }

  /// The last link of this phone was lost just now.
  package mutating func linkLost(_ phone: [UInt8], at now: Int64) {
    guard let index = known.firstIndex(where: { $0.phone == phone }) else { return }
    guard isBelieved(at: now) else { return forget(phone) }
    known[index].cameAt = nil
    guard known[index].isUndecided, !known[index].isForgotten else { return }
    known[index].isUndecided = false
    // People come and go unseen through a door that stands open.
    known[index].whereabouts = isRestless(at: now) ? .left : door == .closed ? .inside : .unknown
  }

  /// It is not known when this phone's link was lost.
  package mutating func forget(_ phone: [UInt8]) { known.removeAll { $0.phone == phone } }

  package func whereabouts(of phone: [UInt8], at now: Int64) -> Whereabouts {
    guard isBelieved(at: now) else { return .unknown }
    guard let found = known.first(where: { $0.phone == phone }) else {
      return hasForgottenSomebody ? .inside : .unknown
    }
    return found.isForgotten ? .unknown : found.whereabouts
  }

  /// Whether somebody may be leaving now. Then phones should read their signals.
  package func isSomebodyLeaving(at now: Int64) -> Bool { isRestless(at: now) && isBelieved(at: now) }

  private func isRestless(at now: Int64) -> Bool { movedAt.map { now - $0 <= Self.restMilliseconds } ?? false }

  private func isBelieved(at now: Int64) -> Bool {
    if let unlockedAt, now - unlockedAt > Self.restMilliseconds { return false }
    return !isRestless(at: now) || now - restlessSince <= Self.unrestLimitMilliseconds
  }
}
