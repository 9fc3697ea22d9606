import TimeTypes

/// Openings: an unlock from its decision to the lock's answer, and the questions if there is nothing to decide on.
extension HomePolicy {
  /// The owner commands: open. The command is valid for a moment, and only on this link.
  mutating func unlockAsked(at time: HomeTime, using random: inout some RandomNumberGenerator) {
    guard state.isLinked || asksForLink(at: time) else {
      spoken.append(.answerWord(.notLinked))
      return
    }
    if var opening = state.opening {
      // The outcome of the unlock under way is asked for first. If the lock never received it, it now counts as the
      // owner's command.
      takenOver = opening.isWritten ? opening.operation : nil
      opening.because = .word
      opening.since = time
      opening.attempts = 1
      repeatDue = nil
      state.opening = opening
    } else {
      takenOver = nil
      state.opening = newOpening(.word, at: time, using: &random)
    }
    // The later one of two commands counts.
    if errand?.kind == .lock { concludeErrand(.overtaken) }
    isWordAwaited = true
    isWordTakenBack = false
    wordDue = time.instant + configuration.wordLifetime
    offerReadsLeft = configuration.offerReads
    offerDue = nil
    store()
  }

  /// Whoever commanded it has taken that back. An unlock that was not written is not written any more. One that was written can't be
  /// taken back; the lock may still say soon what came of it.
  mutating func unlockTakenBack(at time: HomeTime) {
    guard isWordAwaited, !isWordTakenBack else { return }
    guard let opening = state.opening, opening.because == .word, opening.isWritten else {
      return concludeWord(.takenBack)
    }
    isWordTakenBack = true
    rewriting = nil
    let due = time.instant + configuration.takenBackPatience
    wordDue = min(wordDue ?? due, due)
  }

  mutating func concludeWord(_ outcome: WordOutcome) {
    wordDue = nil
    guard isWordAwaited else { return }
    isWordAwaited = false
    let isUnknown = outcome == .noAnswer || outcome == .linkLost
    spoken.append(.answerWord(isWordTakenBack && isUnknown ? .sentAlready : outcome))
    isWordTakenBack = false
    // A command whose unlock was never written is over. If it was written, the lock is still asked.
    guard outcome != .done, let opening = state.opening, opening.because == .word, !opening.isWritten else { return }
    state.opening = nil
    store()
  }

  /// Whether an unlock that the lock never received, or that moved nothing, may be written again now.
  func mayRepeat(_ opening: HomeState.Opening, at time: HomeTime) -> Bool {
    switch opening.because {
    case .word:
      isWordAwaited && !isWordTakenBack
        && time.duration(since: opening.since) <= configuration.wordLifetime - configuration.lastWriting
    case .approach: state.approach.map { isCurrent($0, at: time) } ?? false
    }
  }

  mutating func unlock(_ opening: HomeState.Opening, at time: HomeTime) {
    let command = unlockCommand(opening.because, at: time)
    guard let offeredAt, isFresh(offeredAt, for: command, at: time) else {
      return write(command, operation: opening.operation, at: time)
    }
    if let due = wordDue { wordDue = max(due, decidedAt(offeredAt)) }
    var opening = opening
    opening.isWritten = true
    state.opening = opening
    state.lastHeard = time
    store()
    write(command, operation: opening.operation, at: time)
  }

  private func unlockCommand(_ reason: OpeningReason, at time: HomeTime) -> HomeCommand {
    switch reason {
    case .word: .unlock(.word)
    case .approach where state.hasLeft == true: .unlockIfLeft
    // A lock can't tell a radio that failed from a person who left, so the more careful command is used.
    case .approach where isOlderLock || state.hasStayed == true: .unlockUnlessHome
    case .approach: state.approach.map { isWhole($0, at: time) } == true ? .unlock(.approach) : .unlockUnlessHome
    }
  }

  /// Whether the lock is an older one: it has refused the new commands more than once, and gets only those that it knows.
  private var isOlderLock: Bool { refusals > 1 }

