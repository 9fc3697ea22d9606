import Crypto
import LockCryptography
import LockProtocol
import RandomTesting
import Synchronization
import Testing

/// A lock and an enrolled phone, with fresh keys.
struct Pair {
  typealias PrivateKey = Curve25519.KeyAgreement.PrivateKey
  var identity: LockIdentity
  var lockKey = PrivateKey()
  var phoneKey = PrivateKey()
  var cryptography = SwiftCryptography()

  init(identity: UInt8 = 7) throws {
    self.identity = try #require(LockIdentity([UInt8](repeating: identity, count: 16)))
  }

  mutating func lockSession() throws -> LockSession<SwiftCryptography> {
    try LockSession(identity: identity, staticKey: lockKey, using: &cryptography)
  }

  func phoneSession(_ offer: [UInt8]) throws -> PhoneSession<SwiftCryptography> {
    try PhoneSession(offer: offer, identity: identity, lockKey: lockKey.publicKey, phoneKey: phoneKey)
  }

  func isEnrolled(_ key: [UInt8]) -> Bool { key == Array(phoneKey.publicKey.rawRepresentation) }
}

@Suite("Lock sessions") struct SessionTests {
  let unlock = LockCommand(.unlock, operation: 42)
  let answer = LockAnswer(result: .done, lockState: .unlocked, doorState: .closed, operation: 42, logIndex: 9)

  @Test("L4: one offer, one write, one answer") func oneWrite() throws {
    var pair = try Pair()
    var lock = try pair.lockSession()
    #expect(lock.offer.count == 32)
    var phone = try pair.phoneSession(lock.offer)
    let write = try phone.seal(unlock, using: &pair.cryptography)
    #expect(write.count == LockService.commandByteCount)
    let accepted = try lock.accept(write, isEnrolled: pair.isEnrolled)
    #expect(accepted.command == unlock)
    #expect(accepted.phoneKey == Array(pair.phoneKey.publicKey.rawRepresentation))
    #expect(try phone.open(try lock.seal(answer)) == answer)
  }

