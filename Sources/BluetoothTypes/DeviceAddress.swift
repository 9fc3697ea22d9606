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
  package init?(_ text: String, kind: Kind) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 6 else { return nil }
    var bits: UInt64 = 0
    for part in parts {
      guard part.utf8.count == 2, let byte = UInt8(part, radix: 16) else { return nil }
      bits = bits << 8 | UInt64(byte)
    }
    self.init(bits: bits, kind: kind)
  }

  /// A resolvable private address: random, with the two most significant bits 01 (Vol 6, Part B, 1.3.2.2).
  package var isResolvablePrivate: Bool { kind == .random && bits >> 46 == 0b01 }

  package var description: String { hexPairs(separator: ":") }

  /// The form that BlueZ uses in object paths: `C0_FF_EE_00_00_01`.
  package var pathComponent: String { hexPairs(separator: "_") }

  package static func < (left: Self, right: Self) -> Bool {
    (left.bits, left.kind.rawValue) < (right.bits, right.kind.rawValue)
  }

  private func hexPairs(separator: String) -> String {
    (0..<6).map { index in
      let text = String(bits >> (40 - 8 * UInt64(index)) & 0xFF, radix: 16, uppercase: true)
      return text.count == 1 ? "0" + text : text
    }.joined(separator: separator)
  }
}
