/// The lengths and words of an enrolment: `Noise_XXpsk3_25519_ChaChaPoly_SHA256`, with the phone as the initiator and
/// the lock's code as the secret, and then one transport message of the lock.
///
/// Only the third message depends on the code, and the phone writes it. So an attacker who poses as a phone learns
/// nothing, and can try one code with each handshake, at the lock. An attacker who poses as a lock can try codes on the
/// third message without the lock, which is why a code is long. Before the code is proven, each side tells the other
/// only its public key.
package enum Enrolment {
  package static let version: UInt8 = 1
  /// The first message: an ephemeral key and a tag.
  package static let startByteCount = NoiseSize.keyByteCount + NoiseSize.tagByteCount
  /// The second: an ephemeral key, an encrypted static key, a tag.
  package static let replyByteCount = 2 * NoiseSize.keyByteCount + 2 * NoiseSize.tagByteCount
  /// The third: an encrypted static key, the version, a name, and a tag.
  package static let proofByteCounts =
    NoiseSize.keyByteCount + 2 * NoiseSize.tagByteCount + 1...NoiseSize.keyByteCount + 2 * NoiseSize.tagByteCount + 1
    + KeyName.nameByteLimit
  /// The fourth: the version, the lock's identity, its name, and a tag.
  package static let confirmationByteCounts =
    1 + LockIdentity.byteCount + NoiseSize.tagByteCount...1 + LockIdentity.byteCount + KeyName.nameByteLimit
    + NoiseSize.tagByteCount

  static var prologue: [UInt8] {
    let purpose: StaticString = "Latchkey enrolment"
    return purpose.withUTF8Buffer { Array($0) } + [version]
  }
}

/// The value of the Enrolment characteristic, and the reason for which a write to it is refused (`attError`).
package enum EnrolmentStatus: UInt8, Equatable, Sendable, CaseIterable {
  /// The window is open: a phone that has the code is enrolled.
  case open = 0
  /// The window is closed. The button at the lock opens it.
  case closed = 1
  /// Too many wrong codes: the button does nothing for a while.
  case lockedOut = 2
  /// This lock has no code, so nobody is enrolled this way.
  case noCode = 3
  /// What was written is no message of an enrolment with this lock's code. Only in refusals.
  case wrongCode = 4
  /// The lock has room for no other phone, or can't store it. Only in refusals.
  case noRoom = 5
  /// The code was right, and the owner's name is not UTF-8. Only in refusals.
  case badName = 6

  /// The value of the characteristic: the version and the status.
  package var encoded: [UInt8] { [Enrolment.version, rawValue] }

  /// Reads `encoded`.
  package init(decoding bytes: [UInt8]) throws(LockMessageError) {
    guard bytes.count == 2 else { throw .wrongLength }
    guard bytes[0] == Enrolment.version else { throw .unknownVersion }
    guard let status = EnrolmentStatus(rawValue: bytes[1]) else { throw .unknownValue }
    self = status
  }

  /// The code of ATT's range for applications with which a write is refused.
  package var attError: UInt8 { 0x80 + rawValue }
}

