import LockProtocol

/// The time in which a lock enrols phones: from a press of its button until a phone is enrolled, too many codes were wrong, or two
/// minutes have passed.
struct EnrolmentWindow<Cryptography: NoiseCryptography> {
  /// One central's enrolment.
  struct Attempt {
    let central: CentralIdentifier
    var reader = FragmentReader(limit: LockLimit.enrolmentByteCount)
    /// The tag of the message that is being read (`FragmentReader`).
    var tag: UInt8
    /// `nil` before the first message has been read.
    var session: EnrolmentOfLock<Cryptography>?
  }

  /// `nil` if it is closed.
  var openUntil: Int64?
  /// Until when the button does nothing.
  var lockedOutUntil: Int64?
  var wrongCodes = 0
  var starts = 0
  /// The latest last.
  var attempts: [Attempt] = []
  /// The enrolment whose phone has proven the code and whose key is being stored.
  var completing: (central: CentralIdentifier, session: EnrolmentOfLock<Cryptography>)?
}

/// A phone that has proven the code.
struct Enrolled: Sendable {
  var central: CentralIdentifier
  var phone: KeyName
}

/// Why the window for enrolments has closed.
package enum EnrolmentEnd: UInt8, Equatable, Sendable, CaseIterable {
  case phoneEnrolled = 0
  case tooManyWrongCodes = 1
  case timeOver = 2
  /// A factory reset.
  case reset = 3
}

extension LockFirmware {
  /// Whether the lock enrols phones now, as anyone may read.
  package var enrolmentStatus: EnrolmentStatus {
    if configuration.enrolmentSecret == nil { return .noCode }
    if let until = enrolment.lockedOutUntil, until > now { return .lockedOut }
    return enrolment.openUntil == nil ? .closed : .open
  }

  /// Somebody at the lock presses the button. A second press makes the window last longer.
  mutating func enrolmentButton() {
    guard configuration.enrolmentSecret != nil, enrolmentStatus != .lockedOut, !isResetting else { return }
    if enrolment.openUntil == nil {
      enrolment = EnrolmentWindow()
      effects.append(.note(.enrolmentOpened))
    }
    enrolment.openUntil = now + LockLimit.enrolmentWindowMilliseconds
  }

  mutating func watchEnrolment() {
    if let until = enrolment.lockedOutUntil, until <= now { enrolment.lockedOutUntil = nil }
    if let until = enrolment.openUntil, until <= now { closeEnrolment(.timeOver) }
  }

  mutating func closeEnrolment(_ end: EnrolmentEnd) {
    guard enrolment.openUntil != nil else { return }
    enrolment.openUntil = nil
    enrolment.attempts = []
    effects.append(.note(.enrolmentClosed(end)))
  }

  /// A fragment of an enrolment. Its sender has proven nothing until the third message is read.
  mutating func enrolmentWritten(_ central: CentralIdentifier, _ fragment: [UInt8]) {
    guard let secret = configuration.enrolmentSecret, enrolmentStatus == .open else {
      return refuseEnrolment(central, enrolmentStatus)
    }
    // While a reset is being recorded, a new phone would be forgotten at once without knowing it.
    guard !isResetting else { return refuseEnrolment(central, .closed) }
    var attempt = takeAttempt(central, fragment)
    guard let message = attempt.reader.take(fragment) else {
      enrolment.attempts.append(attempt)
      return effects.append(.respondToEnrolment(central, .open))
    }
    if message.count == Enrolment.startByteCount {
      begin(attempt, message, secret)
    } else {
      finish(attempt, message)
    }
  }

  /// Takes this central's attempt out of the list. If there is none, makes a new one, for which the oldest makes room.
  private mutating func takeAttempt(
    _ central: CentralIdentifier, _ fragment: [UInt8]
  ) -> EnrolmentWindow<Cryptography>.Attempt {
    let tag = fragment.first ?? 0
    if let index = enrolment.attempts.firstIndex(where: { $0.central == central }) {
      var attempt = enrolment.attempts.remove(at: index)
      if attempt.tag != tag {
        attempt.reader = FragmentReader(limit: LockLimit.enrolmentByteCount)
        attempt.tag = tag
      }
      return attempt
    }
    if enrolment.attempts.count >= LockLimit.simultaneousEnrolments { enrolment.attempts.removeFirst() }
    return EnrolmentWindow.Attempt(central: central, tag: tag)
  }

