import LockProtocol

/// One central's link and the session on it.
struct Link<Cryptography: NoiseCryptography> {
  let central: CentralIdentifier
  /// Whether the central listens for offers; one that only reads may be gone without a word.
  var isSubscribed: Bool
  let upSince: Int64
  /// The offer that is out, good for one command.
  var offered: LockSession<Cryptography>?
  var offeredAt: Int64
  /// The offer before that one. A command may be on its way to it when the next is made.
  var previouslyOffered: LockSession<Cryptography>?
  var previouslyOfferedAt: Int64
  /// A session whose command is being carried out, and which command that is.
  var answering: LockSession<Cryptography>?
  var operation: OperationMemory.Key?
  /// The phone that proved its key on this link.
  var phone: [UInt8]?
  /// After a restart: the phone that may be behind this link, unproven.
  var presumedPhone: [UInt8]?
  /// After a restart: until when the first command may be one that was on its way to an offer of the run before.
  var earlierRunUntil: Int64?
  /// When the phone counts as gone, where nobody would tell.
  var unheardDue: Int64?
  /// When to offer anew.
  var nextOffer: Int64?
  var repeatsLeft: Int

  /// Whether an offer has a phone look at its signal: one that is known, listens, and waits for nothing.
  var isLooking: Bool { isSubscribed && phone != nil && answering == nil }
}

extension LockFirmware {
  mutating func linkUp(_ central: CentralIdentifier) {
    // What was on an earlier link of this central is over: an offer belongs to one link.
    linkDown(central)
    makeRoomForLink()
    links.append(emptyLink(central, isSubscribed: true))
    offer(links.count - 1)
  }

  /// The last run knew who was behind this link and this one does not. Should it go before it has said, that counts as
  /// the leaving of the phone that unlocked. Should it say nothing, the start's own deadline locks.
  mutating func linkRestored(_ central: CentralIdentifier) {
    linkUp(central)
    guard let index = links.firstIndex(where: { $0.central == central }) else { return }
    links[index].earlierRunUntil = now + configuration.offerLifetimeMilliseconds
    if let unlockedBy { links[index].presumedPhone = unlockedBy }
  }

  mutating func linkDown(_ central: CentralIdentifier) {
    guard let index = links.firstIndex(where: { $0.central == central }) else { return }
    let link = links.remove(at: index)
    guard let phone = link.phone ?? link.presumedPhone else { return }
    depart(phone, isNoticed: link.isSubscribed)
  }

  mutating func offerRead(_ central: CentralIdentifier) {
    if failures.blockedUntil(central, at: now) != nil {
      effects.append(.answerRead(central, nil))
      return
    }
    var position = links.firstIndex { $0.central == central }
    if position == nil {
      makeRoomForLink()
      links.append(emptyLink(central, isSubscribed: false))
      position = links.count - 1
    }
    guard let position, links[position].answering == nil else {
      effects.append(.answerRead(central, nil))
      return
    }
    if links[position].offered == nil || now - links[position].offeredAt > configuration.offerLifetimeMilliseconds / 2 {
      makeOffer(position)
    }
    effects.append(.answerRead(central, links[position].offered?.offer))
  }

  mutating func commandWritten(_ central: CentralIdentifier, _ bytes: [UInt8]) {
    guard failures.blockedUntil(central, at: now) == nil else { return refuse(central, .waiting) }
    guard let index = links.firstIndex(where: { $0.central == central }), let current = links[index].offered else {
      return refuse(central, .noOffer)
    }
    guard now - links[index].offeredAt <= configuration.offerLifetimeMilliseconds else {
      refuse(central, .offerExpired)
      return offer(index)
    }
    var sessions = [current]
    if let previous = links[index].previouslyOffered,
      now - links[index].previouslyOfferedAt <= configuration.offerLifetimeMilliseconds
    {
      sessions.append(previous)
    }
    var refusal = LockSessionError.authenticationFailed
    let enrolledPhones = configuration.enrolledPhones
    for (number, offered) in sessions.enumerated() {
      var session = offered
      do throws(LockSessionError) {
        let (phone, command) = try session.accept(bytes) { enrolledPhones.contains($0) }
        return accepted(command, from: phone, session, on: index)
      } catch { if number == 0 || error != .authenticationFailed { refusal = error } }
    }
    // What failed has learned nothing, so the offer is still good for the command that belongs to it: a late one, or
    // another program's, does not take it from the phone. Who must wait is offered anew when that is over.
    failures.fail(central, at: now)
    let isOfEarlierRun = refusal == .authenticationFailed && (links[index].earlierRunUntil ?? now) > now
    links[index].earlierRunUntil = nil
    refuse(central, isOfEarlierRun ? .earlierRun : RefusalReason(refusal))
    if let blockedUntil = failures.blockedUntil(central, at: now) { links[index].nextOffer = blockedUntil }
  }

