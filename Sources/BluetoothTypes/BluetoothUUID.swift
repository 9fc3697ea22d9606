/// A Bluetooth UUID: 16, 32 or 128 bits, always held and compared in its 128-bit form
/// (Bluetooth Core, Vol 3, Part B, 2.5.1).
package struct BluetoothUUID: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  /// The upper 64 of the 128 bits.
  package let high: UInt64
  /// The lower 64 of the 128 bits.
  package let low: UInt64

  /// The bits of the Bluetooth Base UUID after a short value: 0000xxxx-0000-1000-8000-00805F9B34FB.
  private static let baseHigh: UInt64 = 0x0000_0000_0000_1000
  private static let baseLow: UInt64 = 0x8000_0080_5F9B_34FB

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// A UUID that the Bluetooth SIG assigned as 16 bits.
  package init(_ short: UInt16) {
    self.init(high: UInt64(short) << 32 | Self.baseHigh, low: Self.baseLow)
  }

  /// A UUID that the Bluetooth SIG assigned as 32 bits.
  package init(_ short: UInt32) {
    self.init(high: UInt64(short) << 32 | Self.baseHigh, low: Self.baseLow)
  }

  /// Reads `180F`, `0000180F` or `0000180f-0000-1000-8000-00805f9b34fb`, in either case. Any other text gives `nil`.
  package init?(_ text: String) {
    let utf8 = text.utf8
    let count = utf8.count
    guard count == 4 || count == 8 || count == 36 else { return nil }
    var (high, low) = (UInt64(0), UInt64(0))
    for (position, character) in utf8.enumerated() {
      if count == 36, Self.isDash(position) {
        guard character == UInt8(ascii: "-") else { return nil }
      } else {
        guard let digit = HexText.digit(character) else { return nil }
        high = high << 4 | low >> 60
        low = low << 4 | UInt64(digit)
      }
    }
    if count == 36 { self.init(high: high, low: low) } else { self.init(UInt32(truncatingIfNeeded: low)) }
  }

  /// Reads 2, 4 or 16 bytes, most significant first. Any other length gives `nil`.
  package init?(bigEndian bytes: [UInt8]) {
    var (high, low) = (UInt64(0), UInt64(0))
    for byte in bytes {
      high = high << 8 | low >> 56
      low = low << 8 | UInt64(byte)
    }
    switch bytes.count {
    case 2, 4: self.init(UInt32(truncatingIfNeeded: low))
    case 16: self.init(high: high, low: low)
    default: return nil
    }
  }

  /// Reads 2, 4 or 16 bytes as sent on the air, least significant first. Any other length gives `nil`.
  package init?(littleEndian bytes: [UInt8]) {
    self.init(bigEndian: bytes.reversed())
  }

  /// The 16-bit form, if there is one.
  package var shortValue: UInt16? {
    guard low == Self.baseLow, high & 0xFFFF_FFFF == Self.baseHigh, high >> 48 == 0 else { return nil }
    return UInt16(truncatingIfNeeded: high >> 32)
  }

  /// The bytes of the shortest form, most significant first: 2, 4 or 16 bytes.
  package var bigEndianBytes: [UInt8] {
    if let shortValue { return [UInt8(shortValue >> 8), UInt8(truncatingIfNeeded: shortValue)] }
    if low == Self.baseLow, high & 0xFFFF_FFFF == Self.baseHigh {
      return (0..<4).map { UInt8(truncatingIfNeeded: high >> (56 - 8 * UInt64($0))) }
    }
    return (0..<8).map { UInt8(truncatingIfNeeded: high >> (56 - 8 * UInt64($0))) }
      + (0..<8).map { UInt8(truncatingIfNeeded: low >> (56 - 8 * UInt64($0))) }
  }

  /// The bytes of the shortest form as sent on the air, least significant first.
  package var littleEndianBytes: [UInt8] { bigEndianBytes.reversed() }

  /// The 36-character form in lower case, as BlueZ writes it.
  package var description: String {
    String(unsafeUninitializedCapacity: 36) { buffer in
      var shift: UInt64 = 128
      for position in 0..<36 {
        guard !Self.isDash(position) else {
          buffer[position] = UInt8(ascii: "-")
          continue
        }
        shift -= 4
        buffer[position] = HexText.lowerCase(shift >= 64 ? high >> (shift - 64) : low >> shift)
      }
      return 36
    }
  }

  /// Whether a dash is at this position of the long form.
  private static func isDash(_ position: Int) -> Bool {
    position == 8 || position == 13 || position == 18 || position == 23
  }

  package static func < (left: Self, right: Self) -> Bool { (left.high, left.low) < (right.high, right.low) }
}
