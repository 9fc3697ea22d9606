import LockProtocol

/// A value in memory of its own. It is seldom there, and a board has no room to reserve for it in each link, or in each copy of the lock's
/// state on its stack.
final class Boxed<Value: Sendable>: Sendable {
  let value: Value

  init(_ value: Value) { self.value = value }
}

/// One central's link and the session on it.
struct Link<Cryptography: NoiseCryptography> {
  let central: CentralIdentifier
  /// Whether the central is subscribed to offers. The lock is not told when an unsubscribed one leaves.
  var isSubscribed: Bool
  let upSince: Int64
  /// The present offer, good for one command.
  var offered: LockSession<Cryptography>?
  var offeredAt: Int64
  /// The offer before that one. A command may be on its way to it when the next offer is made.
  var previouslyOffered: LockSession<Cryptography>? {
    get { previousBox?.value }
    set { previousBox = newValue.map { Boxed($0) } }
  }
  private var previousBox: Boxed<LockSession<Cryptography>>?
  var previouslyOfferedAt: Int64
  /// The session whose command is being carried out. `operation` is that command's operation.
  var answering: LockSession<Cryptography>? {
    get { answeringBox?.value }
    set { answeringBox = newValue.map { Boxed($0) } }
  }
  private var answeringBox: Boxed<LockSession<Cryptography>>?
  var operation: OperationMemory.Key?
  /// The conversations in which phones may ask on this link, the latest two.
  var conversations: [OpenConversation<Cryptography>] = []
  /// The grant that this phone brought, if it is a guest's.
  var grant: Grant?
  /// The phone that proved its key on this link.
  var phone: [UInt8]?
  /// The mark of a guest's grant, or 0. The guest's phone has proven its key on this link and was refused, but may come
  /// at another time or for something else.
  var expectedGrant: UInt64 = 0
  /// The link is from before a restart, and nobody has proven a key on it since.
  var isUnproven = false
  /// After a restart: until when the first command may still belong to an offer of the previous run.
  var earlierRunUntil: Int64?
  /// When the phone counts as gone if there is no report of its leaving.
  var unheardDue: Int64?
  /// When to make a new offer.
  var nextOffer: Int64?
  var repeatsLeft: Int
  /// The next offer comes with an answer, so another offer must follow to make the phone look at its signal.
  var owesLook = false
  /// Whether and when the present offer is sent again.
  var resending = OfferResending()
  /// The latest command that was accepted.
  var received: ReceivedCommand?
  /// The beginning of the hash of the latest command that was refused, or 0. The same command does not count as another
  /// failure.
  var refusedCommand: UInt32 = 0

  /// Whether an offer makes this phone look at its signal: the phone is known, is subscribed, and does not wait for an
  /// answer.
  var isLooking: Bool { isSubscribed && phone != nil && answering == nil }

  init(_ central: CentralIdentifier, isSubscribed: Bool, repeats: Int, at now: Int64) {
    self.central = central
    self.isSubscribed = isSubscribed
    upSince = now
    offeredAt = now
    previouslyOfferedAt = now
    repeatsLeft = isSubscribed ? repeats : 0
  }
}

extension LockFirmware {
  mutating func linkUp(_ central: CentralIdentifier) {
    // Everything on an earlier link of this central is over: an offer belongs to one link.
    linkDown(central)
    guard makeRoomForLink(central) else { return }
    links.append(emptyLink(central, isSubscribed: true))
    firstOffer(links.count - 1)
  }

  /// The last run knew which phone was behind this link, but this run does not. If the link is lost before the phone
  /// has proven itself, that counts as the leaving of the phone that is presumed here. If the phone stays silent, the
  /// deadline that was set at the start locks the bolt.
  mutating func linkRestored(_ central: CentralIdentifier) {
    linkUp(central)
    guard let index = links.firstIndex(where: { $0.central == central }) else { return }
    links[index].earlierRunUntil = now + configuration.offerLifetimeMilliseconds
    links[index].isUnproven = true
  }

  mutating func linkDown(_ central: CentralIdentifier) {
    guard let index = links.firstIndex(where: { $0.central == central }) else { return }
    let link = links.remove(at: index)
    if let received = link.received { keep(received, of: central) }
    guard let phone = link.phone ?? (link.isUnproven ? presumedHere : nil) else { return }
    depart(phone, isNoticed: link.isSubscribed)
  }

  mutating func offerRead(_ central: CentralIdentifier) {
    if failures.blockedUntil(central, at: now) != nil {
      effects.append(.answerRead(central, nil))
      return
    }
    var position = links.firstIndex { $0.central == central }
    if position == nil {
      guard makeRoomForLink(central) else { return effects.append(.answerRead(central, nil)) }
      links.append(emptyLink(central, isSubscribed: false))
      position = links.count - 1
    }
    guard let position, links[position].answering == nil else {
      effects.append(.answerRead(central, nil))
      return
    }
    let age = now - links[position].offeredAt
    if links[position].offered == nil || age > LockLimit.freshOfferMilliseconds {
      // An offer that is due stays due, because it wakes a phone that has stopped on its way.
      let due = links[position].nextOffer
      makeOffer(position)
      links[position].nextOffer = due
    }
    effects.append(.answerRead(central, links[position].offered?.offer))
  }

