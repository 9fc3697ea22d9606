import LockProtocol

/// What the door's sensor shows of who is here: who leaves or comes opens the door.
///
/// A door that opens says nothing of who goes through it. The phones' links do: one that came and had the bolt unlocked
/// comes in; one that is lost while the door is restless may be leaving; one that is still there when the door has come to
/// rest stayed; and of one that was not there nothing is known any more.
package struct DoorWatch: Sendable {
  /// Where a phone's owner is.
  package enum Whereabouts: Equatable, Sendable {
    /// The sensor shows nothing of it.
    case unknown
    /// Here, and since then no one has left through the door.
    case inside
    /// The door opened, and the link was lost soon after.
    case left
  }

  private struct Known: Sendable {
    var phone: [UInt8]
    var whereabouts: Whereabouts
    /// The door has opened beside this phone. Where it is shows when the link is lost.
    var isUndecided = false
    /// The door has opened without this phone: nothing is known any more, unless it was only late.
    var isForgotten = false
    /// When it came, and had the bolt unlocked or found it so; the door has not opened since.
    var cameAt: Int64?
  }

  /// How long the door has to rest until who is still linked has not left by it, in milliseconds: who goes out has
  /// gone out of range by then, who takes in a parcel has not.
  package static let restMilliseconds: Int64 = 600_000
  /// How long after the door opened a link of somebody who opened it may come up, in milliseconds.
  package static let lateMilliseconds: Int64 = 60_000
  /// How long a door may be restless and its sensor still count, in milliseconds. Beyond it is a sensor that flutters, or
  /// a house full of guests.
  package static let unrestLimitMilliseconds: Int64 = 3_600_000

  /// Whether this door is the only way out.
  private let isOnlyWay: Bool
  private var door: DoorState
  private var movedAt: Int64?
  private var openedAt: Int64?
  /// Since when the door has not come to rest.
  private var restlessSince: Int64 = 0
  /// A phone had the bolt unlocked, and the door has not opened since.
  private var unlockedAt: Int64?
  private var known: [Known] = []

  package init(isOnlyWay: Bool, door: DoorState) {
    self.isOnlyWay = isOnlyWay
    self.door = door
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
    // A phone may have more than one link.
    for phone in linked {
      let index = index(of: phone)
      guard known[index].isForgotten else { continue }
      let comesIn = known[index].cameAt.map { now - $0 <= Self.restMilliseconds } ?? false
      known[index].cameAt = nil
      if comesIn {
        known[index].isForgotten = false
        known[index].whereabouts = .inside
      } else {
        isBesideOpening(index)
      }
    }
  }

  /// Who was inside is so until the link is lost; who had left may have come in with a key.
  private mutating func isBesideOpening(_ index: Int) {
    known[index].isForgotten = false
    known[index].isUndecided = true
    if known[index].whereabouts == .left { known[index].whereabouts = .unknown }
  }

  private mutating func index(of phone: [UInt8]) -> Int {
    if let index = known.firstIndex(where: { $0.phone == phone }) { return index }
    known.append(Known(phone: phone, whereabouts: .unknown, isForgotten: true))
    return known.count - 1
  }

  /// A phone has proven itself. It was beside the door, if its link came up before the door opened or soon after: from a
  /// room without the radio one is at the door before the link is.
  package mutating func proven(_ phone: [UInt8], linkedSince: Int64) {
    guard let openedAt, linkedSince <= openedAt + Self.lateMilliseconds else { return }
    let index = index(of: phone)
    if known[index].isForgotten { isBesideOpening(index) }
  }

  /// A phone had the bolt unlocked, and it moved. Who does so opens the door, or its sensor is broken.
  package mutating func unlocked(at now: Int64) { if door == .closed { unlockedAt = now } }

  /// A phone has the bolt unlocked, or finds it so.
  /// - Parameter isOnApproach: its owner was seen to come; a word may be of one who wants out.
  package mutating func comes(_ phone: [UInt8], isOnApproach: Bool, at now: Int64) {
    guard isOnlyWay else { return }
    let index = index(of: phone)
    switch whereabouts(of: phone, at: now) {
    case .left: known[index].cameAt = now
    case .unknown: if isOnApproach { known[index].cameAt = now }
    case .inside: break
    }
  }

  /// The last link of this phone is lost, just now.
  package mutating func linkLost(_ phone: [UInt8], at now: Int64) {
    guard let index = known.firstIndex(where: { $0.phone == phone }) else { return }
    guard isBelieved(at: now) else { return forget(phone) }
    known[index].cameAt = nil
    guard known[index].isUndecided, !known[index].isForgotten else { return }
    known[index].isUndecided = false
    // Through a door that stands open people come and go unseen.
    known[index].whereabouts = isRestless(at: now) ? .left : door == .closed ? .inside : .unknown
  }

  /// When this phone's link was lost is not known.
  package mutating func forget(_ phone: [UInt8]) { known.removeAll { $0.phone == phone } }

  package func whereabouts(of phone: [UInt8], at now: Int64) -> Whereabouts {
    guard isBelieved(at: now), let found = known.first(where: { $0.phone == phone }), !found.isForgotten else {
      return .unknown
    }
    return found.whereabouts
  }

  /// Whether somebody may be leaving just now, so that phones should look at their signals.
  package func isSomebodyLeaving(at now: Int64) -> Bool { isRestless(at: now) && isBelieved(at: now) }

  private func isRestless(at now: Int64) -> Bool { movedAt.map { now - $0 <= Self.restMilliseconds } ?? false }

  private func isBelieved(at now: Int64) -> Bool {
    if let unlockedAt, now - unlockedAt > Self.restMilliseconds { return false }
    return !isRestless(at: now) || now - restlessSince <= Self.unrestLimitMilliseconds
  }
}
