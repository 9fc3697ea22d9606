import TimeTypes

/// Something that the owner wants of the lock, until it has answered.
struct Errand: Sendable {
  var kind: HomeErrand
  /// Its number at the lock. If it is written twice, the bolt moves once.
  var operation: UInt64
  var due: Instant
  /// Whether it may have reached the lock.
  var isWritten = false
  /// It was taken back when it was already written: it is not written again.
  var isTakenBack = false

  var command: HomeCommand {
    switch kind {
    case .lock: .lock
    case .look: .status
    }
  }
}

extension HomePolicy {
  /// One errand at a time: a new one takes the place of one that has not been answered.
  mutating func errandAsked(_ kind: HomeErrand, at time: HomeTime, using random: inout some RandomNumberGenerator) {
    concludeErrand(.noAnswer)
    guard state.isLinked || asksForLink(at: time) else {
      spoken.append(.answerErrand(.notLinked))
      return
    }
    errand = Errand(
      kind: kind, operation: UInt64.random(in: 1 ... .max, using: &random),
      due: time.instant + configuration.wordLifetime)
    offerReadsLeft = configuration.offerReads
    offerDue = nil
    guard kind == .lock else { return }
    endApproach()
    if state.opening?.isWritten == false {
      state.opening = nil
      // The later one of two commands counts.
      concludeWord(.overtaken)
    }
    store()
  }

  /// The owner has taken it back. If it was written, the lock may still say soon what came of it.
  mutating func errandTakenBack(at time: HomeTime) {
    guard let taken = errand else { return }
    guard taken.isWritten else { return concludeErrand(.takenBack) }
    errand?.isTakenBack = true
    if awaited?.operation == taken.operation { rewriting = nil }
    errand?.due = min(taken.due, time.instant + configuration.takenBackPatience)
  }

  /// Who locks a door does not want it opened by the approach that brought them there, nor by one that begins with their link.
  mutating func endApproach() {
    endBeginning()
    let isDecided = state.opening.map { !$0.isWritten && $0.because == .approach } ?? false
    guard state.approach != nil || isDecided else { return }
    state.approach = nil
    if isDecided { state.opening = nil }
    store()
  }

  mutating func concludeErrand(_ outcome: ErrandOutcome) {
    guard let ended = errand else { return }
    errand = nil
    let isUnknown = outcome == .noAnswer || outcome == .linkLost
    spoken.append(.answerErrand(ended.isTakenBack && isUnknown ? .sentAlready : outcome))
  }
}
