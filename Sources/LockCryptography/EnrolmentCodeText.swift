import LockProtocol

extension EnrolmentCode {
  /// What a QR code has before the code.
  package static let prefix = "LATCHKEY:1:"

  /// A new code, from the system's random numbers.
  package static func draw() -> EnrolmentCode {
    var random = SystemRandomNumberGenerator()
    guard let code = EnrolmentCode(random: (0..<symbolCount).map { _ in .random(in: .min ... .max, using: &random) })
    else { preconditionFailure("as many bytes were drawn as a code needs") }
    return code
  }

  /// Reads a code as a person types it, or as a QR code has it.
  package init(_ text: String) throws(EnrolmentCodeError) {
    let upper = text.drop { $0.isWhitespace }.uppercased()
    try self.init(
      reading: Array((upper.hasPrefix(Self.prefix) ? String(upper.dropFirst(Self.prefix.count)) : upper).utf8))
  }

  /// As it is printed on the lock: `XXXXX-XXXXX-XXXXX-XXXXX`.
  package var words: String { String(decoding: text, as: UTF8.self) }

  /// What a QR code of it contains: only characters of its alphanumeric mode, so it is small.
  package var qrText: String { Self.prefix + words.filter { $0 != "-" } }
}

extension EnrolmentCodeError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .wrongLength: "the code has 20 letters and digits, in four groups of five: XXXXX-XXXXX-XXXXX-XXXXX"
    case .unknownSymbol: "the code has letters and digits only, in four groups of five, and no U"
    case .mistyped: "the code is mistyped: its last letter or digit does not fit the others. Look at the lock again"
    }
  }
}
