import LockProtocol

/// Sends an offer again, after ever longer pauses, until a command arrives. This is needed because a value that is
/// notified in the first moments of a link gets lost if the other side does not listen yet.
struct OfferResending: Sendable {
  /// How often a link's first offer is sent again: after 50, 100, 200 … 1600 ms, which is twice what the slowest usual link
  /// takes to be ready.
  private static let limit = 6
  private static let firstPause: Int64 = 50
  /// The pause for later offers, which wake a phone. A phone of an earlier release is woken by the form of the second
  /// sending, and a newer one is still awake then.
  private static let laterPause: Int64 = 400

  private(set) var due: Int64?
  private var left = 0
  private var pause = OfferResending.firstPause
  /// Whether the next sending is the last.
  var isLast: Bool { left == 1 }

  mutating func begin(isFirst: Bool, at now: Int64) {
    left = isFirst ? Self.limit : 1
    pause = isFirst ? Self.firstPause : Self.laterPause
    due = now + pause
  }

  mutating func hasSent(at now: Int64) {
    left -= 1
    pause *= 2
    due = left > 0 ? now + pause : nil
  }

  mutating func end() { due = nil }
}

/// A command that was accepted. If the phone did not hear that, it writes the same bytes again. It then gets the same
/// answer, and nothing else happens, because a session seals only one answer.
struct ReceivedCommand: Sendable {
  /// The hash of all its bytes.
  let digest: [UInt8]
  /// The sealed answer, once it was sent.
  var answer: [UInt8]?
}

/// The latest accepted command of a link that has ended. The phone's system may restart between the command and its
/// answer. It then subscribes again, which begins a new link here, and writes the same bytes again.
struct LateCommand: Sendable {
  let central: CentralIdentifier
  let received: ReceivedCommand
  let until: Int64
}

extension LockFirmware {
  /// Makes new offers when they are due: to phones that haven't answered yet or had to wait. Sends others again.
  mutating func refreshOffers() {
    for index in links.indices {
      if let due = links[index].nextOffer, due <= now { offer(index) }
      if let due = links[index].resending.due, due <= now { resend(index) }
    }
  }

  mutating func offer(_ index: Int) {
    let central = links[index].central
    links[index].resending.end()
    if let blockedUntil = failures.blockedUntil(central, at: now) {
      links[index].nextOffer = blockedUntil
      return
    }
    makeOffer(index)
    guard let session = links[index].offered, links[index].isSubscribed else { return }
    let isFirst = links[index].repeatsLeft == configuration.offerRepeatCount
    if let values = values(of: session.offer, for: index) {
      effects.append(.sendOffer(central, values))
      // A whole offer can be used by a phone of an earlier release, so it is not sent again.
      let isWhole = values[0].count == LockService.offerByteCount
      let isSpare = links[index].phone != nil && !isLookedFor(index)
      if !isWhole, !isSpare { links[index].resending.begin(isFirst: isFirst, at: now) }
    } else {
      effects.append(.sendOffer(central, [LockService.offerHint]))
    }
    effects.append(.note(.offerSent(central)))
    if links[index].repeatsLeft > 0 {
      links[index].repeatsLeft -= 1
      links[index].nextOffer = now + configuration.offerRepeatMilliseconds
    } else if isLookedFor(index) {
      let isSoon = links[index].owesLook
      links[index].nextOffer = now + (isSoon ? LockLimit.lookPauseMilliseconds : configuration.offerRepeatMilliseconds)
    }
    links[index].owesLook = false
  }

  private func isLookedFor(_ index: Int) -> Bool { links[index].isLooking && isSomebodyLeaving }

  mutating func makeOffer(_ index: Int) {
    links[index].nextOffer = nil
    links[index].previouslyOffered = links[index].offered
    links[index].previouslyOfferedAt = links[index].offeredAt
    links[index].offeredAt = now
    do throws(LockSessionError) {
      links[index].offered = try LockSession(
        identity: configuration.identity, staticKey: staticKey, using: &cryptography)
    } catch {
      links[index].offered = nil
    }
  }

