import TimeTypes

/// Decides when a phone unlocks its owner's door: on an approach, once, or on a person's command.
///
/// An approach is a link that comes up at the edge of its range, where there was none before, and a signal that then
/// rises to its strength at the door. Nothing less opens a door: time without a link may be a jammed radio, a changed
/// battery or a restart, and a strong signal may be a phone on a bedside table. If a phone is at a locked door and
/// the evidence is missing, the owner is asked. The decision is stored before the unlock is written. If there is no
/// answer, the lock is asked for the outcome of the operation; an unlock is never simply repeated.
///
/// On each link the phone also announces its presence, with a `status` if there is nothing to unlock, so that the
/// lock can lock when it leaves.
package struct HomePolicy: Sendable {
  package let configuration: HomeConfiguration
  /// Must be stored when an effect says so.
  package internal(set) var state: HomeState

  var watch: SignalWatch
  var offeredAt: Instant?
  var offerReadsLeft = 0
  /// The lock was asked for an offer and has not made one since. So its next offer does not show that it has forgotten
  /// this phone.
  var isOfferAsked = false
  /// An errand of the owner, until the lock has answered it.
  var errand: Errand?
  /// A room that is being measured for the owner.
  var survey: RoomSurvey?
  var roomChange: RoomChange?
  /// Since when this phone may be coming home although its link came up no weaker than in a room that was measured.
  /// That opens nothing. Its owner is asked at the door.
  var perhapsComingSince: Instant?
  /// This phone was coming home when its machine went down, and no link has come up since.
  var isWayInterrupted = false
  /// The command whose answer is awaited.
  var awaited: (command: HomeCommand, operation: UInt64)?
  /// The latest command, while it may not have arrived.
  var rewriting: Rewriting?
  /// Offers in a row that arrived while an answer was awaited.
  var interruptions = 0
  /// Whether the lock has not yet been told on this link, or since its own restart, that the phone is here.
  var owesPresence = false
  /// Each answer is followed at once by an offer that needs no reply. A later offer comes from a lock that does not
  /// know the phone.
  var spareOfferUntil: Instant?
  /// This process was started on an existing link, and has not been told yet that the link came up.
  var isLinkUnannounced = false
  /// The lock has answered on this link, so that it knows who is here.
  var isKnown = false
  /// The lock makes offers although it knows that this phone is here: somebody may be leaving, perhaps this phone.
  var isLooking = false
  /// What this phone measures while it is looking.
  var departure: Departure
  /// To announce this phone again on this link changes nothing: the lock has refused it or turned it away, or its
  /// answer can't be understood.
  var isRefused = false
  /// Writes in a row that failed, of commands that an older lock does not know.
  var refusals = 0
  /// Writes in a row that the lock refused on this link, whatever they were.
  var refusedWrites = 0
  /// The lock has turned this phone away on this link.
  var isLinkOver = false
  /// This link is there because a person asked for something.
  var isLinkAskedFor = false
  /// The lock has offered on this link.
  var hasHeardOffer = false
  var linkedSince: Instant?
  /// Until when a link that a person needs must have come up.
  var linkDue: Instant?
  /// When this process began to look for the lock: at its start, or with other keys or another grant.
  var soughtSince: Instant?
  /// The link came up after a loss, and nothing shows that its phone came from elsewhere.
  var isDoubtful = false
  /// The lock reports that it is locked, so a doubtful phone near it asks.
  var isLockedOut = false
  /// When the lock last reported its bolt's position.
  var answeredAt: Instant?
  /// The owner is asked about this as soon as the lock has confirmed that it is locked.
  var doubt: Doubt?
  var isWordAwaited = false
  /// The awaited word was taken back when its unlock was already written: nothing more is written for it.
  package internal(set) var isWordTakenBack = false
  /// An unlock that may have been written before the owner's word, which has taken its place.
  var takenOver: UInt64?
  var readingsLeft = 0
  var isReadingSignal = false
  var signalDue: Instant?
  var offerDue: Instant?
  var answerDue: Instant?
  var wordDue: Instant?
  /// The bolt is jammed: when it is tried again for an approach. A process that starts meanwhile does not wait.
  var repeatDue: Instant?
  /// When the signal is read again before `repeatDue`, so that the system lets this process run on.
  var jamLookDue: Instant?
  /// The state could not be stored: when to try again. Until then nothing that depends on it is done.
  var storeDue: Instant?
  /// What the owner is told, whether or not the state can be stored.
  var spoken: [HomeEffect] = []
  var effects: [HomeEffect] = []

  package init(_ configuration: HomeConfiguration, state: HomeState) {
    self.configuration = configuration
    self.state = state
    watch = SignalWatch(configuration)
    watch.doorSignal = state.doorSignal
    watch.roomSignal = state.roomSignal
    departure = Departure(configuration)
  }

  /// Whether an approach is under way that has not reached the door yet.
  package var isApproaching: Bool { state.isLinked && state.approach != nil && state.opening == nil }

  /// When `handle(.timePassed)` must be called at the latest; `nil` if nothing is due.
  package var nextDeadline: Instant? {
    [
      signalDue, offerDue, answerDue, rewriting?.due, wordDue, errand?.due, survey?.due, storeDue, repeatDue, linkDue,
      repeatDue == nil ? nil : jamLookDue,
    ].compactMap { $0 }.min()
  }

  /// Handles what happened. Returns what to do, in order.
  package mutating func handle(
    _ event: HomeEvent, at time: HomeTime, using random: inout some RandomNumberGenerator
  ) -> [HomeEffect] {
    if event != .storeFailed { roomChange = nil }
    switch event {
    case .started(let isLinked): start(isLinked: isLinked, at: time)
    case .linkUp: linkUp(at: time)
    case .linkDown: linkDown(at: time)
    case .linkToUnknown: linkDown(at: time, to: .unknown)
    case .linkToOther: linkDown(at: time, to: .other)
    case .offerReceived: offerReceived(at: time)
    case .offerRepeated:
      if rewriting?.offerRepeated(at: time.instant, configuration) == true {
        effects.append(.writeAgain(isConfirmed: false))
      }
    case .signalRead(let signal): signalRead(signal, at: time)
    case .answered(let answer, let bolt): answered(answer, bolt, at: time, using: &random)
    case .writeFailed:
      if awaited?.command == .unlock(.approach) || awaited?.command == .unlockIfLeft { refusals += 1 }
      commandIsLost()
    case .writeRefused: writeRefused(at: time)
    case .answerUnreadable: answerUnreadable()
    case .unlockAsked: unlockAsked(at: time, using: &random)
    case .unlockTakenBack: unlockTakenBack(at: time)
    case .errandAsked(let kind): errandAsked(kind, at: time, using: &random)
    case .errandTakenBack: errandTakenBack(at: time)
    case .roomAsked(let wish): roomAsked(wish, at: time)
    case .bonded: bonded()
    case .keysChanged: keysChanged(at: time)
    case .storeFailed: storeFailed(at: time)
    case .timePassed: timePassed(at: time)
    }
    dropStale(at: time)
    decide(at: time, using: &random)
    defer {
      spoken = []
      effects = []
    }
    return spoken + effects
  }

  private mutating func offerReceived(at time: HomeTime) {
    guard state.isLinked else { return }
    hasHeardOffer = true
    proveApproach()
    offeredAt = time.instant
    offerDue = nil
    offerReadsLeft = configuration.offerReads
    let isSpare = spareOfferUntil.map { time.instant <= $0 } ?? false
    spareOfferUntil = nil
    defer { isOfferAsked = false }
    if isSpare || (isOfferAsked && isKnown && awaited == nil) { return }
    // This is not the offer that follows an answer, so the lock does not know us any more, as after a restart of its
    // system or of ours. The answer that we wait for belongs to its earlier session and will not come. The lock is
    // asked at once, before it decides that we are gone and locks.
    if awaited != nil {
      interruptions += 1
      // A lock whose answers never arrive offers again after each command. After a few of those, wait as usual.
      if interruptions <= configuration.interruptions { commandIsLost() }
    }
    owesPresence = !isRefused
    readingsLeft = configuration.signalReadings
    if isKnown { isLooking = true }
  }

  private mutating func signalRead(_ signal: Int?, at time: HomeTime) {
    guard isReadingSignal else { return }
    isReadingSignal = false
    signalDue = time.instant + configuration.signalInterval
    guard let signal else {
      watch.forgetReadings()
      endBeginning()
      ask(.noSignal, at: time)
      return
    }
    watch.take(signal, at: time.instant)
    takeInRoom(signal)
    if isLooking, let level = watch.level { departure.take(level, at: time.instant) }
    // A phone that is near again has not left.
    if isLooking, watch.isBack, state.hasLeft == true {
      state.hasLeft = nil
      store()
    }
    switch watch.beginning {
    case .weak(let first) where state.isBeginning == true:
      state.approach = HomeState.Approach(
        since: time, signal: first, isProven: isLockHeard,
        firstSince: state.approach?.beginning ?? state.unprovenSince)
      state.unprovenSince = nil
      isDoubtful = false
      endBeginning()
    case .strong(let first) where state.isBeginning == true && state.hasLeft == true && !isOnItsWay:
      // A phone that left and is back comes from elsewhere, however strong its link came up.
      state.approach = HomeState.Approach(since: time, signal: first, isProven: isLockHeard)
      isDoubtful = false
      endBeginning()
    case .strong(let first):
      if state.isBeginning == true, first <= configuration.weakSignal { perhapsComingSince = time.instant }
      endBeginning()
    case .weak, .undecided, .unasked: break
    }
    noteRising(at: time)
    noteSuddenReturn(at: time)
    notePerhapsComing(at: time)
    if watch.isNear(at: time.instant) { ask(.noApproach, at: time) }
  }

  private mutating func timePassed(at time: HomeTime) {
    if let due = signalDue, due <= time.instant {
      signalDue = nil
      // A reading without a result does not count.
      if isReadingSignal { signalRead(nil, at: time) }
    }
    if let due = offerDue, due <= time.instant {
      offerDue = nil
      readOffer(at: time)
    }
    if rewriting?.takeDue(at: time.instant) == true { effects.append(.writeAgain(isConfirmed: true)) }
    if let due = answerDue, due <= time.instant {
      commandIsLost()
      // An offer that arrived instead of the answer is still good.
      if offeredAt == nil { readOffer(at: time) }
    }
    if let due = wordDue, due <= time.instant { concludeWord(.noAnswer) }
    if let due = survey?.due, due <= time.instant { endSurvey() }
    if let due = linkDue, due <= time.instant { linkIsMissed() }
    if repeatDue != nil, let due = jamLookDue, due <= time.instant { lookBesideJam(at: time) }
    if let due = repeatDue, due <= time.instant {
      repeatDue = nil
      // Whether the phone is still at the door is measured anew, and the offer has grown old.
      offerReadsLeft = configuration.offerReads
      readingsLeft = configuration.signalReadings
    }
    if let due = storeDue, due <= time.instant {
      storeDue = nil
      offerReadsLeft = configuration.offerReads
      readingsLeft = configuration.signalReadings
      store()
    }
  }

  /// Whatever was decided with the state that could not be stored has not happened.
  private mutating func storeFailed(at time: HomeTime) {
    commandIsLost()
    if var opening = state.opening, opening.isWritten {
      // It was not written, and the stored state does not mention it either.
      opening.isWritten = false
      state.opening = opening
    }
    offeredAt = nil
    storeDue = time.instant + configuration.storePatience
    concludeWord(.notStored)
    roomIsNotStored()
  }

  // MARK: The next action

  /// Writes a command if there is one, and an offer for it.
  private mutating func decide(at time: HomeTime, using random: inout some RandomNumberGenerator) {
    guard state.isLinked else { return }
    if needsSignal(at: time.instant) { readSignal(at: time) }
    guard awaited == nil, storeDue == nil else { return }
    // After it was turned away, this phone asks for nothing more on this link, except what a person wants.
    if isLinkOver, !isWordAwaited, errand == nil { return }
    if let opening = state.opening, opening.isWritten {
      write(.status, operation: opening.operation, at: time)
    } else if let opening = state.opening, opening.because == .word {
      unlock(opening, at: time)
    } else if let errand, !errand.isTakenBack, errand.due - time.instant >= configuration.lastWriting {
      write(errand.command, operation: errand.operation, at: time)
    } else if let approach = state.approach {
      guard repeatDue == nil, isAtDoor(approach, at: time.instant) else { return }
      unlock(state.opening ?? newOpening(.approach, at: time, using: &random), at: time)
    } else if doubt != nil {
      write(.status, operation: 0, at: time)
    } else if owesPresence, perhapsComingSince == nil, !watch.isUndecided || (!isReadingSignal && readingsLeft == 0) {
      write(.status, operation: 0, at: time)
    }
  }

  /// Whether the signal has to be read now. How the link came up can only be measured at its beginning, an approach
  /// must be followed to the door, and only a phone that is near asks its owner.
  private func needsSignal(at now: Instant) -> Bool {
    if watch.isUndecided || survey != nil || perhapsComingSince != nil { return true }
    if state.opening?.isWritten == true { return false }
    if let approach = state.approach { return !isAtDoor(approach, at: now) }
    if isLooking { return true }
    return isDoubtful && isLockedOut
  }

  /// A phone that has been linked for too long without reaching the door was not on its way there. A person's command
  /// expires as well.
  private mutating func dropStale(at time: HomeTime) {
    // A process that stood still hears of other things before it hears of the time.
    if let due = errand?.due, due <= time.instant { concludeErrand(.noAnswer) }
    if let approach = state.approach,
      !isCurrent(approach, at: time) || !(isSeenToCome(approach) || state.hasLeft == true)
    {
      state.approach = nil
      // The phone was back for a long time without coming to the door, so how it left says nothing about how its next
      // link comes up.
      state.hasLeft = nil
      store()
    }
    guard let opening = state.opening, !opening.isWritten, !mayRepeat(opening, at: time) else { return }
    state.opening = nil
    store()
  }

  private mutating func readSignal(at time: HomeTime) {
    guard !isReadingSignal, signalDue == nil, readingsLeft > 0 else { return }
    readingsLeft -= 1
    isReadingSignal = true
    signalDue = time.instant + configuration.signalPatience
    // The reading comes before the store: it promises nothing, and the radio answers while the disk works.
    effects.insert(.readSignal, at: 0)
  }

  mutating func store() {
    // After a failure the disk is given time.
    guard storeDue == nil else { return }
    guard !effects.contains(.store) else { return }
    effects.insert(.store, at: effects.first == .readSignal ? 1 : 0)
  }
}