  mutating func commandWritten(_ central: CentralIdentifier, _ bytes: [UInt8]) {
    guard failures.blockedUntil(central, at: now) == nil else { return refuse(central, .waiting) }
    guard let index = links.firstIndex(where: { $0.central == central }) else { return refuse(central, .noOffer) }
    let digest = Cryptography.hash(bytes)
    if let late = lateCommand(central, digest) { return receivedAgain(late, central) }
    links[index].resending.end()
    if let received = links[index].received, received.digest == digest { return receivedAgain(received, central) }
    guard let current = links[index].offered else { return refuse(central, .noOffer) }
    let mark = digest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    if mark != 0, links[index].refusedCommand == mark { return refuse(central, .authenticationFailed) }
    guard now - links[index].offeredAt <= configuration.offerLifetimeMilliseconds else {
      return refuseLate(mark, on: index)
    }
    var sessions = [current]
    if let previous = links[index].previouslyOffered,
      now - links[index].previouslyOfferedAt <= configuration.offerLifetimeMilliseconds
    {
      sessions.append(previous)
    }
    var refusal = LockSessionError.authenticationFailed
    for (number, offered) in sessions.enumerated() {
      var session = offered
      do throws(LockSessionError) {
        let (phone, command, grant) = try session.accept(bytes) { admits($0, $1) }
        let madeAt = number == 0 ? links[index].offeredAt : links[index].previouslyOfferedAt
        guard command.kind == .status || now - madeAt <= configuration.movingOfferLifetimeMilliseconds else {
          return refuseLate(mark, on: index)
        }
        links[index].received = ReceivedCommand(digest: digest)
        return accepted(command, from: phone, grant, session, on: index)
      } catch { if number == 0 || error != .authenticationFailed { refusal = error } }
    }
    // A failed write has learned nothing, so the offer is still good for the command that belongs to it: a late
    // write, or one of another program, does not use it up. A central that must wait gets a new offer when the wait
    // is over.
    failures.fail(central, at: now)
    links[index].refusedCommand = mark
    let isOfEarlierRun = refusal == .authenticationFailed && (links[index].earlierRunUntil ?? now) > now
    links[index].earlierRunUntil = nil
    refuse(central, isOfEarlierRun ? .earlierRun : RefusalReason(refusal))
    if failures.isWindowFull(at: now) { tooManyWrongCodes() }
    if let blockedUntil = failures.blockedUntil(central, at: now) { links[index].nextOffer = blockedUntil }
  }

  /// A phone has proven its key, so its command is carried out.
  private mutating func accepted(
    _ command: LockCommand, from phone: [UInt8], _ grant: [UInt8], _ session: LockSession<Cryptography>, on index: Int
  ) {
    let central = links[index].central
    var grant = grant.isEmpty ? nil : try? Grant(decoding: grant)
    // The grant's bytes are shared, because a board has little memory.
    if grant == links[index].grant { grant = links[index].grant }
    if let grant, let refusal = refusal(of: grant, for: command.kind) ?? refusalOfLink(of: phone, on: index) {
      return refuse(command, of: grant, refusal, session, on: index)
    }
    links[index].grant = grant
    let isNewName =
      grant.map { access.remember(KeyName(key: phone, name: $0.name), limit: configuration.capacity.guests) } ?? false
    if failures.succeed(central, phone: phone) {
      if grant != nil { _ = failures.limitGuests(to: configuration.capacity.guestsCentrals, besides: ownersPhones) }
      effects.append(.storeTrusted(failures.trusted))
    }
    links[index].offered = nil
    links[index].previouslyOffered = nil
    links[index].answering = session
    links[index].operation = OperationMemory.Key(phone: phone, operation: command.operation)
    links[index].phone = phone
    links[index].isUnproven = false
    if presumed?.phone == phone { presumed = nil }
    links[index].earlierRunUntil = nil
    links[index].unheardDue = links[index].isSubscribed ? nil : now + configuration.unheardDelayMilliseconds
    links[index].nextOffer = nil
    links[index].repeatsLeft = 0
    departures.removeAll { $0.phone == phone }
    if links[index].isSubscribed { doorWatch.proven(phone, linkedSince: links[index].upSince) }
    forgetOtherLinks(of: phone, than: central)
    effects.append(.respond(central, isAccepted: true))
    effects.append(.note(.commandAccepted(central, command)))
    execute(command, from: phone, grant)
    // After the command's record: a name that can't be stored keeps nobody out.
    if isNewName { storeAccess() }
  }

