import Crypto
import LockCryptography
import LockProtocol
import Testing

/// Keys with which everybody can sign.
@Suite("Signing keys of low order") struct SigningKeyTests {
  /// y of each point of low order, and y + p where that has 255 bits as well.
  private static let encodings = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  ]

  @Test("L5: every encoding of every point of low order is found, with either sign; ordinary keys are none")
  func found() throws {
    for text in Self.encodings {
      var key = try #require(Hex.bytes(text))
      #expect(SigningKey.isOfLowOrder(key), "\(text)")
      key[31] |= 0x80
      #expect(SigningKey.isOfLowOrder(key), "\(text)")
      for index in [0, 7, 31] {
        var other = key
        other[index] ^= 0x10
        #expect(!SigningKey.isOfLowOrder(other))
      }
    }
    for _ in 0..<100 {
      #expect(!SigningKey.isOfLowOrder(Array(Curve25519.Signing.PrivateKey().publicKey.rawRepresentation)))
    }
    #expect(!SigningKey.isOfLowOrder([]) && !SigningKey.isOfLowOrder([UInt8](repeating: 0, count: 31)))
  }

  /// The reason for all this: the signature has the neutral point as R, and 0 as S.
  @Test("L5: anybody could sign with such a key, because the verification accepts it") func forged() throws {
    let neutral = try #require(Hex.bytes(Self.encodings[1]))
    let signature = neutral + [UInt8](repeating: 0, count: 32)
    #expect(SwiftCryptography.isValid(signature, of: Array("anything".utf8), by: neutral))
    #expect(SwiftCryptography.isValid(signature, of: Array("anything else".utf8), by: neutral))
  }

  @Test("L5: a name is UTF-8 of at most 32 bytes; a longer text is cut between characters") func names() throws {
    for name in ["", "Ben", "Zoë", "名前", "🔑"] { #expect(KeyName.isName(name.utf8)) }
    // A lone continuation, a cut character, an overlong slash, a surrogate, beyond Unicode.
    for bytes in [[0x80], [0x61, 0xC3], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]] as [[UInt8]] {
      #expect(!KeyName.isName(bytes), "\(bytes)")
    }
    #expect(KeyName.isName([UInt8](repeating: 0x61, count: 32)) && !KeyName.isName([UInt8](repeating: 0x61, count: 33)))
    #expect(KeyName.name(from: String(repeating: "a", count: 31) + "ë") == [UInt8](repeating: 0x61, count: 31))
    #expect(KeyName.name(from: String(repeating: "ë", count: 20)).count == 32)
    #expect(KeyName.name(from: "Ben") == Array("Ben".utf8))
  }
}
