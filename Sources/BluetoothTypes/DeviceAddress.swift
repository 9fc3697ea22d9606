/// A Bluetooth device address, 48 bits, written most significant byte first: `C0:FF:EE:00:00:01`.
package struct DeviceAddress: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  /// Whether the address is registered with the IEEE or drawn at random (Bluetooth Core, Vol 6, Part B, 1.3).
  package enum Kind: String, Sendable, Hashable, Codable {
    case `public`
    case random
  }

  package let bits: UInt64
  package let kind: Kind

  /// Only the low 48 bits of `bits` are used.
  package init(bits: UInt64, kind: Kind) {
    self.bits = bits & 0xFFFF_FFFF_FFFF
    self.kind = kind
  }

  /// Reads `C0:FF:EE:00:00:01`. Any other text gives `nil`.
  package init?(_ text: some StringProtocol, kind: Kind) { self.init(text, separator: UInt8(ascii: ":"), kind: kind) }

  /// Reads the form that BlueZ uses in object paths: `C0_FF_EE_00_00_01`. Any other text gives `nil`.
  package init?(pathComponent text: some StringProtocol, kind: Kind) {
    self.init(text, separator: UInt8(ascii: "_"), kind: kind)
  }

  private init?(_ text: some StringProtocol, separator: UInt8, kind: Kind) {
    let utf8 = text.utf8
    guard utf8.count == 17 else { return nil }
    var bits: UInt64 = 0
    for (position, character) in utf8.enumerated() {
      if position % 3 == 2 {
        guard character == separator else { return nil }
      } else {
        guard let digit = HexText.digit(character) else { return nil }
        bits = bits << 4 | UInt64(digit)
      }
    }
    self.init(bits: bits, kind: kind)
  }

  /// A resolvable private address: random, with the two most significant bits 01 (Vol 6, Part B, 1.3.2.2).
  package var isResolvablePrivate: Bool { kind == .random && bits >> 46 == 0b01 }

  package var description: String { hexPairs(separator: UInt8(ascii: ":")) }

  /// The form that BlueZ uses in object paths: `C0_FF_EE_00_00_01`.
  package var pathComponent: String { hexPairs(separator: UInt8(ascii: "_")) }

  package static func < (left: Self, right: Self) -> Bool {
    (left.bits, left.kind.rawValue) < (right.bits, right.kind.rawValue)
  }

  /// `C0-FF-EE-00-00-01`, with this separator.
  package func text(separator: Unicode.Scalar) -> String { hexPairs(separator: UInt8(ascii: separator)) }

  private func hexPairs(separator: UInt8) -> String {
    String(unsafeUninitializedCapacity: 17) { buffer in
      for position in 0..<17 {
        let shift = UInt64(44 - 8 * (position / 3) - 4 * (position % 3))
        buffer[position] = position % 3 == 2 ? separator : HexText.upperCase(bits >> shift)
      }
      return 17
    }
  }
}