  private mutating func begin(
    _ attempt: EnrolmentWindow<Cryptography>.Attempt, _ message: [UInt8], _ secret: [UInt8]
  ) {
    guard enrolment.starts < LockLimit.enrolmentStarts else { return refuseEnrolment(attempt.central, .noRoom) }
    enrolment.starts += 1
    var attempt = attempt
    do throws(LockSessionError) {
      let session = try EnrolmentOfLock<Cryptography>(
        secret: secret, staticKey: staticKey, start: message, using: &cryptography)
      attempt.session = session
      effects.append(.respondToEnrolment(attempt.central, .open))
      effects.append(.sendEnrolment(attempt.central, tag: session.tag, session.reply))
      enrolment.attempts.append(attempt)
    } catch { codeWasWrong(attempt.central) }
  }

  private mutating func finish(_ attempt: EnrolmentWindow<Cryptography>.Attempt, _ message: [UInt8]) {
    let central = attempt.central
    guard var session = attempt.session else { return codeWasWrong(central) }
    let phone: KeyName
    do throws(LockSessionError) { phone = try session.accept(message) } catch {
      return error == .malformed ? refuseEnrolment(central, .badName) : codeWasWrong(central)
    }
    let previous = access
    guard !isRevoked(phone: phone.key), isOwner(phone.key) || makeRoomForPhone() else {
      return refuseEnrolment(central, .noRoom)
    }
    closeEnrolment(.phoneEnrolled)
    enrolment.completing = (central, session)
    effects.append(.respondToEnrolment(central, .open))
    access.phones.removeAll { $0.key == phone.key }
    if !configuration.enrolledPhones.contains(phone.key) { access.phones.append(phone) }
    change(
      .phoneEnrolled, about: phone.key, then: .enrolled(Enrolled(central: central, phone: phone), previous))
  }

  /// If there are too many phones, the oldest revoked one is forgotten. It opened nothing, and its key stays on the list of whoever
  /// revoked it.
  /// - Returns: whether there is room for another one.
  private mutating func makeRoomForPhone() -> Bool {
    let count = configuration.enrolledPhones.count { !isRevoked(phone: $0) } + access.phones.count
    guard count >= configuration.capacity.phones else { return true }
    guard let oldest = access.phones.firstIndex(where: { isRevoked(phone: $0.key) }) else { return false }
    access.phones.remove(at: oldest)
    return true
  }

  /// Each wrong code is a guess, and there are few in one window.
  private mutating func codeWasWrong(_ central: CentralIdentifier) {
    refuseEnrolment(central, .wrongCode)
    enrolment.wrongCodes += 1
    guard enrolment.wrongCodes >= LockLimit.wrongEnrolmentCodes else { return }
    enrolment.lockedOutUntil = now + LockLimit.enrolmentLockOutMilliseconds
    closeEnrolment(.tooManyWrongCodes)
    wrongCodeAlarmAt = now
    recordAlarm(.wrongCodeEntryLimit)
  }

  private mutating func refuseEnrolment(_ central: CentralIdentifier, _ status: EnrolmentStatus) {
    effects.append(.respondToEnrolment(central, status))
    effects.append(.note(.enrolmentRefused(central, status)))
  }

  /// The phone's key is stored, so the phone may rely on it.
  mutating func confirm(_ phone: Enrolled, record: UInt64) {
    effects.append(.note(.phoneEnrolled(record: record)))
    guard let completing = enrolment.completing, completing.central == phone.central else { return }
    enrolment.completing = nil
    var session = completing.session
    do throws(LockSessionError) {
      let message = try session.confirm(configuration.identity, name: configuration.name)
      effects.append(.sendEnrolment(phone.central, tag: session.tag, message))
    } catch {
      // A session that has read the phone's proof can confirm once. If that fails, the phone is enrolled without
      // knowing it.
    }
  }

  /// The phone's key or its record can't be stored. The phone is told nothing, and can open nothing, even after a
  /// restart.
  mutating func unenrolled() { enrolment.completing = nil }
}

extension LockFirmware {
  /// Replies with the owners' phones, and the names that the owners gave themselves.
  mutating func replyOwners(from: UInt8, _ asked: Asked) {
    guard isOwner(asked.phone) else { return reply(asked, .notEntitled) }
    var all: [KeyName] = []
    let phones = configuration.enrolledPhones + access.phones.map { $0.key }
    for phone in phones where isOwner(phone) {
      guard !all.contains(where: { $0.key == phone }) else { continue }
      let introduced = access.owners.first { $0.phone == phone }?.name
      all.append(KeyName(key: phone, name: introduced ?? access.phones.first { $0.key == phone }?.name ?? []))
    }
    let owners = Array(all.dropFirst(Int(from)).prefix(configuration.capacity.replyEntries))
    reply(asked, .done, KeyName.encoded(owners, ofAll: all.count))
  }
}