  @Test("attack 1: a write captured in one session opens nothing in a later one") func replayLater() throws {
    var pair = try Pair()
    let first = try pair.lockSession()
    var phone = try pair.phoneSession(first.offer)
    let captured = try phone.seal(unlock, using: &pair.cryptography)
    var later = try pair.lockSession()
    #expect(throws: LockSessionError.authenticationFailed) {
      try later.accept(captured, isEnrolled: pair.isEnrolled)
    }
  }

  @Test("L4: a session's conversation does not have the tag of another that goes on, so the lock keeps them apart")
  func otherTag() throws {
    var pair = try Pair()
    let lock = try pair.lockSession()
    let keys = (0..<8).map { _ in Curve25519.KeyAgreement.PrivateKey() }
    func tag(avoiding other: UInt8?) throws -> UInt8 {
      let next = Mutex(0)
      var cryptography = SwiftCryptography {
        next.withLock { index in
          index += 1
          return keys[index - 1]
        }
      }
      let begun = try PhoneSession.begin(
        unlock, offer: lock.offer, identity: pair.identity, lockKey: pair.lockKey.publicKey, phoneKey: pair.phoneKey,
        avoiding: other, using: &cryptography)
      var phone = begun.session
      #expect(phone.tag != other)
      var accepting = lock
      _ = try accepting.accept(begun.message, isEnrolled: pair.isEnrolled)
      _ = try phone.open(try accepting.seal(answer))
      #expect(phone.conversation?.tag == phone.tag)
      return try #require(phone.tag)
    }
    let usual = try tag(avoiding: nil)
    #expect(try tag(avoiding: usual &+ 1) == usual)
    #expect(try tag(avoiding: usual) != usual)
  }

  @Test("attack 2: a write delivered twice is accepted once") func duplicate() throws {
    var pair = try Pair()
    var lock = try pair.lockSession()
    var phone = try pair.phoneSession(lock.offer)
    let write = try phone.seal(unlock, using: &pair.cryptography)
    _ = try lock.accept(write, isEnrolled: pair.isEnrolled)
    #expect(throws: LockSessionError.used) { try lock.accept(write, isEnrolled: pair.isEnrolled) }
    _ = try lock.seal(answer)
    #expect(throws: LockSessionError.used) { try lock.seal(answer) }
  }

  @Test("attack 3: an offer that is used again does not make the phone's write usable") func reusedOffer() throws {
    // A false lock sends an old offer again. It has the phone's earlier write to that offer, and gains nothing.
    var pair = try Pair()
    var lock = try pair.lockSession()
    var phone = try pair.phoneSession(lock.offer)
    let earlier = try phone.seal(unlock, using: &pair.cryptography)
    var again = try pair.phoneSession(lock.offer)
    let later = try again.seal(unlock, using: &pair.cryptography)
    #expect(earlier != later)
    _ = try lock.accept(earlier, isEnrolled: pair.isEnrolled)
    #expect(throws: LockSessionError.used) { try lock.accept(later, isEnrolled: pair.isEnrolled) }
    let sealed = try lock.seal(answer)
    #expect(throws: LockSessionError.authenticationFailed) { try again.open(sealed) }
    #expect(try phone.open(sealed) == answer)
  }

  @Test("attacks 5, 6: there is no plaintext command and no other version") func plaintext() throws {
    var pair = try Pair()
    var lock = try pair.lockSession()
    #expect(throws: LockSessionError.wrongLength) { try lock.accept(unlock.encoded, isEnrolled: { _ in true }) }
    let padded = unlock.encoded + [UInt8](repeating: 0, count: LockService.commandByteCount - unlock.encoded.count)
    #expect(throws: LockSessionError.authenticationFailed) { try lock.accept(padded, isEnrolled: { _ in true }) }

    // The right keys, but another version in the prologue: a downgrade is a different handshake.
    var current = try pair.lockSession()
    let purpose = Array("Latchkey lock session".utf8)
    for version in [LockService.protocolVersion - 1, LockService.protocolVersion + 1] {
      var older = try HandshakeState<SwiftCryptography>(
        .kx, role: .responder, prologue: purpose + [version] + pair.identity.bytes, staticKey: pair.phoneKey,
        remoteStaticKey: pair.lockKey.publicKey)
      _ = try older.readMessage(current.offer)
      let write = try older.writeMessage(unlock.encoded, using: &pair.cryptography)
      #expect(throws: LockSessionError.authenticationFailed) {
        try current.accept(write, isEnrolled: pair.isEnrolled)
      }
      current = try pair.lockSession()
    }
    // With our own version the same construction works, so the version was the cause.
    var same = try HandshakeState<SwiftCryptography>(
      .kx, role: .responder, prologue: purpose + [LockService.protocolVersion] + pair.identity.bytes,
      staticKey: pair.phoneKey, remoteStaticKey: pair.lockKey.publicKey)
    _ = try same.readMessage(current.offer)
    var oldPayload = unlock.encoded
    oldPayload[0] = 0
    let write = try same.writeMessage(oldPayload, using: &pair.cryptography)
    #expect(throws: LockSessionError.malformed) { try current.accept(write, isEnrolled: pair.isEnrolled) }
  }

  @Test("attack 11: no bit of a command or an answer can be flipped") func bitFlips() throws {
    var pair = try Pair()
    for bit in 0..<(LockService.commandByteCount * 8) {
      var lock = try pair.lockSession()
      var phone = try pair.phoneSession(lock.offer)
      var write = try phone.seal(unlock, using: &pair.cryptography)
      write[bit / 8] ^= 1 << UInt8(bit % 8)
      // Curve25519 ignores the top bit of a point, but the handshake hash contains it.
      #expect(throws: LockSessionError.authenticationFailed) { try lock.accept(write, isEnrolled: { _ in true }) }
    }
    var lock = try pair.lockSession()
    var phone = try pair.phoneSession(lock.offer)
    _ = try lock.accept(try phone.seal(unlock, using: &pair.cryptography), isEnrolled: pair.isEnrolled)
    let sealed = try lock.seal(answer)
    for bit in 0..<(LockService.answerByteCount * 8) {
      var flipped = sealed
      flipped[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(throws: LockSessionError.authenticationFailed) { try phone.open(flipped) }
    }
    #expect(try phone.open(sealed) == answer)
  }

  @Test("attack 12: garbage of any length is refused", arguments: [1, 2, 3] as [UInt64]) func garbage(seed: UInt64)
    throws
  {
    var random = SeededGenerator(seed: seed)
    var pair = try Pair()
    for _ in 0..<200 {
      var lock = try pair.lockSession()
      let count = Bool.random(using: &random) ? LockService.commandByteCount : Int.random(in: 0...600, using: &random)
      let garbage = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
      #expect(throws: LockSessionError.self) { try lock.accept(garbage, isEnrolled: { _ in true }) }
      #expect(throws: LockSessionError.used) { try lock.seal(answer) }
      let offer = (0..<Int.random(in: 0...64, using: &random)).map { _ in
        UInt8.random(in: .min ... .max, using: &random)
      }
      if offer.count != LockService.offerByteCount {
        #expect(throws: LockSessionError.wrongLength) { try pair.phoneSession(offer) }
      }
    }
  }

  @Test("attacks 20, 21: a false lock learns neither the command nor who wrote it") func falseLock() throws {
    var pair = try Pair()
    // The false lock knows the true lock's public key and identity, and makes its own ephemeral key.
    let falseKey = Curve25519.KeyAgreement.PrivateKey()
    var falseLock = try LockSession<SwiftCryptography>(
      identity: pair.identity, staticKey: falseKey, using: &pair.cryptography)
    var phone = try pair.phoneSession(falseLock.offer)
    let write = try phone.seal(unlock, using: &pair.cryptography)
    #expect(throws: LockSessionError.authenticationFailed) { try falseLock.accept(write, isEnrolled: { _ in true }) }
    // Nothing in it repeats: neither the phone's key nor any part that would identify the phone.
    let publicKey = Array(pair.phoneKey.publicKey.rawRepresentation)
    #expect(!contains(write, publicKey))
    var second = try pair.phoneSession(falseLock.offer)
    let other = try second.seal(unlock, using: &pair.cryptography)
    #expect(zip(write, other).allSatisfy { $0 == $1 } == false)
    // Forwarded to the true lock, which has a different offer, it opens nothing.
    var trueLock = try pair.lockSession()
    #expect(throws: LockSessionError.authenticationFailed) { try trueLock.accept(write, isEnrolled: pair.isEnrolled) }
    // The false lock can't invent an answer either.
    #expect(throws: LockSessionError.authenticationFailed) {
      try phone.open([UInt8](repeating: 0, count: LockService.answerByteCount))
    }
  }

  @Test("attack 29: the lock's own messages, sent back to it, are refused") func reflection() throws {
    var pair = try Pair()
    var lock = try pair.lockSession()
    #expect(throws: LockSessionError.wrongLength) { try lock.accept(lock.offer, isEnrolled: { _ in true }) }
    var phone = try pair.phoneSession(lock.offer)
    _ = try lock.accept(try phone.seal(unlock, using: &pair.cryptography), isEnrolled: pair.isEnrolled)
    let sealed = try lock.seal(answer)
    #expect(throws: LockSessionError.wrongLength) { try lock.accept(sealed, isEnrolled: { _ in true }) }
    // Each direction has its own keys: what the initiator sealed can't be opened as the responder's.
    var initiator = try HandshakeState<SwiftCryptography>(.xx, role: .initiator, prologue: [], staticKey: .init())
    var responder = try HandshakeState<SwiftCryptography>(.xx, role: .responder, prologue: [], staticKey: .init())
    _ = try responder.readMessage(try initiator.writeMessage([], using: &pair.cryptography))
    _ = try initiator.readMessage(try responder.writeMessage([], using: &pair.cryptography))
    _ = try responder.readMessage(try initiator.writeMessage([], using: &pair.cryptography))
    var transport = try initiator.split()
    let own = try transport.fromInitiator.encrypt([1, 2, 3])
    #expect(throws: NoiseError.authenticationFailed) { try transport.toInitiator.decrypt(own) }
  }

  @Test("attack 30: a command for one lock is nothing to another, even with the same key") func wrongLock() throws {
    var here = try Pair(identity: 1)
    var there = try Pair(identity: 2)
    there.lockKey = here.lockKey
    there.phoneKey = here.phoneKey
    var lock = try here.lockSession()
    var phone = try there.phoneSession(lock.offer)
    let write = try phone.seal(unlock, using: &there.cryptography)
    #expect(throws: LockSessionError.authenticationFailed) { try lock.accept(write, isEnrolled: here.isEnrolled) }
  }

  @Test("L4: a phone that is not enrolled proves its key in vain") func notEnrolled() throws {
    var pair = try Pair()
    var lock = try pair.lockSession()
    let stranger = Curve25519.KeyAgreement.PrivateKey()
    var phone = try PhoneSession<SwiftCryptography>(
      offer: lock.offer, identity: pair.identity, lockKey: pair.lockKey.publicKey, phoneKey: stranger)
    let write = try phone.seal(unlock, using: &pair.cryptography)
    #expect(throws: LockSessionError.notEnrolled) { try lock.accept(write, isEnrolled: pair.isEnrolled) }
    #expect(throws: LockSessionError.used) { try lock.seal(answer) }
  }

  @Test("attack 39: the answer to an earlier operation does not answer a later one") func staleAnswer() throws {
    var pair = try Pair()
    var lock = try pair.lockSession()
    var phone = try pair.phoneSession(lock.offer)
    _ = try lock.accept(try phone.seal(unlock, using: &pair.cryptography), isEnrolled: pair.isEnrolled)
    var stale = answer
    stale.operation = 41
    let sealed = try lock.seal(stale)
    #expect(throws: LockSessionError.otherOperation) { try phone.open(sealed) }
  }

  @Test("L4: a phone's session writes once") func phoneWritesOnce() throws {
    var pair = try Pair()
    let lock = try pair.lockSession()
    var phone = try pair.phoneSession(lock.offer)
    #expect(throws: LockSessionError.used) { try phone.open([UInt8](repeating: 0, count: LockService.answerByteCount)) }
    _ = try phone.seal(unlock, using: &pair.cryptography)
    #expect(throws: LockSessionError.used) { try phone.seal(unlock, using: &pair.cryptography) }
  }

  private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    (0...(bytes.count - part.count)).contains { Array(bytes[$0..<$0 + part.count]) == part }
  }
}

