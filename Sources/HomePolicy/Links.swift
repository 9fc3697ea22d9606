import TimeTypes

/// What begins and ends with a link, and with the process that knows of it.
extension HomePolicy {
  mutating func start(isLinked: Bool, at time: HomeTime) {
    soughtSince = isLinked ? nil : time.instant
    // What was seen of a way home before a boot opens nothing. Its owner is asked at the door, however far that is.
    isWayInterrupted =
      (state.isBeginning == true || state.approach != nil) && state.lastHeard.map { $0.boot != time.boot } ?? false
    switch (state.isLinked, isLinked) {
    case (true, true):
      // The same link, but another process: what the previous process wrote before it ended may be unanswered.
      expectOffer(at: time)
      owesPresence = true
      readingsLeft = configuration.signalReadings
      isKnown = state.isBeginning == nil && state.approach == nil
      resumeBeginning(at: time)
    case (false, true):
      // How long the link has been up is unknown until the system reports that it has come up.
      linkUp(at: time)
      isLinkUnannounced = true
      endBeginning()
    case (true, false):
      // The link was lost while no process was running. The time is unknown: now at the latest, or the beginning of
      // this boot if the link was up in an earlier boot.
      linkDown(at: state.lastHeard?.boot == time.boot ? time : HomeTime.start(ofBootAt: time))
    case (false, false): break
    }
  }

  /// The previous process ended just after the link had come up, so how it came up can still be measured.
  private mutating func resumeBeginning(at time: HomeTime) {
    guard state.isBeginning == true else { return }
    if let heard = state.lastHeard, time.duration(since: heard) <= configuration.signalLifetime {
      watch.begin(isNew: true, goesOn: true)
    } else {
      endBeginning()
      isDoubtful = state.approach == nil
    }
  }

  mutating func linkUp(at time: HomeTime) {
    if state.isLinked {
      guard isLinkUnannounced else { return }
      isLinkUnannounced = false
    } else {
      state.isLinked = true
      linkIsBack(at: time)
      keepOrDropApproach(at: time)
      readingsLeft = configuration.signalReadings
      owesPresence = true
      spareOfferUntil = nil
      interruptions = 0
      isLockedOut = false
      isKnown = false
      isRefused = false
      refusals = 0
      expectOffer(at: time)
    }
    isDoubtful = (state.linkLost != nil || isTurnedAway) && state.approach == nil
    if isWayInterrupted, isDoubtful { perhapsComingSince = time.instant }
    isWayInterrupted = false
    // If a link was lost before it was clear how it came up, the next one is still the same beginning.
    let isNewBeginning = state.linkLost.map { time.duration(since: $0) >= configuration.awayDuration } ?? false
    watch.begin(isNew: isNewBeginning, goesOn: state.isBeginning == true)
    if watch.isUndecided { state.isBeginning = true }
    state.lastHeard = time
    store()
  }

  /// What a link led to, as far as this phone knows when the link ends.
  enum LinkTarget {
    case lock
    case unknown
    /// Another device. The lock may be the next one that is tested, so a person who asked for something waits for it.
    case other
  }

  mutating func linkDown(at time: HomeTime, to target: LinkTarget = .lock) {
    guard state.isLinked else { return }
    if isLooking { endLooking(at: time) }
    state.isLinked = false
    state.lastHeard = time
    if target == .lock {
      // A link that this phone ended by itself was not lost.
      state.linkLost = isLinkOver ? nil : time
      forgetUnproven()
    } else {
      // Any device can look like the lock, be heard from afar, and go away. Such a link shows neither an absence from
      // the lock nor an approach to it.
      state.approach = nil
      endBeginning()
    }
    noteLinkEnd(at: time)
    commandIsLost()
    offeredAt = nil
    offerDue = nil
    isOfferAsked = false
    signalDue = nil
    repeatDue = nil
    isReadingSignal = false
    isLinkUnannounced = false
    isDoubtful = false
    isLockedOut = false
    perhapsComingSince = nil
    stopAsking()
    if target != .other {
      concludeWord(.linkLost)
      concludeErrand(.linkLost)
    } else if isWordAwaited || errand != nil {
      linkDue = time.instant + configuration.linkPatience
    }
    concludeRoom(.linkLost)
    store()
  }

  mutating func endBeginning() {
    watch.forgetBeginning()
    guard state.isBeginning != nil else { return }
    state.isBeginning = nil
    store()
  }
}
