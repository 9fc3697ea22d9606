import AgentQuestions
import CoreBluetooth
import Foundation
import LockCryptography
import LockProtocol

/// Guests: owners invite them, and revoke them again.
extension QuestionDesk {
  var bookPath: String { GuestBook.path(in: app.folder) }

  /// The book of guests, for work that no person has asked for. If it can't be read, the lists in it can't be
  /// delivered, and the journal says so once.
  private var readableBook: GuestBook? {
    do { return try GuestBook.read(bookPath) } catch {
      if !isBookMissed {
        isBookMissed = true
        let reason = (error as? NoAnswer)?.reason ?? "\(error)"
        logger.error("what waits for the lock is not delivered, and its clock is not looked at: \(reason)")
      }
      return nil
    }
  }

  /// Changes the book as it is now, and stores it. Nothing waits between reading and writing, because an enrolment
  /// changes the book as well, whatever this desk waits for.
  private func changeBook<Result>(_ change: (inout GuestBook) throws -> Result) throws -> Result {
    let before = try GuestBook.read(bookPath)
    var book = before
    let result = try change(&book)
    if book != before { try book.write(bookPath) }
    return result
  }

  /// Stores whether the lock has learned this owner's signing key.
  /// - Parameter phone: this phone's key when it asked. If the phone was enrolled with another one meanwhile, the
  ///   lock's reply says nothing about that.
  private func noteIntroduction(by phone: [UInt8], _ isIntroduced: Bool? = true) throws {
    guard phone == app.publicKey else { return }
    try changeBook { $0.isIntroduced = isIntroduced }
  }

  /// Tells the lock this owner's signing key, and sets its clock if that needs no person's word.
  /// - Returns: what the lock replied to lists that had to be delivered first, too, as `deliver` does.
  private func introduce() async throws -> (key: OwnerKey, clock: LockClock, delivered: [String: LockReply]) {
    guard app.grant == nil else {
      throw NoAnswer("Only an owner of this door invites and revokes; this phone is a guest's.")
    }
    let key = try OwnerKey.readOrMake(inDirectory: app.folder)
    try await beginConversation()
    let introduction = LockRequest.introduce(signingKey: key.publicKey, name: KeyName.name(from: app.ownerName))
    var delivered: [String: LockReply] = [:]
    if hasUndelivered, try await exchange(introduction).status == .notBelieved {
      // The key is that of this phone's earlier enrolment, until the lock has the list that takes that out.
      delivered = try await deliver()
    }
    _ = try await ask(introduction)
    return (key, try await mendClock(), delivered)
  }

  /// Returns the signing key, after introducing it to the lock if that is within reach. An owner who is far from the
  /// door can invite as well, once the lock has learned the key: the lock checks grants by itself.
  private func introduceOrSign() async throws -> OwnerKey {
    let phone = app.publicKey
    do {
      let (key, clock, _) = try await introduce()
      if let advice = clock.advice { throw NoAnswer("Nobody is invited. " + advice) }
      try noteIntroduction(by: phone)
      return key
    } catch let reason as NoAnswer where reason.isAboutLink {
      guard try GuestBook.read(bookPath).isIntroduced == true else {
        throw NoAnswer(
          "The lock does not know this owner's signing key yet: invite the first guest within reach of the lock. "
            + reason.reason)
      }
      return try OwnerKey.readOrMake(inDirectory: app.folder)
    }
  }