@Suite("Lock messages") struct MessageTests {
  @Test("A command and an answer read back as they were written", arguments: LockCommand.Kind.allCases)
  func roundTrip(_ kind: LockCommand.Kind) throws {
    let command = LockCommand(kind, operation: 0x0123_4567_89AB_CDEF)
    #expect(
      command.encoded == [LockService.protocolVersion, kind.rawValue, 0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF])
    #expect(try LockCommand(decoding: command.encoded) == command)
    let answer = LockAnswer(
      result: .doorOpen, lockState: .notFullyLocked, doorState: .open, operation: .max, logIndex: 1)
    #expect(answer.encoded.count == LockAnswer.byteCount)
    #expect(try LockAnswer(decoding: answer.encoded) == answer)
  }

  @Test("A message of another length, version or value is refused") func refused() {
    let good = LockCommand(.lock, operation: 1).encoded
    #expect(throws: LockMessageError.wrongLength) { try LockCommand(decoding: good + [0]) }
    #expect(throws: LockMessageError.wrongLength) { try LockCommand(decoding: []) }
    #expect(throws: LockMessageError.unknownVersion) {
      try LockCommand(decoding: [LockService.protocolVersion + 1] + good.dropFirst())
    }
    #expect(throws: LockMessageError.unknownValue) {
      try LockCommand(decoding: [LockService.protocolVersion, 0] + good.dropFirst(2))
    }
    #expect(throws: LockMessageError.unknownValue) {
      try LockAnswer(decoding: [LockService.protocolVersion, 0, 200] + [UInt8](repeating: 0, count: 17))
    }
  }

  @Test("L4: a result that only a later lock has is an answer all the same, so that nobody asks for it for ever")
  func laterResult() throws {
    var bytes = LockAnswer(result: .failed, lockState: .locked, doorState: .closed, operation: 7, logIndex: 1).encoded
    bytes[1] = 200
    let answer = try LockAnswer(decoding: bytes)
    #expect(answer.result == .unrecognised && answer.operation == 7)
  }
}
