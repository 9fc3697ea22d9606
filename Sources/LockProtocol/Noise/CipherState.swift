/// A key and the number of its uses (Noise, section 5.1). Without a key, text passes unchanged.
package struct CipherState<Cryptography: NoiseCryptography> {
  private var key: [UInt8]?
  private var nonce: UInt64 = 0

  /// A state without a key.
  package init() {}

  /// A state with a key of 32 bytes that has not been used.
  init(key: [UInt8]) { self.key = key }

  /// Whether the text is encrypted.
  package var hasKey: Bool { key != nil }

  /// Encrypts and authenticates. Returns the text unchanged if there is no key.
  package mutating func encrypt(
    _ plaintext: [UInt8], authenticating associatedData: [UInt8] = []
  ) throws(NoiseError) -> [UInt8] {
    guard let key else { return plaintext }
    guard nonce < .max else { throw .nonceExhausted }
    let ciphertext = try Cryptography.seal(plaintext, key: key, nonce: nonce, authenticating: associatedData)
    nonce += 1
    return ciphertext
  }

  /// Decrypts. A text that fails leaves the state unchanged, so a forged message does not prevent the true one from
  /// being read.
  package mutating func decrypt(
    _ ciphertext: [UInt8], authenticating associatedData: [UInt8] = []
  ) throws(NoiseError) -> [UInt8] {
    guard let key else { return ciphertext }
    guard nonce < .max else { throw .nonceExhausted }
    guard ciphertext.count >= NoiseSize.tagByteCount else { throw .messageTooShort }
    let plaintext = try Cryptography.open(ciphertext, key: key, nonce: nonce, authenticating: associatedData)
    nonce += 1
    return plaintext
  }
}
