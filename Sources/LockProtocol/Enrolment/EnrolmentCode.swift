/// The code that is printed on a lock. A person who has it and can press the lock's button can enrol a phone.
///
/// It has 19 random symbols of 5 bits, 95 bits in all, and a check symbol. It is that long because of false locks: a
/// phone's handshake with one lets it try codes on its own, without the real lock (`Enrolment`), and it would find a
/// short code.
package struct EnrolmentCode: Equatable, Sendable {
  /// Crockford's alphabet: digits, and letters without I, L, O and U, which are mistaken for others.
  package static var alphabet: [UInt8] {
    let text: StaticString = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    return text.withUTF8Buffer { Array($0) }
  }
  /// The random symbols of a code.
  package static let symbolCount = 19
  /// The symbols between two hyphens.
  private static let groupCount = 5
  /// The longest text that is examined.
  private static let textByteLimit = 64

  /// 19 numbers from 0 to 31.
  private let symbols: [UInt8]

  /// - Parameter random: 19 random bytes. Only the lower 5 bits of each count. The result is `nil` for another number.
  package init?(random: [UInt8]) {
    guard random.count == Self.symbolCount else { return nil }
    symbols = random.map { $0 & 31 }
  }

  /// Reads a code as somebody types it: small or capital letters, with or without hyphens and spaces, and with O for 0, and I or
  /// L for 1.
  package init(reading text: [UInt8]) throws(EnrolmentCodeError) {
    guard text.count <= Self.textByteLimit else { throw .wrongLength }
    var found: [UInt8] = []
    for byte in text {
      switch byte {
      case UInt8(ascii: "-"), UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): continue
      default:
        guard let value = Self.value(byte) else { throw .unknownSymbol }
        found.append(value)
      }
    }
    guard found.count == Self.symbolCount + 1 else { throw .wrongLength }
    let symbols = Array(found.dropLast())
    guard found[Self.symbolCount] == Self.checkSymbol(symbols) else { throw .mistyped }
    self.symbols = symbols
  }

  /// `XXXXX-XXXXX-XXXXX-XXXXX`, in ASCII.
  package var text: [UInt8] {
    let alphabet = Self.alphabet
    var text: [UInt8] = []
    for (index, symbol) in (symbols + [Self.checkSymbol(symbols)]).enumerated() {
      if index > 0, index % Self.groupCount == 0 { text.append(UInt8(ascii: "-")) }
      text.append(alphabet[Int(symbol)])
    }
    return text
  }

  /// The handshake's pre-shared secret, 32 bytes.
  package func secret<Cryptography: NoiseCryptography>(using cryptography: Cryptography.Type) -> [UInt8] {
    let purpose: StaticString = "Latchkey enrolment code"
    let alphabet = Self.alphabet
    return Cryptography.hash(purpose.withUTF8Buffer { Array($0) } + symbols.map { alphabet[Int($0)] })
  }

  private static func value(_ byte: UInt8) -> UInt8? {
    let capital = byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") ? byte - 32 : byte
    switch capital {
    case UInt8(ascii: "O"): return 0
    case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
    default: return alphabet.firstIndex(of: capital).map { UInt8(truncatingIfNeeded: $0) }
    }
  }

  /// A polynomial over GF(32), with x^5 + x^2 + 1: one wrong symbol never fits, nor do two that were exchanged.
  private static func checkSymbol(_ symbols: [UInt8]) -> UInt8 {
    var check: UInt8 = 0
    for symbol in symbols { check = doubled(check) ^ symbol }
    return doubled(check)
  }

  private static func doubled(_ value: UInt8) -> UInt8 { value & 16 == 0 ? value << 1 : (value << 1) ^ 0b100101 }
}

/// What is wrong with a text that should be an enrolment code.
package enum EnrolmentCodeError: Error, Equatable, Sendable {
  /// Too few or too many symbols.
  case wrongLength
  /// A character that no code has.
  case unknownSymbol
  /// The check symbol does not fit the others.
  case mistyped
}
