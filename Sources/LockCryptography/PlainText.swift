/// Names that come from outside, as they may be shown: a name must not move the cursor of who reads it, or turn the direction of
/// what follows.
package enum PlainText {
  /// Whether every character is only itself in a line: no control, and nothing that formats.
  package static func isPlain(_ text: String) -> Bool { text.unicodeScalars.allSatisfy(isPlain) }

  /// What these bytes of UTF-8 say, without the characters that are not plain.
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