/// The phone's side of an enrolment.
package struct EnrolmentOfPhone<Cryptography: NoiseCryptography> {
  /// The first message.
  package let start: [UInt8]
  private var handshake: HandshakeState<Cryptography>
  private var transport: NoiseTransport<Cryptography>?

  /// - Parameters:
  ///   - secret: the code's secret (`EnrolmentCode.secret`).
  ///   - staticKey: a key that this phone uses for no other lock, because an attacker who poses as this lock can learn
  ///     its public half.
  package init(
    secret: [UInt8], staticKey: Cryptography.PrivateKey, using cryptography: inout Cryptography
  ) throws(LockSessionError) {
    do {
      handshake = try HandshakeState(
        .xxpsk3, role: .initiator, prologue: Enrolment.prologue, staticKey: staticKey, secret: secret)
      start = try handshake.writeMessage([], using: &cryptography)
    } catch { throw .authenticationFailed }
  }

  /// Tells the fragments of this enrolment from those of others.
  package var tag: UInt8 { start[0] }

  /// Reads the second message, and writes the third.
  /// - Parameter name: what the lock is to call this phone's owner, at most 32 bytes of UTF-8.
  package mutating func answer(
    _ reply: [UInt8], name: [UInt8], using cryptography: inout Cryptography
  ) throws(LockSessionError) -> [UInt8] {
    guard reply.count == Enrolment.replyByteCount else { throw .wrongLength }
    do {
      _ = try handshake.readMessage(reply)
      let proof = try handshake.writeMessage(
        [Enrolment.version] + name.prefix(KeyName.nameByteLimit), using: &cryptography)
      transport = try handshake.split()
      return proof
    } catch { throw error == .outOfTurn ? .used : .authenticationFailed }
  }

  /// Reads the fourth message, which proves that the lock has the code and has stored this phone's key.
  package mutating func finish(
    _ confirmation: [UInt8]
  ) throws(LockSessionError) -> (lock: LockIdentity, lockKey: Cryptography.PublicKey, lockName: [UInt8]) {
    guard Enrolment.confirmationByteCounts.contains(confirmation.count) else { throw .wrongLength }
    guard var transport, let lockKey = handshake.remoteStaticKey else { throw .used }
    let text: [UInt8]
    do { text = try transport.toInitiator.decrypt(confirmation) } catch { throw .authenticationFailed }
    self.transport = nil
    guard text[0] == Enrolment.version, let identity = LockIdentity(Array(text[1...LockIdentity.byteCount])) else {
      throw .malformed
    }
    return (identity, lockKey, Array(text[(1 + LockIdentity.byteCount)...]))
  }
}

/// The lock's side of an enrolment.
package struct EnrolmentOfLock<Cryptography: NoiseCryptography> {
  /// The second message.
  package let reply: [UInt8]
  /// Tells the fragments of this enrolment from those of others.
  package let tag: UInt8
  private var handshake: HandshakeState<Cryptography>
  private var transport: NoiseTransport<Cryptography>?

  /// - Parameters:
  ///   - secret: the code's.
  ///   - start: the phone's first message.
  package init(
    secret: [UInt8], staticKey: Cryptography.PrivateKey, start: [UInt8], using cryptography: inout Cryptography
  ) throws(LockSessionError) {
    guard start.count == Enrolment.startByteCount else { throw .wrongLength }
    tag = start[0]
    do {
      handshake = try HandshakeState(
        .xxpsk3, role: .responder, prologue: Enrolment.prologue, staticKey: staticKey, secret: secret)
      _ = try handshake.readMessage(start)
      reply = try handshake.writeMessage([], using: &cryptography)
    } catch { throw .authenticationFailed }
  }

  /// Reads the third message, which proves that the phone has the code. Any other message ends the enrolment.
  /// - Throws: `malformed` if the code was right, but the name is not valid.
  package mutating func accept(_ proof: [UInt8]) throws(LockSessionError) -> KeyName {
    guard Enrolment.proofByteCounts.contains(proof.count) else { throw .wrongLength }
    let phone: KeyName
    do throws(NoiseError) {
      let text = try handshake.readMessage(proof)
      guard let key = handshake.remoteStaticKey else { throw NoiseError.missingKey }
      transport = try handshake.split()
      guard text[0] == Enrolment.version else { throw NoiseError.authenticationFailed }
      phone = KeyName(key: Cryptography.bytes(of: key), name: Array(text[1...]))
    } catch { throw error == .outOfTurn ? .used : .authenticationFailed }
    guard KeyName.isName(phone.name) else { throw .malformed }
    return phone
  }

  /// Writes the fourth message, once: the phone's key is stored.
  package mutating func confirm(_ lock: LockIdentity, name: [UInt8]) throws(LockSessionError) -> [UInt8] {
    guard var transport else { throw .used }
    self.transport = nil
    do {
      return try transport.toInitiator.encrypt(
        [Enrolment.version] + lock.bytes + name.prefix(KeyName.nameByteLimit))
    } catch { throw .authenticationFailed }
  }
}
