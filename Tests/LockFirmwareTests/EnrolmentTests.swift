import Crypto
import LockCryptography
import LockFirmware
import LockProtocol
import RandomTesting
import Testing

/// A phone is enrolled by the code on the lock, in the window that the lock's button opens.
@Suite("Enrolment") struct EnrolmentTests {
  private typealias Key = Curve25519.KeyAgreement.PrivateKey
  private static let code = EnrolmentCode.draw()
  private static let carol = CentralIdentifier(high: 0, low: 3)

  private func bench(phones: Int = 1) throws -> Bench {
    try Bench(phoneCount: phones) {
      $0.enrolmentSecret = Self.code.secret(using: SwiftCryptography.self)
      $0.name = Array("Front".utf8)
    }
  }

  /// What a phone does with a code. Returns what it learns of the lock, or `nil` if the lock did not confirm.
  private func enrol(
    _ key: Key, _ code: EnrolmentCode = Self.code, over central: CentralIdentifier = carol, on bench: inout Bench,
    valueByteCount: Int = 20, name: [UInt8] = Array("Carol".utf8)
  ) throws -> (lock: LockIdentity, lockKey: Key.PublicKey, lockName: [UInt8])? {
    var cryptography = SwiftCryptography()
    var session = try EnrolmentOfPhone<SwiftCryptography>(
      secret: code.secret(using: SwiftCryptography.self), staticKey: key, using: &cryptography)
    guard let reply = write(session.start, session.tag, central, valueByteCount, on: &bench) else { return nil }
    let proof = try session.answer(reply, name: name, using: &cryptography)
    guard let confirmation = write(proof, session.tag, central, valueByteCount, on: &bench) else { return nil }
    return try session.finish(confirmation)
  }

  private func write(
    _ message: [UInt8], _ tag: UInt8, _ central: CentralIdentifier, _ valueByteCount: Int, on bench: inout Bench
  ) -> [UInt8]? {
    let count = bench.enrolmentMessages[central.low]?.count ?? 0
    for fragment in Fragments.cut(message, tag: tag, valueByteCount: valueByteCount) {
      bench.happens(.enrolmentWritten(central, fragment))
    }
    return bench.enrolmentMessages[central.low]?.dropFirst(count).first?.message
  }

  @Test(
    "L5: who has the code and presses the button becomes an owner, with a record, and opens",
    arguments: [20, 512])
  func enrols(valueByteCount: Int) throws {
    var bench = try bench(phones: 0)
    let key = Key()
    bench.happens(.enrolmentButton)
    #expect(bench.firmware.enrolmentStatus == .open)
    let learned = try #require(try enrol(key, on: &bench, valueByteCount: valueByteCount))
    #expect(learned.lock == bench.configuration.identity && learned.lockName == Array("Front".utf8))
    #expect(learned.lockKey.rawRepresentation == bench.lockKey.publicKey.rawRepresentation)
    #expect(bench.firmware.enrolmentStatus == .closed, "the first success closes the window")
    let record = try #require(bench.log.last)
    #expect(record.change == .phoneEnrolled && record.phone == Array(key.publicKey.rawRepresentation))
    // It opens, and after a restart as well.
    for operation in [1, 2] as [UInt64] {
      bench.restart()
      bench.happens(.linkUp(Self.carol))
      try bench.command(operation == 1 ? .unlock : .lock, operation, key: key, over: Self.carol)
      bench.finishTurn()
    }
    #expect(bench.turns.map(\.target) == [.unlocked, .locked])
    // Its name is known without a key to sign with.
    var conversation = try bench.conversation(key: key, over: Self.carol)
    let reply = try #require(try bench.ask(LockRequest.names(from: 0).encoded, in: &conversation, over: Self.carol))
    #expect(try KeyName.decode(reply.body).names.map(\.name) == [Array("Carol".utf8)])
  }

