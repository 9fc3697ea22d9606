import LockProtocol

/// Who may do what.
extension LockFirmware {
  /// Whether the phone is an owner's: enrolled, and not revoked by another owner.
  func isOwner(_ phone: [UInt8]) -> Bool {
    (configuration.enrolledPhones.contains(phone) || access.isEnrolled(phone)) && !isRevoked(phone: phone)
  }

  /// Every phone that was enrolled.
  var ownersPhones: [[UInt8]] { configuration.enrolledPhones + access.phones.map { $0.key } }

  /// Whether a phone's proven key entitles it to be heard: an owner's, or a guest's who brings a grant for it that an owner
  /// has signed. Whether the grant allows the command now is another question (`refusal`).
  func admits(_ phone: [UInt8], _ grant: [UInt8]) -> Bool {
    if grant.isEmpty { return isOwner(phone) }
    guard let grant = try? Grant(decoding: grant) else { return false }
    return grant.lock == configuration.identity && grant.phone == phone && isBelieved(grant.issuer)
      && grant.isSigned(using: Cryptography.self)
  }

  /// As `admits`, for callers outside the firmware.
  package func wouldAdmit(_ phone: [UInt8], _ grant: [UInt8]) -> Bool { admits(phone, grant) }

  /// Whether the lock believes what is signed with this key. It must be the key of an owner who has introduced it and
  /// is still an owner. A lock of an earlier release may have stored a key of low order, with which anybody can sign,
  /// so that is checked, too.
  func isBelieved(_ signingKey: [UInt8]) -> Bool {
    guard !SigningKey.isOfLowOrder(signingKey), let owner = access.signer(signingKey) else { return false }
    return isOwner(owner.phone)
  }

  /// Whether any owner has revoked this phone. It stays revoked, even if that owner is revoked later.
  func isRevoked(phone: [UInt8]) -> Bool { access.lists.contains { $0.revokes(phone: phone) } }

  /// Why a grant does not allow a command now; `nil` if it does.
  func refusal(of grant: Grant, for command: LockCommand.Kind) -> LockResult? {
    if isRevoked(phone: grant.phone) || access.lists.contains(where: { $0.revokes(grant: grant.identifier) }) {
      return .revoked
    }
    let needed: Grant.Permissions =
      switch command {
      case .lock: .lock
      case .unlock, .unlockUnlessHome, .unlockUnlessInside, .unlockIfLeft: .unlock
      case .status: []
      }
    guard grant.permissions.isSuperset(of: needed) else { return .notPermitted }
    if grant.schedule.needsClock {
      guard let (earliest, latest) = trustedTime else { return .clockUnknown }
      // The clock may be wrong, so the grant must count at every time that it may be now.
      switch grant.schedule.verdict(from: earliest, through: latest) {
      case .counts: break
      case .tooEarly, .outsideHours: return .outsideSchedule
      case .over: return .expired
      }
    }
    // At an open door nothing moves, so nothing is used.
    let isOpen = position == .unlocked && movement == nil && queued == nil
    return needed == .unlock && !isOpen ? refusalOfUse(of: grant) : nil
  }

  /// The earliest and the latest time that it may be now, in seconds since 1970-01-01 UTC. `nil` if no owner has set
  /// the clock since it began to run. Then nothing that depends on the time is allowed.
  var trustedTime: (earliest: Int64, latest: Int64)? {
    guard let clock = access.clock, clock.boot == configuration.boot, now >= clock.milliseconds else { return nil }
    let elapsed = now - clock.milliseconds
    let time = clock.unixSeconds + elapsed / 1000
    let error = 1 + elapsed / 1000 * LockLimit.clockDriftPerMillion / 1_000_000
    return (time - error, time + error)
  }

  /// Why a movement that had to wait is no longer allowed, or `nil` if it still is.
  func refusal(of movement: Movement) -> LockResult? {
    guard let phone = movement.key?.phone else { return nil }
    guard let grant = movement.grant else { return isOwner(phone) ? nil : .revoked }
    guard isBelieved(grant.issuer) else { return .revoked }
    return refusal(of: grant, for: movement.target == .locked ? .lock : .unlock)
  }