  /// An authentic grant does not allow the command. The guest learns why. For the lock, nobody has come.
  private mutating func refuse(
    _ command: LockCommand, of grant: Grant, _ refusal: LockResult, _ session: LockSession<Cryptography>, on index: Int
  ) {
    let central = links[index].central
    // A guest who waits at the door for their time does no harm by saying so.
    let isEarly = refusal == .outsideSchedule || refusal == .clockUnknown || refusal == .tooManyGuests
    if !isEarly || command.kind != .status {
      // Each refusal makes a record, so a guest who goes on must wait, even one whose commands were accepted before.
      if failures.distrust(central) { effects.append(.storeTrusted(failures.trusted)) }
      if isEarly { failures.delay(central, at: now) } else { failures.fail(central, at: now) }
    }
    // Owners know this guest, so the radio does not treat the guest's phone as a stranger.
    if refusal != .revoked { failures.turnAway(central, phone: grant.phone) }
    links[index].expectedGrant = refusal != .revoked && refusal != .expired ? grant.mark : 0
    // The phone behind this link is known now, and it keeps no door open.
    links[index].isUnproven = false
    let key = OperationMemory.Key(phone: grant.phone, operation: command.operation)
    links[index].offered = nil
    links[index].previouslyOffered = nil
    links[index].answering = session
    links[index].operation = key
    links[index].nextOffer = nil
    // The phone has answered the offer. It comes back when there is something new.
    links[index].repeatsLeft = 0
    effects.append(.respond(central, isAccepted: true))
    effects.append(.note(.commandRefused(central, .notAllowed)))
    let target: BoltTarget = command.kind == .lock ? .locked : .unlocked
    guard command.kind != .status else {
      // A status command is not remembered as an operation, so the next one is judged anew.
      if isEarly { return answer(key, refusal) }
      append(.command, target: target, cause: .phone, result: refusal, key: key, then: .nothing)
      return answer(key, refusal)
    }
    if operations.knows(key) {
      if let result = operations.result(of: key) { answer(key, result) }
      return
    }
    operations.remember(key, nil)
    conclude(key, target, refusal)
  }

  /// Tells every link that waits for this operation its outcome, and makes new offers.
  mutating func answer(_ key: OperationMemory.Key, _ result: LockResult) {
    for index in links.indices where links[index].operation == key {
      guard var session = links[index].answering else { continue }
      links[index].answering = nil
      links[index].operation = nil
      let answer = LockAnswer(
        result: result, lockState: lockState, doorState: door, operation: key.operation,
        logIndex: durableRecordIndex)
      do throws(LockSessionError) {
        let sealed = try session.seal(answer)
        links[index].received?.answer = sealed
        effects.append(.sendAnswer(links[index].central, sealed))
        if links[index].phone == key.phone, let conversation = session.conversation {
          var open = OpenConversation(conversation: conversation, phone: key.phone, grant: links[index].grant)
          open.conversation.limitMessages(to: configuration.capacity.requestByteCount)
          converse(open, on: index)
        }
      } catch {
        // A session that accepted a command seals one answer. If it can't, sending nothing is the safe choice.
      }
      offer(index)
    }
  }

  private mutating func refuse(_ central: CentralIdentifier, _ reason: RefusalReason) {
    effects.append(.respond(central, isAccepted: false))
    effects.append(.note(.commandRefused(central, reason)))
  }

  /// The offer is too old for its command. Its phone may want it still, and gets another offer for it. The same bytes again are no
  /// wrong command.
  private mutating func refuseLate(_ mark: UInt32, on index: Int) {
    links[index].refusedCommand = mark
    refuse(links[index].central, .offerExpired)
    offer(index)
  }

  private func emptyLink(_ central: CentralIdentifier, isSubscribed: Bool) -> Link<Cryptography> {
    Link(central, isSubscribed: isSubscribed, repeats: configuration.offerRepeatCount, at: now)
  }

  /// If there are too many links, the oldest that has proven nothing is dropped.
  /// - Returns: whether there is room for another one.
  private mutating func makeRoomForLink(_ central: CentralIdentifier) -> Bool {
    let capacity = configuration.capacity
    let isFull = links.count >= capacity.links || links.count { $0.phone == nil } >= capacity.strangersLinks
    guard isFull else { return true }
    guard let oldest = links.firstIndex(where: { $0.phone == nil }) else {
      effects.append(.note(.linkRefused(central)))
      return false
    }
    links.remove(at: oldest)
    return true
  }

  /// Why no further guest may stay on a link, or `nil` if there is room.
  private func refusalOfLink(of phone: [UInt8], on index: Int) -> LockResult? {
    let others = links.indices.filter { place in
      place != index && links[place].grant != nil && links[place].phone != nil && links[place].phone != phone
    }
    return others.count < configuration.capacity.guestsLinks ? nil : .tooManyGuests
  }

  /// The phone is on this link. Its other links are stale if they are not subscribed, and limited in number if they
  /// are.
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
