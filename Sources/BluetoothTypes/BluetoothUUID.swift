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
    let utf8 = Array(text.utf8)
    switch utf8.count {
    case 4, 8:
      guard let short = Self.parse(utf8[...]) else { return nil }
      self.init(UInt32(short))
    case 36:
      let dash = UInt8(ascii: "-")
      guard utf8[8] == dash, utf8[13] == dash, utf8[18] == dash, utf8[23] == dash else { return nil }
      guard let a = Self.parse(utf8[0..<8]), let b = Self.parse(utf8[9..<13]), let c = Self.parse(utf8[14..<18]),
        let d = Self.parse(utf8[19..<23]), let e = Self.parse(utf8[24..<36])
      else { return nil }
      self.init(high: a << 32 | b << 16 | c, low: d << 48 | e)
    default: return nil
    }
  }

  /// Reads 2, 4 or 16 bytes, most significant first. Any other length gives `nil`.
  package init?(bigEndian bytes: some Collection<UInt8>) {
    switch bytes.count {
    case 2, 4: self.init(bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
    case 16:
      self.init(
        high: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
        low: bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
    default: return nil
    }
  }

  /// Reads 2, 4 or 16 bytes as sent on the air, least significant first. Any other length gives `nil`.
  package init?(littleEndian bytes: some BidirectionalCollection<UInt8>) {
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
    func hex(_ value: UInt64, _ digits: Int) -> String {
      let text = String(value, radix: 16)
      return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
    return
      "\(hex(high >> 32, 8))-\(hex(high >> 16 & 0xFFFF, 4))-\(hex(high & 0xFFFF, 4))-\(hex(low >> 48, 4))-\(hex(low & 0xFFFF_FFFF_FFFF, 12))"
  }

  package static func < (left: Self, right: Self) -> Bool { (left.high, left.low) < (right.high, right.low) }

  private static func parse(_ digits: ArraySlice<UInt8>) -> UInt64? {
    var value: UInt64 = 0
    for digit in digits {
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(digit - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
      case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt64(digit - UInt8(ascii: "A") + 10)
      default: return nil
      }
    }
    return value
  }
}