  /// Whether a phone that has proven its key on a link may still ask: an owner's phone, or a guest's whose grant counts
  /// now.
  func isEntitled(_ phone: [UInt8], _ grant: Grant?) -> Bool {
    guard let grant else { return isOwner(phone) }
    return isBelieved(grant.issuer) && refusal(of: grant, for: .status) == nil
  }

  /// Whether this phone may read the log, and the names in it.
  func mayReadLog(_ asked: Asked) -> Bool {
    isOwner(asked.phone) || asked.grant?.permissions.contains(.readLog) == true
  }

  mutating func storeAccess() { effects.append(.storeAccess(access.encoded)) }

  // MARK: What phones tell

  mutating func setClock(_ unixSeconds: Int64, _ asked: Asked) {
    guard isOwner(asked.phone) else { return reply(asked, .notEntitled) }
    guard LockLimit.possibleTimes.contains(unixSeconds) else { return reply(asked, .malformed) }
    let previous = access
    access.clock = AccessState.Clock(boot: configuration.boot, milliseconds: now, unixSeconds: unixSeconds)
    store(asked, .clockSet, number: UInt64(bitPattern: unixSeconds), previous)
  }

  mutating func deliver(_ bytes: [UInt8], _ asked: Asked) {
    guard let list = try? RevocationList(decoding: bytes) else { return reply(asked, .malformed) }
    guard list.lock == configuration.identity, isBelieved(list.issuer), list.isSigned(using: Cryptography.self) else {
      return reply(asked, .notBelieved)
    }
    if let known = access.lists.first(where: { $0.issuer == list.issuer }) {
      if known == list { return reply(asked, .done) }
      guard list.version > known.version else {
        var writer = ByteWriter()
        writer.write(known.version)
        return reply(asked, .older, writer.bytes)
      }
    }
    let previous = access
    guard access.accept(list, within: configuration.capacity) else {
      access = previous
      return reply(asked, .noRoom)
    }
    guard ownersPhones.contains(where: { isOwner($0) }) else {
      // Nobody could take it back.
      access = previous
      return reply(asked, .notBelieved)
    }
    store(asked, .listAccepted, number: list.version, previous)
  }

  /// Stores what a phone has told the lock, then its record, then replies.
  /// - Parameter phone: the phone that the record is about, if it is not the phone that asks.
  mutating func store(
    _ asked: Asked, _ change: AccessChange, number: UInt64, about phone: [UInt8]? = nil, _ previous: AccessState
  ) {
    self.change(change, about: phone ?? asked.phone, number: number, then: .told(asked, previous))
  }

  /// Stores a change, and then its record. If the power fails between the two, the next start finds out that the record
  /// is missing and writes it. So nobody becomes an owner, or revokes one, without a trace.
  mutating func change(
    _ change: AccessChange, about phone: [UInt8], number: UInt64 = 0, then continuation: PendingRecord.Continuation
  ) {
    access.unrecorded = AccessState.Unrecorded(change, index: nextRecordIndex)
    // A phone of the lock's key file is not in `phones`, so enrolling it again changes nothing.
    if change == .phoneEnrolled, access.phones.last?.key != phone { access.unrecorded = nil }
    storeAccess()
    append(
      LockRecord(change, index: nextRecordIndex, unixSeconds: time.unixSeconds, phone: phone, number: number),
      then: continuation)
  }

  /// The records up to this one are durable.
  mutating func changeIsRecorded(_ index: UInt64) {
    let isChange = access.unrecorded.map { $0.index <= index } ?? false
    let isUse = access.unmovedUse.map { $0 <= index } ?? false
    guard isChange || isUse else { return }
    if isChange { access.unrecorded = nil }
    if isUse { access.unmovedUse = nil }
    storeAccess()
  }

