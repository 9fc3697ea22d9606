import TimeTypes

/// How long an approach counts, and what it proves.
extension HomePolicy {
  /// Drops the approach if it is too old or was interrupted for too long. A link that is lost for a moment, for example
  /// over a restart, does not end the approach.
  mutating func keepOrDropApproach(at time: HomeTime) {
    if time.duration(since: state.linkLost ?? state.unprovenSince ?? time) > configuration.approachInterruption {
      state.unprovenSince = nil
    }
    guard let approach = state.approach else { return }
    let gap = time.duration(since: state.linkLost ?? approach.since)
    if gap > configuration.approachInterruption || !isCurrent(approach, at: time) { state.approach = nil }
  }

  /// Whether what is at the other end of this link is the lock. A radio may have the lock's address and be heard first from afar and
  /// then near. But it can't answer as the lock, and a phone with a bond exchanges nothing with it.
  var isLockHeard: Bool { isKnown || hasHeardOffer && state.isBonded == true }

  mutating func bonded() {
    guard state.isBonded != true else { return }
    state.isBonded = true
    store()
  }

  /// The lock may have been heard on this link.
  mutating func proveApproach() {
    guard isLockHeard, state.approach?.isProven == false else { return }
    state.approach?.isProven = true
    store()
  }

  /// The link has ended. What it showed of an approach counts on the next one only if the lock was heard on it. Otherwise the next
  /// one is measured from its own beginning.
  mutating func forgetUnproven() {
    guard !isLockHeard else { return }
    watch.forgetBeginning()
    guard let approach = state.approach else { return }
    guard !approach.isProven else {
      state.approach?.hasRisen = false
      return
    }
    state.unprovenSince = approach.beginning
    state.approach = nil
    state.isBeginning = true
  }

  /// Whether the approach still counts. It does not count across a reboot: how long the reboot took is known only by
  /// the calendar, and it is unknown where the phone was carried in the meantime.
  func isCurrent(_ approach: HomeState.Approach, at time: HomeTime) -> Bool {
    approach.since.boot == time.boot && time.duration(since: approach.since) <= configuration.approachWindow
  }

  /// Whether the link came up weak. A stronger beginning counts only for a phone that was seen to leave.
  func isSeenToCome(_ approach: HomeState.Approach) -> Bool { approach.signal <= weakSignal }

  /// Whether an approach from the edge of the range is under way, which the loss of a link does not end.
  var isOnItsWay: Bool { state.approach.map(isSeenToCome) ?? false }

  /// Whether the phone is heard so much better than when its link came up that it must have come nearer.
  func hasComeNearer(_ approach: HomeState.Approach) -> Bool {
    isSeenToCome(approach) || watch.level.map { $0 >= approach.signal + configuration.returnRise } ?? false
  }

  /// Whether this approach has reached the door.
  func isAtDoor(_ approach: HomeState.Approach, at now: Instant) -> Bool {
    watch.isAtDoor(at: now) && hasComeNearer(approach)
  }

  /// Gives up on a phone that was seen to leave and that is at the door from the beginning of its link on. It may have
  /// been carried there faster than its link came up, or its radio is relayed.
  mutating func noteSuddenReturn(at time: HomeTime) {
    // What is decided on, and can't be written for that, is over with it.
    let isDecided = state.opening.map { $0.isWritten || $0.because == .word } ?? false
    guard let approach = state.approach, !isDecided, !hasComeNearer(approach), watch.staysNear(at: time.instant) else {
      return
    }
    giveUp()
    store()
  }

  /// Notes that the signal has risen soon after the approach began, which shows that the phone is moving.
  mutating func noteRising(at time: HomeTime) {
    guard let approach = state.approach, !approach.hasRisen, let level = watch.level,
      level >= approach.signal + configuration.risingMargin,
      time.duration(since: approach.beginning) <= configuration.risingDuration
    else { return }
    state.approach?.hasRisen = true
    store()
  }

  /// Whether only a phone that comes from outside can make this approach: from the very edge, rising at once and all
  /// the way.
  func isWhole(_ approach: HomeState.Approach, at time: HomeTime) -> Bool {
    approach.hasRisen && approach.signal <= min(weakSignal, configuration.weakSignal - configuration.edgeMargin)
      && time.duration(since: approach.beginning) <= configuration.wholeWindow
  }
}