  mutating func answered(
    _ answer: HomeAnswer, _ bolt: HomeBolt, at time: HomeTime, using random: inout some RandomNumberGenerator
  ) {
    guard let awaited else { return }
    let doubt = doubt
    let isErrand = awaited.operation == errand?.operation
    commandIsLost()
    interruptions = 0
    isKnown = true
    proveApproach()
    isRefused = answer == .refused && awaited.command == .status
    if answer != .turnedAway { isWelcome() }
    // An errand does not count as announcing this phone, so that is still owed.
    if !isErrand || isRefused { owesPresence = false }
    spareOfferUntil = time.instant + configuration.spareOfferPatience
    readingsLeft = configuration.signalReadings
    state.lastHeard = time
    isLockedOut = bolt == .locked
    answeredAt = time.instant
    if bolt == .unlocked { stopAsking() }
    if let doubt, answer != .turnedAway { ask(doubt, at: time) }
    if isErrand {
      if awaited.command == .lock { endApproach() }
      concludeErrand(.answered)
    }
    defer { if answer == .turnedAway { turnAway(at: time, isAnswered: true) } }
    guard let opening = state.opening, opening.isWritten, opening.operation == awaited.operation else { return }
    if takesOver(opening, answer, bolt) {
      // The word has not been tried.
      retry(opening, as: newOperation(&random), attempts: 1, at: time)
      return store()
    }
    switch answer {
    case .done:
      conclude(opening)
      // Whoever came stands at a door that has been locked since, perhaps because their link was lost.
      if bolt == .locked, state.approach == nil { isDoubtful = true }
    case .unknownOperation where isOlderLock && state.hasLeft == true:
      isNotBelieved(opening, at: time, using: &random)
    case .unknownOperation:
      // The lock never received it, so it may be written now, unless its reason has expired.
      retry(opening, as: opening.operation, attempts: opening.attempts, at: time)
    case .failed: hasFailed(opening, bolt, at: time, using: &random)
    // A person's own command needs no evidence, so a lock that asks for some will not open for the next one either.
    case .lockedAtHome where awaited.command == .unlock(.word): conclude(opening)
    case .lockedAtHome: isNotBelieved(opening, at: time, using: &random)
    case .somebodyInside:
      // More evidence of an approach changes nothing: the person inside decides, or this phone's own.
      giveUp()
      ask(.somebodyInside, at: time)
    case .refused:
      conclude(opening)
      // A person who asked gets the lock's reason as the answer. A person who only came stands at a door that stays
      // shut, and is told why.
      if opening.because == .approach { tellWhoCame(.refused, bolt, at: time) }
    case .turnedAway: conclude(opening)
    }
    if state.opening == nil { concludeWord(answer != .done ? .failed : bolt == .unlocked ? .done : .lockedAgain) }
    store()
  }

  /// Whether the lock has answered an unlock of before the owner's word, which left the door shut: it was refused or failed for
  /// what was known then, or the bolt was locked since.
  private mutating func takesOver(_ opening: HomeState.Opening, _ answer: HomeAnswer, _ bolt: HomeBolt) -> Bool {
    defer { takenOver = nil }
    guard opening.operation == takenOver, isWordAwaited, !isWordTakenBack, opening.because == .word else {
      return false
    }
    switch answer {
    case .done: return bolt != .unlocked
    case .failed, .lockedAtHome, .somebodyInside, .refused: return true
    case .unknownOperation, .turnedAway: return false
    }
  }

  /// The lock has answered the command, but the answer can't be understood. Asking again would bring the same answer.
  mutating func answerUnreadable() {
    guard awaited != nil else { return }
    commandIsLost()
    interruptions = 0
    isWelcome()
    isKnown = true
    proveApproach()
    isRefused = true
    owesPresence = false
    if let opening = state.opening, opening.isWritten {
      conclude(opening)
      store()
    }
    concludeWord(.unreadable)
    concludeErrand(.unreadable)
  }

