import TimeTypes

/// Commands on their way, and the offers for them.
extension HomePolicy {
  mutating func write(_ command: HomeCommand, operation: UInt64, at time: HomeTime) {
    guard let offeredAt else {
      guard offerDue == nil, offerReadsLeft > 0 else { return }
      // The offer that follows an answer is on its way already. A read would be answered after it.
      if let due = spareOfferUntil, due > time.instant { offerDue = due } else { readOffer(at: time) }
      return
    }
    guard isFresh(offeredAt, for: command, at: time) else { return readOffer(at: time) }
    self.offeredAt = nil
    awaited = (command, operation)
    if var written = errand, operation == written.operation {
      written.isWritten = true
      if written.kind == .lock { written.due = max(written.due, decidedAt(offeredAt)) }
      errand = written
    }
    answerDue = time.instant + configuration.answerPatience
    rewriting = Rewriting(at: time.instant, configuration)
    effects.append(.write(command, operation: operation))
  }

  func isFresh(_ offeredAt: Instant, for command: HomeCommand, at time: HomeTime) -> Bool {
    let lifetime = command == .status ? configuration.offerLifetime : configuration.movingOfferLifetime
    return time.instant - offeredAt <= lifetime
  }

  /// When a command to an offer that arrived at that time is over, and its outcome known: the lock has carried it out, or never will.
  func decidedAt(_ offeredAt: Instant) -> Instant {
    offeredAt + configuration.movingOfferLimit + configuration.turnDuration
  }

  /// Asks for an offer, and a few times again if none comes. The lock offers by itself when it can.
  mutating func readOffer(at time: HomeTime) {
    offeredAt = nil
    guard offerReadsLeft > 0 else { return }
    offerReadsLeft -= 1
    isOfferAsked = true
    offerDue = time.instant + configuration.answerPatience
    effects.append(.readOffer)
  }

  mutating func expectOffer(at time: HomeTime) {
    offerReadsLeft = configuration.offerReads
    offerDue = time.instant + configuration.offerPatience
  }

  mutating func commandIsLost() {
    awaited = nil
    rewriting = nil
    answerDue = nil
    // If the phone is still near, it is still in doubt.
    doubt = nil
  }
}

/// A command that was written without a response and may be lost on a link that is coming up. The same bytes are written
/// again: the lock knows them, and carries them out once.
struct Rewriting: Sendable {
  private var writtenAt: Instant
  private var left: Int
  /// When the command is written to be confirmed.
  private(set) var due: Instant?

  init(at now: Instant, _ configuration: HomeConfiguration) {
    writtenAt = now
    left = configuration.rewrites
    due = now + configuration.confirmationPatience
  }

  /// The lock still offers. Returns whether to write again.
  mutating func offerRepeated(at now: Instant, _ configuration: HomeConfiguration) -> Bool {
    guard left > 0, now - writtenAt >= configuration.writingPatience else { return false }
    left -= 1
    writtenAt = now
    return true
  }

  /// Returns whether to write again, once, to be confirmed.
  mutating func takeDue(at now: Instant) -> Bool {
    guard let due, due <= now else { return false }
    self.due = nil
    left = 0
    return true
  }
}
