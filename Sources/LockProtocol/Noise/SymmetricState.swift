/// The running hash and chaining key of a handshake (Noise, section 5.2).
struct SymmetricState<Cryptography: NoiseCryptography> {
  private var cipher = CipherState<Cryptography>()
  private var chainingKey: [UInt8]
  /// The hash over everything that both sides have seen. If it differs, nothing decrypts.
  private(set) var handshakeHash: [UInt8]

  init(protocolName: [UInt8]) {
    if protocolName.count <= NoiseSize.hashByteCount {
      let padding = [UInt8](repeating: 0, count: NoiseSize.hashByteCount - protocolName.count)
      handshakeHash = protocolName + padding
    } else {
      handshakeHash = Cryptography.hash(protocolName)
    }
    chainingKey = handshakeHash
  }

  var hasKey: Bool { cipher.hasKey }

  mutating func mixHash(_ bytes: [UInt8]) {
    handshakeHash = Cryptography.hash(handshakeHash + bytes)
  }

  mutating func mixKey(_ secret: [UInt8]) {
    let derived = derive(from: secret)
    chainingKey = derived.first
    cipher = CipherState(key: derived.second)
  }

  mutating func mixKeyAndHash(_ secret: [UInt8]) {
    let derived = derive(from: secret)
    chainingKey = derived.first
    mixHash(derived.second)
    cipher = CipherState(key: derived.third)
  }

  mutating func encryptAndHash(_ plaintext: [UInt8]) throws(NoiseError) -> [UInt8] {
    let ciphertext = try cipher.encrypt(plaintext, authenticating: handshakeHash)
    mixHash(ciphertext)
    return ciphertext
  }

  mutating func decryptAndHash(_ ciphertext: [UInt8]) throws(NoiseError) -> [UInt8] {
    let plaintext = try cipher.decrypt(ciphertext, authenticating: handshakeHash)
    mixHash(ciphertext)
    return plaintext
  }

  /// The two states for the messages after the handshake: from the initiator, and to it.
  func split() -> NoiseTransport<Cryptography> {
    let derived = derive(from: [])
    return NoiseTransport(fromInitiator: CipherState(key: derived.first), toInitiator: CipherState(key: derived.second))
  }

  /// HKDF as in section 4.3, with three outputs of 32 bytes.
  private func derive(from secret: [UInt8]) -> (first: [UInt8], second: [UInt8], third: [UInt8]) {
    let extracted = Cryptography.authenticationCode(of: secret, key: chainingKey)
    let first = Cryptography.authenticationCode(of: [1], key: extracted)
    let second = Cryptography.authenticationCode(of: first + [2], key: extracted)
    let third = Cryptography.authenticationCode(of: second + [3], key: extracted)
    return (first, second, third)
  }
}

/// The result of a complete handshake: one key for each direction, so that a message sent back to its sender is
/// rejected.
package struct NoiseTransport<Cryptography: NoiseCryptography> {
  package var fromInitiator: CipherState<Cryptography>
  package var toInitiator: CipherState<Cryptography>
}
