/// Makes names from outside safe to show. A name must not move a terminal's cursor, or change the direction of the text
/// after it.
package enum PlainText {
  /// Whether the text has no control characters and no characters that format other text.
  package static func isPlain(_ text: String) -> Bool { text.unicodeScalars.allSatisfy(isPlain) }

  /// The text of these bytes of UTF-8, without the characters that are not plain.
  package static func of(_ bytes: [UInt8]) -> String {
    String(String.UnicodeScalarView(String(decoding: bytes, as: UTF8.self).unicodeScalars.filter(isPlain)))
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: false
    default: true
    }
  }
}
