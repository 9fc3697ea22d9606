import LockProtocol

/// A phone that was here and whose link is lost.
struct Departure: Sendable {
  var phone: [UInt8]
  /// When it counts as gone.
  var due: Int64
}

extension LockFirmware {
  /// A phone's link is lost. Whether it went or the radio failed shows in a few seconds, if it comes back.
  /// - Parameter isNoticed: it was lost just now; else nobody knows when.
  mutating func depart(_ phone: [UInt8], isNoticed: Bool) {
    // Another link of the same phone means that it is still here; of one that nobody listens on its own deadline tells.
    guard !links.contains(where: { $0.phone == phone }) else { return }
    if isNoticed { doorWatch.linkLost(phone, at: now) } else { doorWatch.forget(phone) }
    departures.removeAll { $0.phone == phone }
    departures.append(Departure(phone: phone, due: now + configuration.leavingDelayMilliseconds))
  }

  /// Locks when somebody has gone, or the time for an unlocked bolt is over, as soon as the door is shut.
  mutating func lockIfDue() {
    guard movement == nil, queued == nil else { return }
    let now = self.now
    if position == .locked {
      hasGivenUpLocking = false
      departures.removeAll()
      relockDue = nil
      return
    }
    let hasLeft = departures.contains { $0.due <= now }
    let isRelockDue = relockDue.map { $0 <= now } ?? false
    guard hasLeft || isRelockDue, door == .closed else { return }
    departures.removeAll { $0.due <= now }
    relockDue = nil
    start(Movement(target: .locked, cause: hasLeft ? .leaving : .relock))
  }

  /// The bolt could not be sent: again in a while, as long as it takes.
  mutating func retryLocking() { relockDue = now + configuration.retryDelayMilliseconds }

  /// Locking by itself failed: again in a while, but not for ever, for a motor on a jammed bolt eats the battery.
  mutating func retryJammedLocking() {
    guard lockAttempts < LockLimit.lockAttempts else {
      hasGivenUpLocking = true
      return
    }
    lockAttempts += 1
    retryLocking()
  }

  mutating func doorChanged(_ state: DoorState) {
    let isShutting = state == .closed && door != .closed
    door = state
    doorWatch.moved(to: state, beside: links.compactMap { $0.isSubscribed ? $0.phone : nil }, at: now)
    askForLooks()
    // Whoever moved the door may have freed the bolt.
    guard isShutting, hasGivenUpLocking, position != .locked else { return }
    hasGivenUpLocking = false
    lockAttempts = 0
    relockDue = now
  }

  /// Somebody may be leaving: each phone that is here is offered to, which wakes it for a look at its signal; again and
  /// again until the door has come to rest, and no more often if the door moves more often.
  private mutating func askForLooks() {
    guard doorWatch.isSomebodyLeaving(at: now) else { return }
    for index in links.indices where links[index].isLooking && links[index].nextOffer == nil {
      links[index].nextOffer = max(now, links[index].offeredAt + LockLimit.lookPauseMilliseconds)
    }
  }

  /// Phones that proved themselves, do not listen for offers and have not spoken for too long.
  mutating func forgetUnheard() {
    let unheard = links.filter { link in link.unheardDue.map { $0 <= now } ?? false }
    for link in unheard { linkDown(link.central) }
  }
}
