import LockFirmware
import LockProtocol

/// Plays a lock on a board that is full: phones, guests, counted and revoked grants, and on every link a phone that has
/// proven itself and asks something. What does not fit is refused, and the trace shows how.
package struct RoomScript {
  private typealias Cryptography = StandInCryptography

  private let capacity = LockCapacity.board
  private let identity: LockIdentity
  private let lockKey: Cryptography.PrivateKey
  private let phoneKeys: [Cryptography.PrivateKey]
  private let signingKey: [UInt8]
  private let secret: [UInt8]
  private var cryptography: Cryptography
  private var firmware: LockFirmware<Cryptography>
  private var milliseconds: Int64 = 1000
  private var nextOperation: UInt64 = 1
  private var waiting: [LockEvent] = []
  private var offer: [UInt8]?
  private var answer: [UInt8]?
  private var reply: [UInt8]?
  private var position = BoltPosition.locked

  package private(set) var trace = TraceHash()
  package private(set) var eventCount: UInt64 = 0
  package private(set) var answerCount: UInt64 = 0
  package private(set) var replyCount: UInt64 = 0
  package private(set) var turnCount: UInt64 = 0
  /// How many links, guests and requests were refused because there was no room.
  package private(set) var refusalCount: UInt64 = 0
  /// The longest encoded `AccessState` that was to be stored, in bytes.
  package private(set) var longestAccess = 0

  package init(seed: UInt64) {
    var random = ScriptRandom(seed: seed)
    guard let identity = LockIdentity(random.bytes(LockIdentity.byteCount)) else {
      preconditionFailure("an identity has as many bytes as it has")
    }
    self.identity = identity
    lockKey = Cryptography.privateKey(from: random.bytes(32))
    var phoneKeys: [Cryptography.PrivateKey] = []
    for _ in 0..<capacity.phones + capacity.guests { phoneKeys.append(Cryptography.privateKey(from: random.bytes(32))) }
    self.phoneKeys = phoneKeys
    signingKey = random.bytes(NoiseSize.keyByteCount)
    secret = random.bytes(NoiseSize.keyByteCount)
    cryptography = Cryptography(seed: random.next())
    var configuration = LockConfiguration(identity: identity, enrolledPhones: [])
    configuration.capacity = capacity
    configuration.notifiesOneAlone = true
    configuration.enrolmentSecret = secret
    let access = Self.access(of: phoneKeys, signingKey, identity, &random)
    var trusted: [TrustedCentral] = []
    for (number, key) in phoneKeys.enumerated() {
      let links = number < capacity.phones ? LockLimit.linksOfOnePhone : 1
      for place in 0..<links {
        let central = CentralIdentifier(high: UInt64(place) + 1, low: UInt64(number))
        trusted.append(TrustedCentral(central: central, phone: Cryptography.bytes(of: Cryptography.publicKey(of: key))))
      }
    }
    firmware = LockFirmware(
      configuration, staticKey: lockKey, using: cryptography, records: [], trusted: trusted, access: access,
      position: .locked, door: .closed, at: LockTime(milliseconds: 1000, unixSeconds: 0))
  }

  /// As many entries of each kind as there is room for, with the longest names.
  private static func access(
    of phoneKeys: [Cryptography.PrivateKey], _ signingKey: [UInt8], _ identity: LockIdentity,
    _ random: inout ScriptRandom
  ) -> AccessState {
    let capacity = LockCapacity.board
    var access = AccessState()
    for (number, key) in phoneKeys.enumerated() {
      let phone = Cryptography.bytes(of: Cryptography.publicKey(of: key))
      let name = [UInt8](repeating: 0x41 + UInt8(number), count: KeyName.nameByteLimit)
      if number < capacity.phones { access.phones.append(KeyName(key: phone, name: name)) }
      if number >= capacity.phones { access.guests.append(KeyName(key: phone, name: name)) }
      guard number < capacity.owners else { continue }
      let key = number == 0 ? signingKey : random.bytes(NoiseSize.keyByteCount)
      access.owners.append(AccessState.Owner(phone: phone, signingKey: key, name: name))
    }
    for number in 0..<capacity.lists {
      var entries: [RevocationList.Entry] = []
      for _ in 0..<capacity.listEntries / capacity.lists {
        entries.append(.grant(random.bytes(RevocationList.entryByteCount)))
      }
      access.lists.append(
        RevocationList(
          lock: identity, issuer: access.owners[number].signingKey, version: 1, entries: entries,
          signature: random.bytes(Grant.signatureByteCount)))
    }
    // The first of these grants belong to the guests who come.
    for number in 0..<capacity.countedGrants {
      access.uses.append(AccessState.Use(grant: identifier(number), count: 1, until: 4_000_000_000))
    }
    return access
  }

  private static func identifier(_ number: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(number), count: Grant.identifierByteCount)
  }

  /// Everybody comes, asks, opens, locks and goes.
  package mutating func round() {
    // Strangers first, more than there is room for.
    for number in 0..<UInt64(capacity.links) + 2 { happens(.linkUp(CentralIdentifier(high: 9, low: number))) }
    pass(20_000)
    let guests = capacity.phones..<capacity.phones + capacity.guestsLinks
    let owners = 0..<capacity.links - capacity.guestsLinks
    for _ in 0..<2 {
      for who in guests { come(who) }
      for who in owners { come(who) }
    }
    // No place is left, and an owner's is not a guest's.
    happens(.linkUp(CentralIdentifier(high: 9, low: 0)))
    happens(.linkDown(central(0)))
    come(guests.upperBound)
    happens(.linkDown(central(guests.upperBound)))
    come(0)
    // Requests that never end.
    for who in Array(guests) + Array(owners) { begin(who) }
    for who in Array(guests) + [1] { ask(who, .state) }
    for request in [
      LockRequest.names(from: 0), .owners(from: 0), .room, .log(from: 1, count: 32), .setClock(1_800_000_000),
    ] {
      ask(1, request)
    }
    ask(1, .deliver(list(entryCount: capacity.listEntries / capacity.lists)))
    ask(1, .deliver(list(entryCount: capacity.listEntries)))
    // A guest who is counted, and one whom the lock can't count.
    command(guests.lowerBound, .unlock, grant(guests.lowerBound))
    stop()
    var uncounted = grant(guests.lowerBound)
    uncounted.identifier = Self.identifier(200)
    uncounted.signature = Cryptography.signature(of: uncounted.signedBytes, by: signingKey)
    command(0, .lock, nil)
    stop()
    command(guests.lowerBound, .unlock, uncounted)
    // Enrolments that never end.
    happens(.enrolmentButton)
    for number in 0..<6 as Range<UInt64> { startEnrolment(CentralIdentifier(high: 9, low: number)) }
    pass(200_000)
    for who in Array(guests) + Array(owners) { happens(.linkDown(central(who))) }
    for number in 0..<UInt64(capacity.links) + 2 { happens(.linkDown(CentralIdentifier(high: 9, low: number))) }
    pass(3_600_000)
    stop()
  }

  // MARK: Phones

  private func central(_ who: Int) -> CentralIdentifier { CentralIdentifier(high: 1, low: UInt64(who)) }

  private func grant(_ who: Int) -> Grant {
    var grant = Grant(
      lock: identity, identifier: Self.identifier(who - capacity.phones),
      phone: Cryptography.bytes(of: Cryptography.publicKey(of: phoneKeys[who])), issuer: signingKey, schedule: .always,
      uses: .max, permissions: [.unlock, .lock, .readLog],
      name: [UInt8](repeating: 0x41 + UInt8(who), count: KeyName.nameByteLimit))
    grant.schedule.until = 4_000_000_000
    grant.schedule.until = .max
    grant.signature = Cryptography.signature(of: grant.signedBytes, by: signingKey)
    return grant
  }

  private func list(entryCount: Int) -> [UInt8] {
    var list = RevocationList(
      lock: identity, issuer: signingKey, version: nextOperation,
      entries: Array(repeating: .grant(Self.identifier(250)), count: entryCount))
    list.signature = Cryptography.signature(of: list.signedBytes, by: signingKey)
    return list.encoded
  }

  private mutating func come(_ who: Int) {
    happens(.linkUp(central(who)))
    _ = command(who, .status, who < capacity.phones ? nil : grant(who))
    _ = command(who, .status, who < capacity.phones ? nil : grant(who))
  }

  /// - Returns: the conversation after the answer.
  @discardableResult
  private mutating func command(
    _ who: Int, _ kind: LockCommand.Kind, _ grant: Grant?
  ) -> Conversation<StandInCryptography>? {
    offer = nil
    answer = nil
    happens(.offerRead(central(who)))
    guard let offer else { return nil }
    do throws(LockSessionError) {
      var session = try PhoneSession<Cryptography>(
        offer: offer, identity: identity, lockKey: Cryptography.publicKey(of: lockKey), phoneKey: phoneKeys[who])
      self.offer = nil
      let message = try session.seal(
        LockCommand(kind, operation: nextOperation), grant: grant?.encoded ?? [], using: &cryptography)
      nextOperation += 1
      happens(.commandWritten(central(who), message))
      guard let answer else { return nil }
      let opened = try session.open(answer)
      answerCount += 1
      trace.mix(opened.result.rawValue)
      if opened.result == .tooManyGuests || opened.result == .tooManyGrants { refusalCount += 1 }
      return session.conversation
    } catch {
      trace.mix(0xEE as UInt8)
      return nil
    }
  }

  /// Begins a request that is as long as the lock allows, without ever ending it.
  private mutating func begin(_ who: Int) {
    guard let conversation = command(who, .status, who < capacity.phones ? nil : grant(who)) else { return }
    for number in 0..<5 {
      let header = UInt8(number) | (number == 0 ? 0x40 : 0)
      happens(.requestWritten(central(who), [conversation.tag, header] + [UInt8](repeating: 7, count: 200)))
    }
  }

  private mutating func ask(_ who: Int, _ request: LockRequest) {
    guard var conversation = command(who, .status, who < capacity.phones ? nil : grant(who)) else { return }
    reply = nil
    do throws(LockSessionError) {
      let sealed = try conversation.seal(request.encoded)
      for fragment in Fragments.cut(sealed, tag: conversation.tag, valueByteCount: 244) {
        happens(.requestWritten(central(who), fragment))
      }
      guard let reply else { return }
      self.reply = nil
      for fragment in Fragments.cut(reply, tag: conversation.tag, valueByteCount: 244) {
        guard let text = conversation.take(fragment) else { continue }
        replyCount += 1
        trace.mix(text)
        if text.count == 3, text[2] == LockReplyStatus.noRoom.rawValue { refusalCount += 1 }
      }
    } catch { trace.mix(0xED as UInt8) }
  }

  private mutating func startEnrolment(_ central: CentralIdentifier) {
    do throws(LockSessionError) {
      let session = try EnrolmentOfPhone<Cryptography>(secret: secret, staticKey: phoneKeys[0], using: &cryptography)
      for fragment in Fragments.cut(session.start, tag: session.tag, valueByteCount: 244) {
        happens(.enrolmentWritten(central, fragment))
      }
    } catch { trace.mix(0xEC as UInt8) }
  }

  // MARK: What happens

  private mutating func pass(_ time: Int64) {
    milliseconds += time
    happens(.timePassed)
  }

  private mutating func stop() {
    milliseconds += 600
    happens(.boltStopped(position))
  }

  private mutating func happens(_ event: LockEvent) {
    waiting.append(event)
    while !waiting.isEmpty {
      let event = waiting.removeFirst()
      eventCount += 1
      for effect in firmware.handle(event, at: LockTime(milliseconds: milliseconds, unixSeconds: milliseconds / 1000)) {
        perform(effect)
      }
    }
    trace.mix(firmware.lockState.rawValue)
    trace.mix(UInt64(bitPattern: firmware.nextDeadline?.milliseconds ?? -1))
  }

  private mutating func perform(_ effect: LockEffect) {
    switch effect {
    case .answerRead(_, let bytes): offer = bytes
    case .sendAnswer(_, let bytes): answer = bytes
    case .sendReply(_, _, let message): reply = message
    case .appendRecord(let record):
      trace.mix(record.encoded)
      waiting.append(.recordAppended(record.index))
    case .turnBolt(let target):
      turnCount += 1
      trace.mix(target.rawValue)
      position = target == .locked ? .locked : .unlocked
    case .storeAccess(let content):
      longestAccess = max(longestAccess, content.count)
      trace.mix(content)
    case .storeTrusted(let centrals): trace.mix(UInt64(centrals.count))
    case .readLog(let question):
      let record = [UInt8](repeating: 5, count: LogPage.recordByteCount)
      waiting.append(
        .logRead(
          question,
          LogPage(first: 1, head: .empty, before: .empty, records: Array(repeating: record, count: question.count))))
    case .note(let note):
      trace.mix(note)
      if case .linkRefused = note { refusalCount += 1 }
    case .sendOffer(_, let values): for value in values { trace.mix(value) }
    case .sendEnrolment(_, _, let bytes): trace.mix(bytes)
    case .respond, .stopBolt, .storeMode, .storeAwaited, .forgetPhones, .respondToEnrolment: break
    }
  }
}