  /// Writes the record of a change if the last run ended between the two.
  /// - Parameter records: the newest records of the log.
  mutating func recordMissingChange(_ records: [LockRecord]) {
    guard let missing = access.unrecorded, let subject = access.unrecordedSubject else { return }
    let isRecorded = records.contains { $0.index >= missing.index && $0.change == missing.change }
    guard !isRecorded, missing.index >= records.first?.index ?? 0 else {
      access.unrecorded = nil
      return storeAccess()
    }
    change(missing.change, about: subject.phone, number: subject.number, then: .recorded)
  }

  /// What a phone has told the lock is stored and recorded, so it takes effect.
  mutating func told(_ asked: Asked) {
    effects.append(.note(.accessChanged))
    reply(asked, .done)
    // A phone that was revoked becomes a stranger, and must wait like one.
    let revoked = (failures.trusted + failures.turnedAway).map { $0.phone }.filter { isRevoked(phone: $0) }
    var isDistrusted = failures.distrust(phones: revoked)
    for index in links.indices {
      // A list may name a guest's grant, and not the phone.
      let mark = links[index].expectedGrant
      let isExpectedNoMore = mark != 0 && access.lists.contains { $0.revokes(grantMarked: mark) }
      if isExpectedNoMore || links[index].grant.map({ isRevoked($0.phone, $0) }) == true {
        links[index].expectedGrant = 0
        if failures.distrust(links[index].central) { isDistrusted = true }
      }
      links[index].conversations = links[index].conversations.filter { !isRevoked($0.phone, $0.grant) }
      guard let phone = links[index].phone, isRevoked(phone, links[index].grant) else { continue }
      links[index].phone = nil
      links[index].grant = nil
      // If it has opened the door, the bolt is locked as if the phone had left.
      depart(phone, isNoticed: false)
    }
    if isDistrusted { effects.append(.storeTrusted(failures.trusted)) }
  }

  private func isRevoked(_ phone: [UInt8], _ grant: Grant?) -> Bool {
    guard let grant else { return !isOwner(phone) }
    return !isBelieved(grant.issuer) || refusal(of: grant, for: .status) == .revoked
  }

  /// What a phone has told the lock can't be stored, so it does not take effect.
  mutating func untold(_ asked: Asked) { reply(asked, .failed) }

  /// Records can't be stored. The change of the first of them, and later changes, do not take effect, now or after a
  /// restart.
  mutating func takeBackAccess(_ failed: [PendingRecord]) {
    for record in failed {
      guard let previous = record.continuation.previousAccess else { continue }
      access = previous
      return storeAccess()
    }
  }

  mutating func replyNames(from: UInt8, _ asked: Asked) {
    guard mayReadLog(asked) else { return reply(asked, .notEntitled) }
    let all =
      access.owners.map { KeyName(key: $0.phone, name: $0.name) }
      + access.phones.filter { phone in !access.owners.contains { $0.phone == phone.key } } + access.guests
    let names = Array(all.dropFirst(Int(from)).prefix(configuration.capacity.replyEntries))
    reply(asked, .done, KeyName.encoded(names, ofAll: all.count))
  }

  mutating func reply(_ asked: Asked, _ status: LockReplyStatus, _ body: [UInt8] = []) {
    if status == .noRoom { effects.append(.note(.noRoom(asked.central, asked.kind))) }
    reply(LockReply(asked.kind, status, body), to: asked.central, asked.tag)
  }
}

/// A phone's request, and where its reply goes.
struct Asked: Sendable {
  var central: CentralIdentifier
  var tag: UInt8
  var phone: [UInt8]
  /// The grant with which the phone began the conversation, if it is a guest's phone.
  var grant: Grant?
  var kind: LockRequest.Kind
}

/// What owners can change over the air, as the log has it.
package enum AccessChange: UInt8, Equatable, Sendable {
  /// An owner has introduced a signing key.
  case ownerIntroduced = 1
  /// A newer revocation list; its version is the record's number.
  case listAccepted = 2
  /// The clock was set; the record's number is the time.
  case clockSet = 3
  /// A phone was enrolled by the lock's code. The record's phone is the new one.
  case phoneEnrolled = 4
}