  /// A phone has proven its key: its command is carried out.
  private mutating func accepted(
    _ command: LockCommand, from phone: [UInt8], _ session: LockSession<Cryptography>, on index: Int
  ) {
    let central = links[index].central
    if failures.succeed(central, phone: phone) { effects.append(.storeTrusted(failures.trusted)) }
    links[index].offered = nil
    links[index].previouslyOffered = nil
    links[index].answering = session
    links[index].operation = OperationMemory.Key(phone: phone, operation: command.operation)
    links[index].phone = phone
    links[index].earlierRunUntil = nil
    links[index].unheardDue = links[index].isSubscribed ? nil : now + configuration.unheardDelayMilliseconds
    links[index].nextOffer = nil
    links[index].repeatsLeft = 0
    departures.removeAll { $0.phone == phone }
    if links[index].isSubscribed { doorWatch.proven(phone, linkedSince: links[index].upSince) }
    forgetOtherLinks(of: phone, than: central)
    effects.append(.respond(central, isAccepted: true))
    effects.append(.note(.commandAccepted(central, command)))
    execute(command, from: phone)
  }

  /// Tells every link that waits for this operation what became of it, and offers anew.
  mutating func answer(_ key: OperationMemory.Key, _ result: LockResult) {
    for index in links.indices where links[index].operation == key {
      guard var session = links[index].answering else { continue }
      links[index].answering = nil
      links[index].operation = nil
      let answer = LockAnswer(
        result: result, lockState: lockState, doorState: door, operation: key.operation,
        logIndex: nextRecordIndex - 1)
      do throws(LockSessionError) {
        effects.append(.sendAnswer(links[index].central, try session.seal(answer)))
      } catch {
        // A session that accepted a command seals one answer. If it can't, saying nothing is the safe answer.
      }
      offer(index)
    }
  }

  /// Offers anew where it is time to: to who has not spoken yet, and to who had to wait.
  mutating func refreshOffers() {
    for index in links.indices {
      guard let due = links[index].nextOffer, due <= now else { continue }
      offer(index)
    }
  }

  private mutating func offer(_ index: Int) {
    let central = links[index].central
    if let blockedUntil = failures.blockedUntil(central, at: now) {
      links[index].nextOffer = blockedUntil
      return
    }
    makeOffer(index)
    guard let session = links[index].offered, links[index].isSubscribed else { return }
    effects.append(.sendOffer(central, session.offer))
    effects.append(.note(.offerSent(central)))
    if links[index].repeatsLeft > 0 {
      links[index].repeatsLeft -= 1
      links[index].nextOffer = now + configuration.offerRepeatMilliseconds
    } else if links[index].isLooking, doorWatch.isSomebodyLeaving(at: now) {
      links[index].nextOffer = now + configuration.offerRepeatMilliseconds
    }
  }

  private mutating func makeOffer(_ index: Int) {
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

  private mutating func refuse(_ central: CentralIdentifier, _ reason: RefusalReason) {
    effects.append(.respond(central, isAccepted: false))
    effects.append(.note(.commandRefused(central, reason)))
  }

  private func emptyLink(_ central: CentralIdentifier, isSubscribed: Bool) -> Link<Cryptography> {
    Link(
      central: central, isSubscribed: isSubscribed, upSince: now, offered: nil, offeredAt: now, previouslyOffered: nil,
      previouslyOfferedAt: now, answering: nil, operation: nil, phone: nil, nextOffer: nil,
      repeatsLeft: isSubscribed ? configuration.offerRepeatCount : 0)
  }

  /// Where all places of those that have proven nothing are taken, the oldest of them goes.
  private mutating func makeRoomForLink() {
    guard links.count(where: { $0.phone == nil }) >= LockLimit.links else { return }
    guard let oldest = links.firstIndex(where: { $0.phone == nil }) else { return }
    links.remove(at: oldest)
  }

  /// The phone is on this link. What else it was heard on is stale where nobody listens, and bounded where somebody does.
  private mutating func forgetOtherLinks(of phone: [UInt8], than central: CentralIdentifier) {
    links.removeAll { $0.phone == phone && $0.central != central && !$0.isSubscribed }
    while links.count(where: { $0.phone == phone }) > LockLimit.linksOfOnePhone,
      let oldest = links.firstIndex(where: { $0.phone == phone && $0.central != central })
    {
      links.remove(at: oldest)
    }
  }
}

extension RefusalReason {
  init(_ error: LockSessionError) {
    switch error {
    case .wrongLength: self = .wrongLength
    case .used: self = .noOffer
    case .authenticationFailed, .otherOperation: self = .authenticationFailed
    case .notEnrolled: self = .notEnrolled
    case .malformed: self = .malformed
    }
  }
}
