import TimeTypes

extension HomeState {
  /// The lock turns this phone away: it does not know its key, as after a factory reset, or the guest's grant is over or revoked.
  package struct Refusal: Sendable, Hashable {
    /// How many links in a row have ended so.
    package var count: Int
    /// From when on the next link is asked for.
    package var retry: HomeTime

    package init(count: Int, retry: HomeTime) {
      self.count = count
      self.retry = retry
    }
  }
}

/// A phone that the lock turns away ends its link, and asks for the next one after ever longer pauses. A link that
/// stays costs both sides energy and the lock a place, and the lock would end it after 30 s. The phone comes back at
/// once if something may have changed: it has other keys or another grant, a person asks, or the lock was out of reach
/// meanwhile.
extension HomePolicy {
  /// How long to wait before the next link is asked for.
  package func linkDelay(at time: HomeTime) -> Duration {
    guard let refusal = state.refusal, refusal.retry.boot == time.boot else { return .zero }
    return min(max(refusal.retry.instant - time.instant, .zero), configuration.longestRefusalPause)
  }

  /// The lock has turned this phone away, on this link or on the one before.
  package var isTurnedAway: Bool { state.refusal != nil }

  /// The lock has refused a write, which says nothing of the reason. One refusal may be about an earlier offer, or another
  /// phone's; an older lock refuses the commands that it does not know.
  mutating func writeRefused(at time: HomeTime) {
    let mayBeUnknown = awaited?.command == .unlock(.approach) || awaited?.command == .unlockIfLeft
    if mayBeUnknown { refusals += 1 }
    commandIsLost()
    refusedWrites += 1
    if !mayBeUnknown, refusedWrites >= (isTurnedAway ? 1 : configuration.refusedWrites) { turnAway(at: time) }
  }

  /// The lock has turned this phone away on this link.
  /// - Parameter isAnswered: the lock's answer says so, and not only a write that it refused.
  mutating func turnAway(at time: HomeTime, isAnswered: Bool = false) {
    isRefused = true
    owesPresence = false
    isDoubtful = false
    isLockedOut = false
    perhapsComingSince = nil
    offerDue = nil
    state.approach = nil
    if state.opening?.isWritten == false, state.opening?.because == .approach { state.opening = nil }
    stopAsking()
    concludeWord(isAnswered ? .failed : .noAnswer)
    concludeErrand(isAnswered ? .answered : .noAnswer)
    concludeRoom(.linkLost)
    let pause = noteTurnedAway(at: time)
    effects.append(.endLink(pause: pause))
  }

  /// - Returns: the pause until the next link.
  @discardableResult
  private mutating func noteTurnedAway(at time: HomeTime) -> Duration {
    // A link that a person asked for does not count: it shows neither that longer pauses are needed nor that shorter
    // ones are.
    let isCounted = !isLinkOver && !isLinkAskedFor
    isLinkOver = true
    let count = max((state.refusal?.count ?? 0) + (isCounted ? 1 : 0), 1)
    let pause = configuration.refusalPause(count)
    state.refusal = HomeState.Refusal(count: count, retry: time + pause)
    store()
    return pause
  }

  /// The lock has answered without turning this phone away.
  mutating func isWelcome() {
    refusedWrites = 0
    isLinkOver = false
    guard state.refusal != nil else { return }
    state.refusal = nil
    store()
  }

  /// A person asks for something, and there is no link because the lock has turned this phone away, or because this process has
  /// only begun to look for the lock.
  /// - Returns: whether a link is asked for, so that it is worth waiting for it.
  mutating func asksForLink(at time: HomeTime) -> Bool {
    guard !state.isLinked else { return false }
    if isTurnedAway {
      isLinkAskedFor = true
      requestLink(at: time)
    } else {
      guard let soughtSince, time.instant - soughtSince < configuration.linkPatience else { return false }
    }
    linkDue = time.instant + configuration.linkPatience
    return true
  }

  /// From now on the system looks for the lock. If it finds it later than a lock within reach, the two were apart.
  private mutating func requestLink(at time: HomeTime) {
    state.refusal?.retry = time
    store()
    effects.append(.requestLink)
  }

  /// No link has come up for what a person asked.
  mutating func linkIsMissed() {
    linkDue = nil
    guard !state.isLinked else { return }
    isLinkAskedFor = false
    concludeWord(.notLinked)
    concludeErrand(.notLinked)
  }

  mutating func keysChanged(at time: HomeTime) {
    isRefused = false
    refusedWrites = 0
    isLinkOver = false
    owesPresence = state.isLinked
    soughtSince = time.instant
    guard isTurnedAway else { return }
    if state.isLinked {
      state.refusal = nil
      return store()
    }
    requestLink(at: time)
    state.refusal = nil
    // An arrival with the new keys comes after this moment.
    state.linkLost = time
  }

  /// A link has come up. A lock within reach is linked soon after the system begins to look for it. If it took longer,
  /// the two were apart: something may have changed, and the phone may be coming home. A link that this phone ended by
  /// itself and got again right after it asked for it shows neither.
  mutating func linkIsBack(at time: HomeTime) {
    linkDue = nil
    refusedWrites = 0
    isLinkOver = false
    hasHeardOffer = false
    linkedSince = time.instant
    guard let refusal = state.refusal else { return }
    guard time.duration(since: refusal.retry) >= configuration.apartDuration else { return }
    state.refusal = nil
    state.linkLost = refusal.retry
  }

  /// Called before the link's end is noted.
  mutating func noteLinkEnd(at time: HomeTime) {
    defer {
      isLinkOver = false
      isLinkAskedFor = false
      linkedSince = nil
    }
    // A lock that makes strangers wait offers nothing, and ends the link.
    if isTurnedAway, !isLinkOver, !hasHeardOffer, let linkedSince,
      time.instant - linkedSince >= configuration.linkPatience
    {
      noteTurnedAway(at: time)
    }
  }
}

extension HomeTime {
  static func + (time: HomeTime, duration: Duration) -> HomeTime {
    HomeTime(
      boot: time.boot, instant: time.instant + duration, unixSeconds: time.unixSeconds + duration / .seconds(1))
  }
}

extension HomeConfiguration {
  /// How long to wait after so many links in a row on which the lock turned this phone away.
  func refusalPause(_ count: Int) -> Duration {
    min(firstRefusalPause * (1 << min(max(count - 1, 0), 16)), longestRefusalPause)
  }
}
