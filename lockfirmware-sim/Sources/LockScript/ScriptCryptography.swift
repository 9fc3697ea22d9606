import LockProtocol

/// Primitives whose keys come from a seed, so that a script has the same keys everywhere.
package protocol ScriptCryptography: NoiseCryptography {
  init(seed: UInt64)
  static func privateKey(from bytes: [UInt8]) -> PrivateKey
}

/// A stand-in for cryptography: it has the sizes and the laws of the real one, and no security at all. A million events
/// take seconds with it instead of hours.
package struct StandInCryptography: ScriptCryptography {
  package struct PrivateKey: Sendable { fileprivate var exponent: UInt64 }
  package struct PublicKey: Sendable { fileprivate var power: UInt64 }

  /// The prime below 2^31, and a generator.
  private static var prime: UInt64 { 2_147_483_647 }
  private static var generator: UInt64 { 7 }

  private var random: ScriptRandom

  package init(seed: UInt64) { random = ScriptRandom(seed: seed) }

  package mutating func makePrivateKey() -> PrivateKey { Self.privateKey(from: random.bytes(8)) }

  package static func privateKey(from bytes: [UInt8]) -> PrivateKey {
    var exponent: UInt64 = 0
    for byte in bytes.prefix(8) { exponent = exponent << 8 | UInt64(byte) }
    return PrivateKey(exponent: exponent % (prime - 2) + 1)
  }

  private static func power(_ base: UInt64, _ exponent: UInt64) -> UInt64 {
    var result: UInt64 = 1
    var (base, exponent) = (base % prime, exponent)
    while exponent > 0 {
      if exponent & 1 == 1 { result = result * base % prime }
      base = base * base % prime
      exponent >>= 1
    }
    return result
  }

  package static func publicKey(of privateKey: PrivateKey) -> PublicKey {
    PublicKey(power: power(generator, privateKey.exponent))
  }

  package static func publicKey(from bytes: [UInt8]) throws(NoiseError) -> PublicKey {
    guard bytes.count == NoiseSize.keyByteCount else { throw .badKey }
    var power: UInt64 = 0
    for byte in bytes.prefix(8) { power = power << 8 | UInt64(byte) }
    return PublicKey(power: power)
  }

  package static func bytes(of publicKey: PublicKey) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: NoiseSize.keyByteCount)
    for index in 0..<8 { bytes[index] = UInt8(truncatingIfNeeded: publicKey.power >> UInt64(56 - 8 * index)) }
    return bytes
  }

  package static func sharedSecret(_ privateKey: PrivateKey, _ publicKey: PublicKey) throws(NoiseError) -> [UInt8] {
    let shared = power(publicKey.power, privateKey.exponent)
    guard shared != 0 else { throw .badKey }
    return spread(shared, NoiseSize.keyByteCount)
  }

  package static func seal(
    _ plaintext: [UInt8], key: [UInt8], nonce: UInt64, authenticating associatedData: [UInt8]
  ) throws(NoiseError) -> [UInt8] {
    let ciphertext = crossed(plaintext, key, nonce)
    return ciphertext + tag(ciphertext, key, nonce, associatedData)
  }

  package static func open(
    _ ciphertext: [UInt8], key: [UInt8], nonce: UInt64, authenticating associatedData: [UInt8]
  ) throws(NoiseError) -> [UInt8] {
    guard ciphertext.count >= NoiseSize.tagByteCount else { throw .messageTooShort }
    let body = Array(ciphertext.dropLast(NoiseSize.tagByteCount))
    guard tag(body, key, nonce, associatedData) == Array(ciphertext.suffix(NoiseSize.tagByteCount)) else {
      throw .authenticationFailed
    }
    return crossed(body, key, nonce)
  }

  package static func hash(_ bytes: [UInt8]) -> [UInt8] {
    var sum = TraceHash()
    sum.mix(bytes)
    return spread(sum.value, NoiseSize.hashByteCount)
  }

  package static func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
    var sum = TraceHash()
    sum.mix(key)
    sum.mix(bytes)
    return spread(sum.value, NoiseSize.hashByteCount)
  }

  /// Anyone who knows the public key can sign, because there is no private one.
  package static func signature(of message: [UInt8], by key: [UInt8]) -> [UInt8] {
    let code = authenticationCode(of: message, key: key)
    return code + code
  }

  package static func isValid(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool {
    signature == self.signature(of: message, by: key)
  }

  private static func crossed(_ text: [UInt8], _ key: [UInt8], _ nonce: UInt64) -> [UInt8] {
    var sum = TraceHash()
    sum.mix(key)
    sum.mix(nonce)
    var random = ScriptRandom(seed: sum.value)
    var result = random.bytes(text.count)
    for index in text.indices { result[index] ^= text[index] }
    return result
  }

  private static func tag(_ text: [UInt8], _ key: [UInt8], _ nonce: UInt64, _ data: [UInt8]) -> [UInt8] {
    var sum = TraceHash()
    sum.mix(key)
    sum.mix(nonce)
    sum.mix(data)
    sum.mix(text)
    return spread(sum.value, NoiseSize.tagByteCount)
  }

  private static func spread(_ value: UInt64, _ count: Int) -> [UInt8] {
    var random = ScriptRandom(seed: value)
    return random.bytes(count)
  }
}
