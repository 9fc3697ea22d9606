/// Hexadecimal digits as ASCII. Addresses, UUIDs and handles become text with every message to bluetoothd, so no digit is made
/// a string of its own.
package enum HexText {
  package static func digit(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// The digit for the lowest four bits.
  package static func upperCase(_ bits: UInt64) -> UInt8 { character(bits, UInt8(ascii: "A")) }

  /// The digit for the lowest four bits.
  package static func lowerCase(_ bits: UInt64) -> UInt8 { character(bits, UInt8(ascii: "a")) }

  private static func character(_ bits: UInt64, _ ten: UInt8) -> UInt8 {
    let value = UInt8(truncatingIfNeeded: bits & 0xF)
    return value < 10 ? UInt8(ascii: "0") + value : ten + value - 10
  }
}