  /// The phone behind this link, if it has proven its key on it or from the same address before. Offers to such a phone
  /// are marked for it.
  private func knownPhone(_ index: Int) -> [UInt8]? {
    let central = links[index].central
    return links[index].phone
      ?? (failures.trusted + failures.turnedAway).first { $0.central == central }?.phone
  }

  /// Sends a link's first offer, or sets its time. It goes out at once, unless other subscriptions may be about to be
  /// reported: those phones would take the offer for theirs.
  mutating func firstOffer(_ index: Int) {
    let delay = configuration.firstOfferDelayMilliseconds
    guard delay > 0, !configuration.notifiesOneAlone, isAlone(index), knownPhone(index) == nil else {
      return offer(index)
    }
    links[index].nextOffer = now + delay
  }

  /// Whether nobody else hears what is notified, as far as the lock knows. A radio that can't notify one central alone
  /// does not report everybody who listens.
  private func isAlone(_ index: Int) -> Bool {
    configuration.notifiesOneAlone || links.count(where: { $0.isSubscribed }) == 1
  }

  /// The values that carry an offer, or `nil` if the phone must read it, because others would hear it and the lock can't
  /// tell whose it is.
  private func values(of offer: [UInt8], for index: Int) -> [[UInt8]]? {
    if configuration.notifiesOneAlone {
      // A link over which an answer has gone carries the whole.
      return links[index].phone != nil ? [offer] : OfferFragments.cut(offer, using: Cryptography.self)
    }
    // The offer is marked for its phone even if that one seems to be alone, because another may listen of which the
    // lock was not told.
    if let phone = knownPhone(index) { return OfferFragments.cut(offer, for: phone, using: Cryptography.self) }
    return isAlone(index) ? OfferFragments.cut(offer, using: Cryptography.self) : nil
  }

  /// Sends the offer again. The last time it is in the form that phones of earlier releases know: whole or, if others
  /// may hear it, as a hint to read it.
  private mutating func resend(_ index: Int) {
    let isLast = links[index].resending.isLast
    links[index].resending.hasSent(at: now)
    guard let session = links[index].offered, links[index].isSubscribed else { return links[index].resending.end() }
    if !isLast, let values = values(of: session.offer, for: index) {
      effects.append(.sendOffer(links[index].central, values))
    } else {
      let isForAll = configuration.notifiesOneAlone || (isAlone(index) && knownPhone(index) == nil)
      effects.append(.sendOffer(links[index].central, [isForAll ? session.offer : LockService.offerHint]))
    }
  }

  /// Commands that were written while this process stood still are still to come. Whoever sent them has given up by now, and may be
  /// gone, so they are refused. A phone that still wants something gets another offer then.
  mutating func voidOffers() {
    let past = now - configuration.offerLifetimeMilliseconds - 1
    for index in links.indices {
      links[index].offeredAt = min(links[index].offeredAt, past)
      links[index].previouslyOfferedAt = min(links[index].previouslyOfferedAt, past)
    }
  }

  /// Whether a command may come that counts.
  package var hasOffers: Bool {
    links.contains { $0.offered != nil && now - $0.offeredAt <= configuration.offerLifetimeMilliseconds }
  }

  /// The phone did not hear that its command arrived, or what became of it.
  mutating func receivedAgain(_ received: ReceivedCommand, _ central: CentralIdentifier) {
    effects.append(.respond(central, isAccepted: true))
    if let answer = received.answer { effects.append(.sendAnswer(central, answer)) }
  }

  /// Keeps the accepted command of a link that ends, for as long as its offer could have been used.
  mutating func keep(_ received: ReceivedCommand, of central: CentralIdentifier) {
    let now = now
    lateCommands.removeAll { $0.central == central || $0.until <= now }
    if lateCommands.count >= configuration.capacity.lateCommands { lateCommands.removeFirst() }
    lateCommands.append(
      LateCommand(central: central, received: received, until: now + configuration.offerLifetimeMilliseconds))
  }

  /// The command with the same bytes that was accepted on an earlier link of this central, or `nil`.
  func lateCommand(_ central: CentralIdentifier, _ digest: [UInt8]) -> ReceivedCommand? {
    lateCommands.first { $0.central == central && $0.received.digest == digest && $0.until > now }?.received
  }
}
