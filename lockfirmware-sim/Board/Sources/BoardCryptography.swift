import CBoard
import LockProtocol
import LockScript

/// The Noise primitives on BearSSL. Its keys come from a seed: a board in a door needs a true source of randomness here.
struct BoardCryptography: ScriptCryptography {
  struct PrivateKey: Sendable { var bytes: [UInt8] }
  struct PublicKey: Sendable { var bytes: [UInt8] }

  private var random: ScriptRandom

  init(seed: UInt64) { random = ScriptRandom(seed: seed) }

  mutating func makePrivateKey() -> PrivateKey { PrivateKey(bytes: random.bytes(NoiseSize.keyByteCount)) }

  static func privateKey(from bytes: [UInt8]) -> PrivateKey { PrivateKey(bytes: bytes) }

  static func publicKey(of privateKey: PrivateKey) -> PublicKey {
    var base = [UInt8](repeating: 0, count: NoiseSize.keyByteCount)
    base[0] = 9
    return PublicKey(bytes: multiplied(privateKey.bytes, base))
  }

  static func publicKey(from bytes: [UInt8]) throws(NoiseError) -> PublicKey {
    guard bytes.count == NoiseSize.keyByteCount else { throw .badKey }
    return PublicKey(bytes: bytes)
  }

  static func bytes(of publicKey: PublicKey) -> [UInt8] { publicKey.bytes }

  static func sharedSecret(_ privateKey: PrivateKey, _ publicKey: PublicKey) throws(NoiseError) -> [UInt8] {
    let secret = multiplied(privateKey.bytes, publicKey.bytes)
    // A key of low order would make the secret known to everyone.
    guard secret.contains(where: { $0 != 0 }) else { throw .badKey }
    return secret
  }

  private static func multiplied(_ scalar: [UInt8], _ point: [UInt8]) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: NoiseSize.keyByteCount)
    board_x25519(&result, scalar, point)
    return result
  }

  static func seal(
    _ plaintext: [UInt8], key: [UInt8], nonce: UInt64, authenticating associatedData: [UInt8]
  ) throws(NoiseError) -> [UInt8] {
    var text = plaintext
    var tag = [UInt8](repeating: 0, count: NoiseSize.tagByteCount)
    board_chacha_poly(key, expanded(nonce), &text, text.count, associatedData, associatedData.count, &tag, 1)
    return text + tag
  }

  static func open(
    _ ciphertext: [UInt8], key: [UInt8], nonce: UInt64, authenticating associatedData: [UInt8]
  ) throws(NoiseError) -> [UInt8] {
    guard ciphertext.count >= NoiseSize.tagByteCount else { throw .messageTooShort }
    var text = Array(ciphertext.dropLast(NoiseSize.tagByteCount))
    var tag = [UInt8](repeating: 0, count: NoiseSize.tagByteCount)
    board_chacha_poly(key, expanded(nonce), &text, text.count, associatedData, associatedData.count, &tag, 0)
    // All of it is compared, so that the time tells nothing.
    var difference: UInt8 = 0
    for (index, byte) in ciphertext.suffix(NoiseSize.tagByteCount).enumerated() { difference |= byte ^ tag[index] }
    guard difference == 0 else { throw .authenticationFailed }
    return text
  }

  static func hash(_ bytes: [UInt8]) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: NoiseSize.hashByteCount)
    board_sha256(&result, bytes, bytes.count)
    return result
  }

  static func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: NoiseSize.hashByteCount)
    board_hmac_sha256(&result, key, key.count, bytes, bytes.count)
    return result
  }

  private static func expanded(_ count: UInt64) -> [UInt8] {
    var nonce = [UInt8](repeating: 0, count: 12)
    for index in 0..<8 { nonce[4 + index] = UInt8(truncatingIfNeeded: count >> UInt64(8 * index)) }
    return nonce
  }
}