  /// The bolt did not move. The unlock is tried again. For an approach, further attempts follow after pauses, because
  /// the waiting person can't repeat a command; then the owner is asked.
  private mutating func hasFailed(
    _ opening: HomeState.Opening, _ bolt: HomeBolt, at time: HomeTime, using random: inout some RandomNumberGenerator
  ) {
    let further = opening.attempts - configuration.unlockAttempts
    let isApproach = opening.because == .approach
    if further < 0 || isApproach && further < configuration.jamPauses.count {
      // The lock remembers the old operation as failed, so a new attempt is a new operation.
      retry(opening, as: newOperation(&random), attempts: opening.attempts + 1, at: time)
      if further >= 0, state.opening != nil {
        repeatDue = time.instant + configuration.jamPauses[further]
        jamLookDue = time.instant + configuration.jamLookPause
      }
      return
    }
    conclude(opening)
    if isApproach { tellWhoCame(.jammed, bolt, at: time) }
  }

  /// Tells the person who came home why the door stays shut.
  private mutating func tellWhoCame(_ doubt: Doubt, _ bolt: HomeBolt, at time: HomeTime) {
    isDoubtful = true
    isLockedOut = bolt != .unlocked
    ask(doubt, at: time)
  }

  /// The bolt is jammed and is not tried again yet: the signal is read meanwhile.
  mutating func lookBesideJam(at time: HomeTime) {
    jamLookDue = time.instant + configuration.jamLookPause
    readingsLeft = configuration.signalReadings
  }

  /// The evidence does not open this bolt. If the lock did not believe that the phone had left, an approach may still
  /// suffice. Otherwise the owner is asked.
  private mutating func isNotBelieved(
    _ opening: HomeState.Opening, at time: HomeTime, using random: inout some RandomNumberGenerator
  ) {
    let hadLeft = state.hasLeft == true
    state.hasLeft = nil
    let isWord = opening.because == .word
    let isSeenToCome = hadLeft && state.approach.map(isSeenToCome) ?? false
    if isWord || isSeenToCome, mayRepeat(opening, at: time) {
      retry(opening, as: newOperation(&random), attempts: opening.attempts + 1, at: time)
    } else {
      giveUp()
      ask(.lockedAtHome, at: time)
    }
  }

  /// This approach opens nothing.
  mutating func giveUp() {
    state.opening = nil
    state.approach = nil
    state.hasLeft = nil
    isDoubtful = true
  }

  /// The opening is over, and so is the approach that it was for. An approach that began later is another arrival.
  private mutating func conclude(_ opening: HomeState.Opening) {
    state.opening = nil
    state.hasLeft = nil
    state.hasStayed = nil
    guard let approach = state.approach else { return }
    if approach.since.boot != opening.since.boot || approach.since.instant <= opening.since.instant {
      state.approach = nil
    }
  }

  private mutating func retry(
    _ opening: HomeState.Opening, as operation: UInt64, attempts: Int, at time: HomeTime
  ) {
    guard mayRepeat(opening, at: time) else {
      state.opening = nil
      return
    }
    var next = opening
    next.operation = operation
    next.isWritten = false
    next.attempts = attempts
    state.opening = next
  }

  func newOpening(
    _ reason: OpeningReason, at time: HomeTime, using random: inout some RandomNumberGenerator
  ) -> HomeState.Opening {
    HomeState.Opening(
      operation: newOperation(&random), isWritten: false, attempts: 1, because: reason, since: time)
  }

  /// 0 means no operation.
  private func newOperation(_ random: inout some RandomNumberGenerator) -> UInt64 {
    UInt64.random(in: 1 ... .max, using: &random)
  }

  // MARK: Questions

  /// Asks the owner if the phone is near a locked door and nothing shows that it came there, but not again and again.
  /// The lock's last report may be outdated, because a hand can turn the bolt. If it is, the lock is asked first, and
  /// the owner after its answer.
  mutating func ask(_ doubt: Doubt, at time: HomeTime) {
    guard isDoubtful, isLockedOut, state.approach == nil, state.opening == nil else { return }
    if let asked = state.asked, time.duration(since: asked) < configuration.questionInterval {
      isDoubtful = false
      return
    }
    guard let answeredAt, time.instant - answeredAt <= configuration.answerLifetime else {
      self.doubt = doubt
      return
    }
    isDoubtful = false
    state.asked = time
    state.isAsking = true
    store()
    effects.append(.ask(doubt))
  }

  mutating func stopAsking() {
    guard state.isAsking == true else { return }
    state.isAsking = nil
    store()
    spoken.append(.stopAsking)
  }
}
