/// An owner's introduction that any phone can bring to the lock. So the lock can believe an owner who has not been at
/// it since the enrolment.
///
/// It is the first message of `Noise_KK_25519_ChaChaPoly_SHA256`, from the owner's phone to the lock: both have known
/// each other's static key since the enrolment. Only that phone, or somebody with the lock's private key, can write it.
/// It is not bound to a session, so it may come late or twice. The lock therefore takes it only from an owner whose
/// signing key it does not know yet.
package struct SealedIntroduction: Equatable, Sendable {
  /// The owner's phone, by its static public key, 32 bytes.
  package let phone: [UInt8]
  /// The handshake's message.
  private let message: [UInt8]

  private static let version: UInt8 = 1
  private static var prologue: [UInt8] {
    let purpose: StaticString = "Latchkey introduction"
    return purpose.withUTF8Buffer { Array($0) } + [version]
  }
  /// The length with an empty name: a static and an ephemeral key, an encrypted signing key, and its tag.
  private static let leastByteCount = 3 * NoiseSize.keyByteCount + NoiseSize.tagByteCount
  /// The lengths that it has.
  package static var byteCounts: ClosedRange<Int> { leastByteCount...leastByteCount + KeyName.nameByteLimit }

  /// - Parameters:
  ///   - signingKey: the owner's Ed25519 public key, 32 bytes.
  ///   - name: as `KeyName.name(from:)` makes it.
  package init<Cryptography: NoiseCryptography>(
    signingKey: [UInt8], name: [UInt8], to lock: LockIdentity, lockKey: Cryptography.PublicKey,
    from phoneKey: Cryptography.PrivateKey, using cryptography: inout Cryptography
  ) throws(LockSessionError) {
    phone = Cryptography.bytes(of: Cryptography.publicKey(of: phoneKey))
    do {
      var handshake = try HandshakeState<Cryptography>(
        .kk, role: .initiator, prologue: Self.prologue + lock.bytes, staticKey: phoneKey, remoteStaticKey: lockKey)
      message = try handshake.writeMessage(signingKey + name, using: &cryptography)
    } catch { throw .authenticationFailed }
  }

  package init(decoding bytes: [UInt8]) throws(LockMessageError) {
    guard Self.byteCounts.contains(bytes.count) else { throw .wrongLength }
    phone = Array(bytes.prefix(NoiseSize.keyByteCount))
    message = Array(bytes.dropFirst(NoiseSize.keyByteCount))
  }

  package var encoded: [UInt8] { phone + message }

  /// Reads the introduction at the lock.
  /// - Throws: `authenticationFailed` if this phone has not written it for this lock; `malformed` if the name is not
  ///   valid.
  package func open<Cryptography: NoiseCryptography>(
    at lock: LockIdentity, lockKey: Cryptography.PrivateKey, using: Cryptography.Type
  ) throws(LockSessionError) -> (signingKey: [UInt8], name: [UInt8]) {
    let text: [UInt8]
    do throws(NoiseError) {
      var handshake = try HandshakeState<Cryptography>(
        .kk, role: .responder, prologue: Self.prologue + lock.bytes, staticKey: lockKey,
        remoteStaticKey: try Cryptography.publicKey(from: phone))
      text = try handshake.readMessage(message)
    } catch { throw .authenticationFailed }
    let name = Array(text.dropFirst(NoiseSize.keyByteCount))
    guard KeyName.isName(name) else { throw .malformed }
    return (Array(text.prefix(NoiseSize.keyByteCount)), name)
  }
}
