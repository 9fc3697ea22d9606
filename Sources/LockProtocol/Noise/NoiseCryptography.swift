/// The primitives under a Noise handshake with Curve25519, ChaCha20-Poly1305 and SHA-256
/// (Noise Protocol Framework, revision 34, section 4).
///
/// The functions are static, because they depend only on their arguments. Only making a key needs an instance, which
/// supplies the randomness: an implementation for tests makes predetermined keys.
package protocol NoiseCryptography {
  associatedtype PrivateKey: Sendable
  associatedtype PublicKey: Sendable

  /// A fresh private key from this instance's source of randomness.
  mutating func makePrivateKey() -> PrivateKey

  static func publicKey(of privateKey: PrivateKey) -> PublicKey
  /// Reads a public key from 32 bytes. Throws `.badKey` for any other length.
  static func publicKey(from bytes: [UInt8]) throws(NoiseError) -> PublicKey
  /// The public key's 32 bytes.
  static func bytes(of publicKey: PublicKey) -> [UInt8]
  /// X25519. Throws `.badKey` if the result would be all zero, as it is for points of low order.
  static func sharedSecret(_ privateKey: PrivateKey, _ publicKey: PublicKey) throws(NoiseError) -> [UInt8]

  /// ChaCha20-Poly1305: the ciphertext with its 16-byte tag. `key` has 32 bytes.
  static func seal(
    _ plaintext: [UInt8], key: [UInt8], nonce: UInt64, authenticating associatedData: [UInt8]
  ) throws(NoiseError) -> [UInt8]
  /// The plaintext. Throws `.authenticationFailed` unless every bit is as it was sealed.
  static func open(
    _ ciphertext: [UInt8], key: [UInt8], nonce: UInt64, authenticating associatedData: [UInt8]
  ) throws(NoiseError) -> [UInt8]

  /// SHA-256: 32 bytes.
  static func hash(_ bytes: [UInt8]) -> [UInt8]
  /// HMAC-SHA-256: 32 bytes.
  static func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8]

  /// Ed25519 (RFC 8032), for what owners sign: whether a signature of 64 bytes was made over this message with the private
  /// half of this key of 32 bytes. `false` for any other lengths.
  static func isValid(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool
}

extension NoiseCryptography {
  /// Without signatures there are no guests, and nothing is revoked over the air.
  package static func isValid(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool { false }
}

/// The sizes in Curve25519, ChaCha20-Poly1305 and SHA-256.
package enum NoiseSize {
  /// A key, private or public, in bytes.
  package static let keyByteCount = 32
  /// An authentication tag in bytes.
  package static let tagByteCount = 16
  /// A hash in bytes.
  package static let hashByteCount = 32
  /// The longest message that Noise allows, in bytes.
  package static let maximumMessageByteCount = 65535
}

/// Why a handshake or a message was refused. None of these reveals anything about a key.
package enum NoiseError: Error, Equatable, Sendable {
  /// A public key of the wrong length, or one whose shared secret is worthless.
  case badKey
  /// The message is shorter than its own parts.
  case messageTooShort
  /// The message is longer than Noise allows.
  case messageTooLong
  /// The message was made by another party or for another handshake, or was changed on its way.
  case authenticationFailed
  /// A key has been used as often as it may be.
  case nonceExhausted
  /// It is the other side's turn, or the handshake is complete, not yet complete, or has failed before.
  case outOfTurn
  /// The pattern needs a key that was not given.
  case missingKey
}
