import Crypto
import Foundation
import LockProtocol

/// The Noise primitives on swift-crypto.
package struct SwiftCryptography: NoiseCryptography, Sendable {
  package typealias PrivateKey = Curve25519.KeyAgreement.PrivateKey
  package typealias PublicKey = Curve25519.KeyAgreement.PublicKey

  private let generateKey: @Sendable () -> PrivateKey

  /// - Parameter generateKey: makes ephemeral keys, by default from the system's random numbers.
  package init(generateKey: @escaping @Sendable () -> PrivateKey = { PrivateKey() }) {
    self.generateKey = generateKey
  }

  package mutating func makePrivateKey() -> PrivateKey { generateKey() }

  package static func publicKey(of privateKey: PrivateKey) -> PublicKey { privateKey.publicKey }

  package static func publicKey(from bytes: [UInt8]) throws(NoiseError) -> PublicKey {
    do { return try PublicKey(rawRepresentation: bytes) } catch { throw .badKey }
  }

  package static func bytes(of publicKey: PublicKey) -> [UInt8] { Array(publicKey.rawRepresentation) }

  package static func sharedSecret(
    _ privateKey: PrivateKey, _ publicKey: PublicKey
  ) throws(NoiseError) -> [UInt8] {
    let secret: SharedSecret
    do { secret = try privateKey.sharedSecretFromKeyAgreement(with: publicKey) } catch { throw .badKey }
    let bytes = secret.withUnsafeBytes { Array($0) }
    // A key of low order would make the secret known to everyone.
    guard bytes.contains(where: { $0 != 0 }) else { throw .badKey }
    return bytes
  }

  package static func seal(
    _ plaintext: [UInt8], key: [UInt8], nonce: UInt64, authenticating associatedData: [UInt8]
  ) throws(NoiseError) -> [UInt8] {
    do {
      let box = try ChaChaPoly.seal(
        plaintext, using: SymmetricKey(data: key), nonce: try expanded(nonce), authenticating: associatedData)
      return Array(box.ciphertext) + Array(box.tag)
    } catch { throw .authenticationFailed }
  }

  package static func open(
    _ ciphertext: [UInt8], key: [UInt8], nonce: UInt64, authenticating associatedData: [UInt8]
  ) throws(NoiseError) -> [UInt8] {
    guard ciphertext.count >= NoiseSize.tagByteCount else { throw .messageTooShort }
    do {
      let box = try ChaChaPoly.SealedBox(
        nonce: try expanded(nonce), ciphertext: ciphertext.dropLast(NoiseSize.tagByteCount),
        tag: ciphertext.suffix(NoiseSize.tagByteCount))
      return Array(try ChaChaPoly.open(box, using: SymmetricKey(data: key), authenticating: associatedData))
    } catch { throw .authenticationFailed }
  }

  package static func hash(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

  package static func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
  }

  package static func isValid(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool {
    guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: key) else { return false }
    return key.isValidSignature(signature, for: message)
  }

  /// Noise's nonce for ChaCha20-Poly1305: four zero bytes, then the count, least significant byte first
  /// (section 12.3).
  private static func expanded(_ count: UInt64) throws -> ChaChaPoly.Nonce {
    let counted = (0..<8).map { UInt8(truncatingIfNeeded: count >> (8 * UInt64($0))) }
    return try ChaChaPoly.Nonce(data: [0, 0, 0, 0] + counted)
  }
}
