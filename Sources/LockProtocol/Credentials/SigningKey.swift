/// An owner's Ed25519 public key, as it comes from a phone.
package enum SigningKey {
  /// Whether these 32 bytes are a point of low order (1, 2, 4 or 8), in any of its encodings. With such a key everybody can sign
  /// everything: RFC 8032's verification, as swift-crypto and others do it, lets the public key cancel out.
  ///
  /// The points are those of the curve's torsion subgroup; the sign bit only tells a point from its negative, which is of the same
  /// order.
  package static func isOfLowOrder(_ key: [UInt8]) -> Bool {
    guard key.count == NoiseSize.keyByteCount else { return false }
    var signless = key
    signless[key.count - 1] &= 0x7F
    return isSmall(signless) || signless == orderEight || signless == otherOrderEight
  }

  /// y is 0, 1 or -1: the points of order 4, 1 and 2. 0 and 1 have an encoding each as p and p + 1 as well.
  private static func isSmall(_ bytes: [UInt8]) -> Bool {
    let middle = bytes.dropFirst().dropLast()
    let (first, last) = (bytes[0], bytes[bytes.count - 1])
    if middle.allSatisfy({ $0 == 0 }), last == 0 { return first <= 1 }
    return middle.allSatisfy { $0 == 0xFF } && last == 0x7F && (0xEC...0xEE).contains(first)
  }

  private static var orderEight: [UInt8] {
    [
      0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0,
      0xD5, 0xDF, 0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
    ]
  }

  private static var otherOrderEight: [UInt8] {
    [
      0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F,
      0x2A, 0x20, 0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A,
    ]
  }
}