  func invite(_ question: InviteQuestion) async throws -> InviteAnswer {
    guard let name = Self.name(question.name) else {
      throw NoAnswer(
        "A guest's name has 1 to \(KeyName.nameByteLimit) bytes, without control characters, and neither begins nor ends with a space."
      )
    }
    var book = try GuestBook.read(bookPath)
    guard !book.guests.contains(where: { $0.name == question.name && !$0.isRevoked }) else {
      throw NoAnswer("There is a guest \"\(question.name)\" already: choose another name, or revoke that one first.")
    }
    try book.makeRoom(at: Int64(app.unixSeconds))
    var privateKey: [UInt8]?
    let phone: [UInt8]
    if let text = question.phone {
      do { phone = try PhoneIntroduction(text).publicKey } catch { throw NoAnswer("\(error)") }
      guard !book.revokes(phone: phone) else {
        throw NoAnswer(
          "This phone has revoked that key, so the lock would refuse the guest. The guest's phone draws another: latchkey guests key --new"
        )
      }
    } else {
      let key = PendingPhoneKey.draw().staticKey
      privateKey = Array(key.rawRepresentation)
      phone = Array(key.publicKey.rawRepresentation)
    }
    let schedule = GrantSchedule(
      from: question.from ?? .min, until: question.until ?? .max, weekdays: question.weekdays ?? GrantSchedule.everyDay,
      start: question.start ?? 0, end: question.end ?? 1440, offset: question.offset ?? 0,
      offsetChange: question.offsetChange ?? .max, laterOffset: question.laterOffset ?? question.offset ?? 0)
    guard schedule.start != schedule.end else {
      throw NoAnswer(
        "The hours of an invitation end at another time than they begin. For the whole day, leave them out.")
    }
    guard schedule.verdict(at: Int64(app.unixSeconds)) != .over, schedule.from < schedule.until else {
      throw NoAnswer("The invitation would be over before it begins: --until is not after --from, or in the past.")
    }
    let key = try await introduceOrSign()
    if let uses = question.uses, uses > 0 { try await checkRoom() }
    let grant = try key.sign(
      Grant(
        lock: app.lock.identity, identifier: Self.random(Grant.identifierByteCount), phone: phone,
        issuer: key.publicKey,
        schedule: schedule, uses: question.uses ?? 0,
        permissions: question.mayReadLog == true ? [.unlock, .lock, .readLog] : [.unlock, .lock], name: name))
    // A grant that this reader does not accept would be of no use to the guest.
    guard (try? Grant(decoding: grant.encoded)) == grant else {
      throw NoAnswer("The weekdays or hours are impossible.")
    }
    var answer = InviteAnswer(
      door: app.name, name: question.name,
      invitation: Invitation(lock: app.lock, grant: grant, privateKey: privateKey).text, isSecret: privateKey != nil)
    let now = Int64(app.unixSeconds)
    answer.advice = try changeBook { book in
      try book.makeRoom(at: now)
      book.guests.append(GuestBook.Guest(name: question.name, grant: Hex.text(grant.encoded), isRevoked: false))
      return book.advice(at: now)
    }
    return answer
  }

  /// Throws if the lock has no room to count the uses of another grant, because such a guest would be refused at the
  /// door.
  private func checkRoom() async throws {
    let reply: LockReply
    do { reply = try await exchange(.room) } catch let reason as NoAnswer where reason.isAboutLink { return }
    // A lock of an earlier version does not answer that.
    guard reply.status == .done, let room = try? LockRoom(decoding: reply.body), room.freeGrants == 0 else { return }
    throw NoAnswer(
      "The lock counts the uses of \(room.countedGrants) invitations at most, and has no room for another: invite without --uses and "
        + "with --until; or revoke one that was used, which makes room.")
  }

  func guests(_ question: DoorQuestion) throws -> GuestsAnswer {
    let book = try GuestBook.read(bookPath)
    let guests = book.shown.compactMap { guest -> GuestAnswer? in
      guard let grant = GuestBook.grant(guest) else { return nil }
      let schedule = grant.schedule
      return GuestAnswer(
        name: guest.name, from: schedule.from == .min ? nil : schedule.from,
        until: schedule.until == .max ? nil : schedule.until, weekdays: schedule.weekdays, start: schedule.start,
        end: schedule.end, uses: grant.uses, isRevoked: guest.isRevoked,
        isOver: schedule.verdict(at: Int64(app.unixSeconds)) == .over, key: Hex.text(grant.phone))
    }
    return GuestsAnswer(door: app.name, guests: guests, undelivered: book.undelivered.count)
  }

  func revoke(_ question: RevokeQuestion) async throws -> RevokeAnswer {
    guard app.grant == nil else { throw NoAnswer("Only an owner of this door revokes; this phone is a guest's.") }
    let now = Int64(app.unixSeconds)
    let phone = app.publicKey
    let key = try OwnerKey.readOrMake(inDirectory: app.folder)
    var list = try changeBook { book in
      try mark(question, &book)
      return try sign(book.entries(at: now), key, &book)
    }
    var isDelivered = false
    do {
      let early = try await introduce().delivered
      try noteIntroduction(by: phone)
      let text = Hex.text(list.encoded)
      var reply = try await deliver()[text] ?? early[text]
      let short = try GuestBook.read(bookPath).entries(at: now, isShort: true)
      if reply?.status == .noRoom, short.count < list.entries.count {
        list = try changeBook { try sign(short, key, &$0) }
        reply = try await deliver()[Hex.text(list.encoded)]
      }
      if reply?.status == .older { throw try isForgotten(reply) }
      if let reply, let refusal = Self.refusal(reply.status, of: list) { throw refusal }
      isDelivered = reply?.status == .done
    } catch let reason as NoAnswer where reason.leavesListWaiting {
      logger.notice("the list waits for the lock: \(reason.reason)")
    }
    // A lock that does not know this owner yet must be able to believe the list, whoever brings it.
    let book = try GuestBook.read(bookPath)
    let introduction = book.isIntroduced == true ? nil : try app.introduction(of: key)
    var answer = RevokeAnswer(
      door: app.name, version: list.version, isDelivered: isDelivered,
      list: ListText(list: list, introduction: introduction).text)
    answer.advice = book.advice(at: now)
    return answer
  }

