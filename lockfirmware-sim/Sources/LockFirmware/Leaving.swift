import LockProtocol

/// A phone that was here and whose link is lost.
struct Departure: Sendable {
  var phone: [UInt8]
  /// When it counts as gone.
  var due: Int64
}

/// A phone that was here while the bolt was unlocked, although it did not have it unlocked. The log does not name it,
/// so it is stored.
package struct AwaitedPhone: Equatable, Sendable {
  /// Its static public key.
  package var phone: [UInt8]
  /// The index of the newest record at that time. A later record of another movement makes this out of date, so nothing
  /// needs to be erased when the bolt is locked.
  package var record: UInt64

  package init(phone: [UInt8], record: UInt64) {
    self.phone = phone
    self.record = record
  }
}

extension LockFirmware {
  /// Stores the first phone that is here while the bolt is unlocked. An unlocked bolt is locked when the last phone
  /// that was here has gone, even if the lock's power fails in between. If no phone is stored, the person who opened it
  /// has no phone and may be outside, so a start does not lock behind anybody.
  mutating func noteWhoIsHere() {
    guard awaited == nil, position == .unlocked, movement == nil, !isResetting,
      let phone = links.lazy.compactMap({ $0.phone }).first
    else { return }
    awaited = phone
    effects.append(.storeAwaited(AwaitedPhone(phone: phone, record: nextRecordIndex - 1)))
  }

  /// A phone's link is lost. Whether the phone left or the radio failed becomes clear in a few seconds, if it comes
  /// back.
  /// - Parameter isNoticed: whether the loss was noticed now. Otherwise its time is unknown.
  mutating func depart(_ phone: [UInt8], isNoticed: Bool) {
    // Another link of the same phone means that it is still here. A link that is not subscribed has its own deadline.
    guard !links.contains(where: { $0.phone == phone }) else { return }
    if isNoticed {
      doorWatch.linkLost(phone, at: now)
      lockingWatch.linkLost(phone, at: now)
    } else {
      doorWatch.forget(phone)
      lockingWatch.forget(phone)
    }
    departures.removeAll { $0.phone == phone }
    // If many phones left through an open door, any one of them has the bolt locked.
    if departures.count >= configuration.capacity.links { departures.removeFirst() }
    departures.append(Departure(phone: phone, due: now + configuration.leavingDelayMilliseconds))
  }

  /// Locks when a phone has gone, or when the time for an unlocked bolt is over, as soon as the door is shut.
  mutating func lockIfDue() {
    guard movement == nil, queued == nil, !isMechanismFailed else { return }
    let now = self.now
    if position == .locked {
      hasGivenUpLocking = false
      departures.removeAll()
      relockDue = nil
      return
    }
    if mode == .passage {
      // A bolt between its ends is still taken to its end.
      if position == .unlocked {
        departures.removeAll()
        relockDue = nil
      }
    }
    // A phone that is still here has the bolt locked when it leaves.
    if !configuration.locksOnAnyDeparture, links.contains(where: { $0.phone != nil }) {
      departures.removeAll { $0.due <= now }
    }
    let hasLeft = departures.contains { $0.due <= now } && !isPresumedHere
    let isRelockDue = relockDue.map { $0 <= now } ?? false
    guard hasLeft || isRelockDue, door == .closed else { return }
    guard battery.suffices(for: .locked, configuration.battery) else {
      // What is due stays due: a new battery carries it out.
      return raiseAlarm(.batteryEmpty)
    }
    departures.removeAll { $0.due <= now }
    relockDue = nil
    if hasLeft {
      // It does not count how often the bolt jammed before, because nobody is there now to see to it.
      lockAttempts = 0
      hasGivenUpLocking = false
    }
    start(Movement(target: .locked, cause: hasLeft ? .leaving : .relock))
  }

  /// The phone that is presumed here, until it is due.
  var presumedHere: [UInt8]? { presumed.flatMap { $0.due > now ? $0.phone : nil } }

  /// Whether a link from before the start may be that phone's. What is due waits for that, and is not forgotten.
  private var isPresumedHere: Bool {
    !configuration.locksOnAnyDeparture && presumedHere != nil && links.contains { $0.isUnproven }
  }

  /// The bolt could not be started. Try again in a while, as often as necessary.
  mutating func retryLocking() { relockDue = now + configuration.retryDelayMilliseconds }

  /// Locking by itself failed. Try again in a while, but not for ever, because a motor on a jammed bolt drains the
  /// battery.
  mutating func retryJammedLocking() {
    guard lockAttempts < LockLimit.lockAttempts else {
      hasGivenUpLocking = true
      return
    }
    lockAttempts += 1
    retryLocking()
  }

  mutating func doorChanged(_ reported: DoorState) {
    // Ajar and forced open are this lock's own conclusions.
    let state = reported.inAnswer
    if state != door {
      hasDoorMoved = true
      doorMayHaveOpened()
      doorMoves(to: state)
    }
    let isShutting = state == .closed && door != .closed
    door = state
    doorWatch.moved(to: state, beside: phonesHere, at: now)
    askForLooks()
    // Moving the door may have freed the bolt.
    guard isShutting, hasGivenUpLocking, position != .locked else { return }
    hasGivenUpLocking = false
    lockAttempts = 0
    relockDue = now
  }

  /// The phones that have proven themselves and are subscribed to offers.
  private var phonesHere: [[UInt8]] { links.compactMap { $0.isSubscribed ? $0.phone : nil } }

  /// The bolt was turned. A person who goes out now locks behind them, or has the lock do it.
  /// - Parameters:
  ///   - isInside: whether the hand that turned it is inside.
  ///   - goesOn: whether the lock now locks behind a person who went out after the bolt's previous turn.
  mutating func watchLeaving(isInside: Bool = false, goesOn: Bool = false) {
    let locksByItself = position == .unlocked && configuration.relockDelayMilliseconds != nil
    guard configuration.isOnlyWayOut, locksByItself || (position == .locked && !isInside) else {
      return lockingWatch.forgetAll()
    }
    lockingWatch.turned(beside: phonesHere, goesOn: goesOn, at: now)
    askForLooks()
  }

  /// Whether phones should read their signals.
  var isSomebodyLeaving: Bool { doorWatch.isSomebodyLeaving(at: now) || lockingWatch.isSomebodyLeaving(at: now) }

  /// Somebody may be leaving, so each phone that is here gets an offer, which wakes it to look at its signal. This is
  /// repeated until the door has come to rest. Moving the door more often does not make the offers more frequent.
  private mutating func askForLooks() {
    guard isSomebodyLeaving else { return }
    for index in links.indices where links[index].isSubscribed && links[index].phone != nil {
      if links[index].answering != nil {
        links[index].owesLook = true
      } else if links[index].nextOffer == nil {
        links[index].nextOffer = max(now, links[index].offeredAt + LockLimit.lookPauseMilliseconds)
      }
    }
  }

  /// Removes phones that proved themselves, are not subscribed to offers and have been silent for too long.
  mutating func forgetUnheard() {
    let unheard = links.filter { link in link.unheardDue.map { $0 <= now } ?? false }
    for link in unheard { linkDown(link.central) }
  }
}