  @Test("L5: outside the window there is one answer, and nothing of the lock's key") func closed() throws {
    var bench = try bench()
    #expect(try enrol(Key(), on: &bench) == nil)
    #expect(Set(bench.enrolmentAnswers) == [.closed] && bench.enrolmentMessages.isEmpty)
    bench.happens(.enrolmentButton)
    bench.pass(119)
    #expect(bench.firmware.enrolmentStatus == .open)
    bench.pass(2)
    #expect(bench.firmware.enrolmentStatus == .closed && bench.notes.contains(.enrolmentClosed(.timeOver)))
    #expect(try enrol(Key(), on: &bench) == nil)
    #expect(bench.access.phones.isEmpty && bench.log.isEmpty)
    // As docs/lock-protocol.md has it.
    #expect(EnrolmentStatus.closed.attError == 0x81 && LockLimit.wrongEnrolmentCodes == 5)
    #expect(
      LockLimit.phones == 64 && LockLimit.enrolmentStarts == 64 && LockLimit.enrolmentLockOutMilliseconds == 300_000)
    // A lock without a code has no window.
    var old = try Bench()
    old.happens(.enrolmentButton)
    #expect(old.firmware.enrolmentStatus == .noCode)
    #expect(try enrol(Key(), on: &old) == nil)
  }

  @Test("L5: with the right code and a name that is not UTF-8 nobody is enrolled, which is said, and is no wrong code")
  func badName() throws {
    var bench = try bench(phones: 0)
    bench.happens(.enrolmentButton)
    for _ in 0...LockLimit.wrongEnrolmentCodes {
      #expect(try enrol(Key(), on: &bench, name: [0x43, 0xE2, 0x82]) == nil)
      #expect(bench.enrolmentAnswers.last == .badName)
    }
    #expect(bench.log.isEmpty && bench.access.phones.isEmpty && bench.firmware.enrolmentStatus == .open)
    #expect(try enrol(Key(), on: &bench) != nil)
  }

  @Test(
    "attack 33: who pairs in the window without the code is not enrolled; few guesses, then a lock-out and an alarm")
  func wrongCodes() throws {
    var bench = try bench()
    bench.happens(.enrolmentButton)
    for guess in 0..<LockLimit.wrongEnrolmentCodes {
      // Each under an address of its own, so that no wait of a single central counts.
      let central = CentralIdentifier(high: 1, low: 100 + UInt64(guess))
      #expect(try enrol(Key(), .draw(), over: central, on: &bench) == nil)
      #expect(bench.enrolmentAnswers.last == .wrongCode)
    }
    #expect(bench.firmware.enrolmentStatus == .lockedOut)
    #expect(bench.notes.contains(.enrolmentClosed(.tooManyWrongCodes)))
    #expect(bench.log.map(\.kind) == [.alarm] && bench.log[0].detail == LockAlarm.wrongCodeEntryLimit.rawValue)
    // Not even the right code, until the time is over, and the button was pressed again.
    bench.happens(.enrolmentButton)
    #expect(try enrol(Key(), on: &bench) == nil)
    #expect(bench.enrolmentAnswers.last == .lockedOut)
    bench.pass(301)
    #expect(try enrol(Key(), on: &bench) == nil)
    bench.happens(.enrolmentButton)
    #expect(try enrol(Key(), on: &bench) != nil)
    #expect(bench.access.phones.count == 1 && bench.turns.isEmpty)
  }

  @Test("L5: a phone that was revoked makes room for another one, and stays revoked") func revokedMakesRoom() throws {
    var bench = try Bench(phoneCount: 1) {
      $0.enrolmentSecret = Self.code.secret(using: SwiftCryptography.self)
      $0.capacity.phones = 3
    }
    func asked(_ request: LockRequest, _ bench: inout Bench) throws -> LockReplyStatus? {
      bench.milliseconds += 1
      bench.happens(.offerRead(Bench.alice))
      var conversation = try bench.conversation()
      return try bench.ask(request.encoded, in: &conversation)?.status
    }
    let (lost, kept, new) = (Key(), Key(), Key())
    for phone in [lost, kept] {
      bench.happens(.enrolmentButton)
      #expect(try enrol(phone, on: &bench) != nil)
    }
    bench.happens(.enrolmentButton)
    #expect(try enrol(new, on: &bench) == nil)
    #expect(bench.enrolmentAnswers.last == .noRoom)
    let alice = OwnerKey(key: .init())
    #expect(try asked(.introduce(signingKey: alice.publicKey, name: Array("Alice".utf8)), &bench) == .done)
    let list = try alice.sign(
      RevocationList(
        lock: bench.configuration.identity, issuer: alice.publicKey, version: 1,
        entries: [.phone(Array(lost.publicKey.rawRepresentation.prefix(16)))]))
    #expect(try asked(.deliver(list.encoded), &bench) == .done)
    bench.happens(.enrolmentButton)
    #expect(try enrol(new, on: &bench) != nil)
    let phones = bench.access.phones.map(\.key)
    #expect(phones == [kept, new].map { Array($0.publicKey.rawRepresentation) })
    bench.happens(.enrolmentButton)
    #expect(try enrol(lost, on: &bench) == nil)
    #expect(bench.access.phones.map(\.key) == phones)
  }

  @Test(
    "attacks 26, 33: in one window no more enrolments are begun than a lock has time for; the next window has its own")
  func starts() throws {
    var bench = try bench()
    bench.happens(.enrolmentButton)
    var cryptography = SwiftCryptography()
    for number in 0...LockLimit.enrolmentStarts {
      let session = try EnrolmentOfPhone<SwiftCryptography>(
        secret: EnrolmentCode.draw().secret(using: SwiftCryptography.self), staticKey: Key(), using: &cryptography)
      let central = CentralIdentifier(high: 1, low: 100 + UInt64(number))
      let reply = write(session.start, session.tag, central, 512, on: &bench)
      #expect((reply != nil) == (number < LockLimit.enrolmentStarts))
    }
    #expect(bench.enrolmentAnswers.last == .noRoom && bench.firmware.enrolmentStatus == .open)
    bench.pass(121)
    bench.happens(.enrolmentButton)
    #expect(try enrol(Key(), on: &bench) != nil)
  }

  @Test("attack 33: a man in the middle without the code can't finish an enrolment that he passes on") func middle()
    throws
  {
    var bench = try bench()
    bench.happens(.enrolmentButton)
    var cryptography = SwiftCryptography()
    let phoneKey = Key()
    let secret = Self.code.secret(using: SwiftCryptography.self)
    var phone = try EnrolmentOfPhone<SwiftCryptography>(secret: secret, staticKey: phoneKey, using: &cryptography)
    // Towards the phone he is a lock with a key of his own, towards the lock a phone with a key of his own.
    let guess = EnrolmentCode.draw().secret(using: SwiftCryptography.self)
    var asLock = try EnrolmentOfLock<SwiftCryptography>(
      secret: guess, staticKey: Key(), start: phone.start, using: &cryptography)
    var asPhone = try EnrolmentOfPhone<SwiftCryptography>(secret: guess, staticKey: Key(), using: &cryptography)
    let reply = try #require(write(asPhone.start, asPhone.tag, Self.carol, 512, on: &bench))
    let proof = try phone.answer(asLock.reply, name: [], using: &cryptography)
    #expect(throws: LockSessionError.authenticationFailed) { try asLock.accept(proof) }
    _ = try asPhone.answer(reply, name: [], using: &cryptography)
    // The true phone's proof fits the handshake with him, and no other.
    #expect(write(proof, asPhone.tag, Self.carol, 512, on: &bench) == nil)
    #expect(bench.enrolmentAnswers.last == .wrongCode && bench.access.phones.isEmpty)
    #expect(throws: LockSessionError.authenticationFailed) {
      try phone.finish([UInt8](repeating: 0, count: Enrolment.confirmationByteCounts.lowerBound))
    }
  }

  @Test("L5: what can't be stored is not told, and opens nothing") func notStored() throws {
    var bench = try bench()
    bench.happens(.enrolmentButton)
    bench.storesAtOnce = false
    let key = Key()
    #expect(try enrol(key, on: &bench) == nil)
    let record = try #require(bench.unstored.first)
    bench.unstored = []
    bench.happens(.recordFailed(record.index))
    #expect(bench.enrolmentMessages[3]?.count == 1, "the lock's second message only")
    let isThere = bench.access.phones.contains { $0.key == Array(key.publicKey.rawRepresentation) }
    #expect(!isThere, "nor is it there after a restart")
    bench.storesAtOnce = true
    bench.happens(.linkUp(Self.carol))
    try bench.command(.unlock, 1, key: key, over: Self.carol)
    #expect(bench.refusals == [.notEnrolled] && bench.turns.isEmpty)
  }

  @Test("L5: a lost phone is replaced, and a factory reset forgets those who were enrolled by the code")
  func replaced() throws {
    var bench = try bench()
    let (lost, new) = (Key(), Key())
    for key in [lost, new, new] {
      bench.happens(.enrolmentButton)
      #expect(try enrol(key, on: &bench) != nil)
    }
    #expect(bench.access.phones.map(\.key) == [lost, new].map { Array($0.publicKey.rawRepresentation) })
    #expect(try AccessState(decoding: bench.access.encoded) == bench.access)
    bench.happens(.enrolmentButton)
    bench.move(door: .open)
    bench.happens(.resetButton(isPressed: true))
    bench.pass(10)
    #expect(bench.access.phones.isEmpty && bench.firmware.enrolmentStatus == .closed)
    bench.happens(.linkUp(Self.carol))
    try bench.command(.unlock, 1, key: new, over: Self.carol)
    #expect(bench.refusals == [.notEnrolled])
    bench.happens(.enrolmentButton)
    #expect(try enrol(new, on: &bench) != nil)
  }

  @Test("L5: what a lock stored before there was enrolment is read, and written as it was") func olderState()
    throws
  {
    var state = AccessState()
    state.guests = [KeyName(key: [UInt8](repeating: 9, count: 32), name: [65])]
    #expect(state.encoded[0] == 1)
    #expect(try AccessState(decoding: state.encoded) == state)
    state.phones = state.guests
    #expect(state.encoded[0] == 2)
    #expect(try AccessState(decoding: state.encoded) == state)
    #expect(throws: LockMessageError.self) { try AccessState(decoding: Array(state.encoded.dropLast())) }
  }

  @Test("attack 12: what a lock has stored has one form: none says that there are ends of grants where there are none")
  func oneForm() throws {
    var state = AccessState()
    // As the fuzzer found it.
    #expect(throws: LockMessageError.self) { try AccessState(decoding: [3] + [UInt8](repeating: 0, count: 7) + [0x49]) }
    state.uses = [AccessState.Use(grant: [UInt8](repeating: 1, count: 16), count: 2)]
    var written = state.encoded
    #expect(written[0] == 1)
    written[0] = 3
    written += [0] + [0x7f] + [UInt8](repeating: 0xff, count: 7) + [0]
    #expect(throws: LockMessageError.self) { try AccessState(decoding: written) }
    state.forgottenUntil = 5
    #expect(state.encoded[0] == 3)
    #expect(try AccessState(decoding: state.encoded) == state)
  }

  @Test(
    "attack 12: anything may be written to Enrolment, and the lock stays as it is", arguments: 0..<8 as Range<UInt64>)
  func garbage(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var bench = try bench()
    for _ in 0..<400 {
      let central = CentralIdentifier(high: 2, low: UInt64.random(in: 10...20, using: &random))
      switch Int.random(in: 0..<6, using: &random) {
      case 0: bench.happens(.enrolmentButton)
      case 1: bench.pass(Double.random(in: 0...90, using: &random))
      default:
        let count = [0, 1, 2, 3, 20, 50, 67, 100, 512].randomElement(using: &random) ?? 0
        var fragment = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        if count > 1 { fragment[1] = [0xC0, 0x40, 0x81, 0x80].randomElement(using: &random) ?? 0 }
        bench.happens(.enrolmentWritten(central, fragment))
      }
    }
    #expect(bench.access.phones.isEmpty && bench.turns.isEmpty)
    #expect(bench.log.allSatisfy { $0.kind == .alarm })
    bench.pass(400)
    bench.happens(.enrolmentButton)
    #expect(try enrol(Key(), on: &bench) != nil)
  }
}