  /// Marks in the book whom the question is about.
  private func mark(_ question: RevokeQuestion, _ book: inout GuestBook) throws {
    guard let text = question.key else {
      return try book.revoke(guest: question.name ?? "", at: Int64(app.unixSeconds))
    }
    guard let bytes = Hex.bytes(text), (RevocationList.entryByteCount...NoiseSize.keyByteCount).contains(bytes.count)
    else {
      throw NoAnswer(
        "A phone's key has 64 hexadecimal digits, of which the first 32 are enough: latchkey log --json.")
    }
    let prefix = Array(bytes.prefix(RevocationList.entryByteCount))
    guard !app.publicKey.starts(with: prefix) else {
      throw NoAnswer("This is this phone's own key; another owner's phone has to revoke it.")
    }
    book.revoke(phone: prefix)
  }

  /// Signs this phone's next list, which waits for the lock. The book has to be stored before the list is given away,
  /// because the next one must have a higher version.
  private func sign(
    _ entries: [RevocationList.Entry], _ key: OwnerKey, _ book: inout GuestBook
  ) throws -> RevocationList {
    guard entries.count <= RevocationList.maximumCount else {
      throw NoAnswer(
        "Not revoked: a list has room for \(RevocationList.maximumCount) that are revoked and not over yet, and this phone's is full. "
          + "Another owner's phone has a list of its own: there, latchkey guests revoke --key.")
    }
    let list = try key.sign(
      RevocationList(
        lock: app.lock.identity, issuer: key.publicKey, version: book.nextListVersion(), entries: entries))
    book.hold(list)
    return list
  }

  /// Why the lock has not taken this phone's own list; `nil` if it has.
  nonisolated static func refusal(_ status: LockReplyStatus, of list: RevocationList) -> NoAnswer? {
    let waits = "The list waits, and is tried again whenever this phone is at the lock."
    return switch status {
    case .done, .older: nil
    case .notBelieved: NoAnswer("Not revoked: the lock does not believe this phone's lists any more.")
    case .noRoom:
      NoAnswer(
        "Not revoked: the lock has no room for a list of \(list.entries.count) entries, and keeps the one that it has. Other owners' "
          + "lists take room as well: they can revoke less. \(waits)")
    case .failed: NoAnswer("Not revoked: the lock could not store the list; its journal says why. \(waits)")
    case .notEntitled, .malformed: NoAnswer("Not revoked: the lock did not take the list (\(status)). \(waits)")
    }
  }

  /// The lock has a newer list of this phone than the phone remembers.
  private func isForgotten(_ reply: LockReply?) throws -> NoAnswer {
    guard var reader = try? ByteReader(reply?.body ?? [], count: 8) else { return .olderLock }
    let known = reader.readUInt64()
    try changeBook { $0.listVersion = max($0.listVersion, known) }
    return NoAnswer(
      "Not revoked: the lock has list \(known) of this phone, which the phone does not remember, so \(bookPath) was lost or "
        + "is an old one. Restore it; or repeat the command, and revoke again whom you had revoked: the new list replaces "
        + "the one in the lock.")
  }

  /// Takes over another owner's list, and delivers it now or when the lock is there.
  func carry(_ question: CarryQuestion) async throws -> CarryAnswer {
    guard let text = ListText(question.list) else {
      throw NoAnswer(
        "This is not a revocation list, which `latchkey guests revoke` prints and which begins with revoke-1-.")
    }
    let list = text.list
    guard list.lock == app.lock.identity else { throw NoAnswer("The list is for another lock than \(app.name)'s.") }
    try changeBook { try $0.carry(list, text.introduction, own: ownSigningKey()) }
    do {
      try await beginConversation()
      let reply = try await deliver()[Hex.text(list.encoded)]
      if reply?.status == .notBelieved {
        throw NoAnswer(
          "The lock does not believe this list: its owner was revoked, or has not been at the lock since it was set up. "
            + "That owner's phone has to come by.")
      }
      if reply?.status == .noRoom {
        throw NoAnswer(
          "The lock has no room for this list of \(list.entries.count) entries: it counts when owners' other lists are shorter."
        )
      }
      return CarryAnswer(door: app.name, isDelivered: reply?.status == .done || reply?.status == .older)
    } catch let reason as NoAnswer where reason.leavesListWaiting {
      logger.notice("the list waits for the lock: \(reason.reason)")
      return CarryAnswer(door: app.name, isDelivered: false)
    }
  }

  /// Brings what waits, in the present conversation.
  /// - Returns: what the lock replied, by the list.
  @discardableResult
  func deliver() async throws -> [String: LockReply] {
    var replies: [String: LockReply] = [:]
    for text in try GuestBook.read(bookPath).undelivered {
      guard let bytes = Hex.bytes(text) else { continue }
      guard try await introduceSigner(of: bytes) else { continue }
      let reply = try await exchange(.deliver(bytes))
      replies[text] = reply
      switch reply.status {
      // The lock has a newer list, so this one adds nothing; or it does not believe this one, and never will.
      case .done, .older, .notBelieved, .malformed: try changeBook { $0.undelivered.removeAll { $0 == text } }
      case .notEntitled, .failed, .noRoom: continue
      }
      if reply.status != .done { logger.warning("the lock does not take a revocation list: \(reply.status)") }
      // A list that revokes this phone's earlier key frees the signing key, which belonged to the earlier key.
      let book = try GuestBook.read(bookPath)
      if reply.status == .done, book.isIntroduced != true, let issuer = (try? RevocationList(decoding: bytes))?.issuer,
        book.introduction(of: issuer) == nil
      {
        _ = try await introduceSigner(of: bytes)
      }
    }
    try changeBook { $0.dropIntroductions() }
    return replies
  }

  /// Introduces the owner who signed the list, because the lock believes no list of an owner it does not know: this
  /// phone's own owner, or another who has sent an introduction.
  /// - Returns: whether it is worth delivering the list now.
  private func introduceSigner(of list: [UInt8]) async throws -> Bool {
    let book = try GuestBook.read(bookPath)
    let phone = app.publicKey
    guard let issuer = (try? RevocationList(decoding: list))?.issuer else { return true }
    let reply: LockReply
    if let introduction = book.introduction(of: issuer) {
      reply = try await exchange(.bringIntroduction(introduction))
    } else {
      guard app.grant == nil, book.isIntroduced != true else { return true }
      let key = try OwnerKey.readOrMake(inDirectory: app.folder)
      guard key.publicKey == issuer else { return true }
      reply = try await exchange(.introduce(signingKey: key.publicKey, name: KeyName.name(from: app.ownerName)))
      try noteIntroduction(by: phone, reply.status == .done ? true : nil)
    }
    if reply.status != .done { logger.warning("the lock does not take an introduction: \(reply.status)") }
    return reply.status != .failed && reply.status != .noRoom
  }

  /// Whether to look at the lock's clock on this link. An owner who has guests keeps it right, because the lock has no
  /// time after its machine was off. The owner's name is told again as well, because the lock forgets it at a factory
  /// reset.
  var hasToCheckClock: Bool {
    guard app.grant == nil, !isClockChecked, let book = readableBook else { return false }
    return book.hasAskedAboutClock == true || book.guests.contains { !$0.isRevoked }
  }

  /// Checks the lock's clock, once on each link, in the present conversation.
  func checkClock() async throws {
    guard hasToCheckClock else { return }
    isClockChecked = true
    try await introduceAgain()
    let clock = try await mendClock()
    guard let advice = clock.advice else { return clockIsRight() }
    logger.warning("the lock's clock is wrong, or this phone's, and is not set without its owner's word: \(clock)")
    askAboutClock(advice)
  }

  private func introduceAgain() async throws {
    let key = try OwnerKey.readOrMake(inDirectory: app.folder)
    _ = try await ask(.introduce(signingKey: key.publicKey, name: KeyName.name(from: app.ownerName)))
  }

  /// Whether there is something to tell the lock when it is there.
  var hasUndelivered: Bool { readableBook?.undelivered.isEmpty == false }

  /// The key with which this phone signs, if it has one yet.
  private func ownSigningKey() throws -> [UInt8]? {
    guard app.grant == nil, FileManager.default.fileExists(atPath: app.folder + "/" + OwnerKey.fileName) else {
      return nil
    }
    return try OwnerKey.readOrMake(inDirectory: app.folder).publicKey
  }

  private static func name(_ text: String) -> [UInt8]? {
    let bytes = Array(text.utf8)
    guard (1...KeyName.nameByteLimit).contains(bytes.count), PlainText.isPlain(text) else { return nil }
    // A name with a space at either end would look like another guest's name in the log and in lists.
    return text.first?.isWhitespace == true || text.last?.isWhitespace == true ? nil : bytes
  }

  private static func random(_ count: Int) -> [UInt8] {
    var random = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
  }
}
