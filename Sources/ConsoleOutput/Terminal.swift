import Foundation
import Glibc

/// What the standard output goes to: a person's terminal, or a pipe or a file.
package struct Terminal: Sendable, Equatable {
  /// The number of columns, at least 20; `nil` if lines are not wrapped.
  package var width: Int?
  package var usesColor: Bool
  /// Whether it shows characters beyond ASCII.
  package var usesUnicode: Bool
  /// Whether the last line can be written again.
  package var rewritesLines: Bool

  package init(width: Int?, usesColor: Bool = false, usesUnicode: Bool = false, rewritesLines: Bool = false) {
    self.width = width.map { max(20, $0) }
    self.usesColor = usesColor
    self.usesUnicode = usesUnicode
    self.rewritesLines = rewritesLines
  }

  /// A pipe or a file: programs read it, so lines are not wrapped.
  package static let plain = Terminal(width: nil)

  /// The standard output, as it is now.
  package static var output: Terminal {
    Terminal(
      descriptor: STDOUT_FILENO, environment: ProcessInfo.processInfo.environment)
  }

  /// How many rows the standard output's terminal has now; 24 if it does not say.
  package static var outputRows: Int {
    var size = winsize()
    return ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_row > 0 ? Int(size.ws_row) : 24
  }

  /// Colours are for terminals only, and for none if `NO_COLOR` has any value (no-color.org) or `TERM` is `dumb`.
  init(descriptor: Int32, environment: [String: String]) {
    guard isatty(descriptor) == 1 else {
      self = .plain
      return
    }
    var size = winsize()
    let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    let columns = isKnown ? Int(size.ws_col) : environment["COLUMNS"].flatMap { Int($0) } ?? 80
    let isDumb = ["dumb", nil].contains(environment["TERM"])
    let isColorless = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
    self.init(
      width: columns, usesColor: !isDumb && !isColorless, usesUnicode: Self.isUTF8(environment),
      rewritesLines: !isDumb)
  }

  /// The first of these variables that is set decides, as in locale(7).
  private static func isUTF8(_ environment: [String: String]) -> Bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? "C"
    let name = locale.lowercased()
    return name.contains("utf-8") || name.contains("utf8")
  }
}

/// A colour or a weight of text. The raw value is its number in ECMA-48, "Select Graphic Rendition".
package enum TextStyle: Int, Sendable {
  case bold = 1
  case dim = 2
  case red = 31
  case green = 32
  case yellow = 33
  case blue = 34
  case cyan = 36
}

extension Terminal {
  /// The text in these styles, if the terminal has colours.
  package func styled(_ text: String, _ styles: TextStyle...) -> String {
    guard usesColor, !styles.isEmpty, !text.isEmpty else { return text }
    return "\u{1B}[\(styles.map { String($0.rawValue) }.joined(separator: ";"))m\(text)\u{1B}[0m"
  }

  /// The text without characters that a terminal obeys or that change the order of others. Parts of it may come from an
  /// app, a device or a file. Line ends become spaces.
  package static func printable(_ text: String) -> String {
    var printable = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator:
        printable.append(["\n", "\t"].contains(scalar) ? " " : "?")
      default: printable.append(scalar)
      }
    }
    return String(printable)
  }

  /// The text, made printable, in lines that fit, broken between words. A word that is longer than a line is broken, too.
  ///
  /// - Parameter indent: the columns to the left of each line that are taken.
  package func wrapped(_ text: String, indent: Int = 0) -> [String] {
    let text = Self.printable(text)
    guard let width else { return [text] }
    let room = max(12, width - indent)
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      var word = String(word)
      if !line.isEmpty, line.count + 1 + word.count > room {
        lines.append(line)
        line = ""
      }
      while word.count > room {
        lines.append(String(word.prefix(room)))
        word = String(word.dropFirst(room))
      }
      line += line.isEmpty || word.isEmpty ? word : " " + word
    }
    return lines + (line.isEmpty && !lines.isEmpty ? [] : [line])
  }

  /// The text, made printable, in lines that fit, after a beginning that only the first line has. The following lines are indented as
  /// far, or by `narrowIndent` if that would leave too little room.
  ///
  /// - Parameter style: is applied to each line of the text, not to the beginning.
  package func hanging(
    _ beginning: String, _ text: String, narrowIndent: Int = 4, style: (String) -> String = { $0 }
  ) -> [String] {
    let beginning = Self.printable(beginning)
    guard let width else { return [beginning + style(Self.printable(text))] }
    let isNarrow = width - beginning.count < min(24, width / 2)
    let indent = isNarrow ? narrowIndent : beginning.count
    let margin = String(repeating: " ", count: indent)
    let lines = wrapped(text, indent: indent).map(style)
    if isNarrow { return wrapped(beginning) + lines.map { margin + $0 } }
    return [beginning + lines[0]] + lines.dropFirst().map { margin + $0 }
  }

  /// As much of the text, made printable, as fits into one line. `…` marks the truncation.
  package func cut(_ text: String) -> String {
    let text = Self.printable(text)
    guard let width, text.count >= width else { return text }
    return text.prefix(max(1, width - 2)) + (usesUnicode ? "…" : "~")
  }
}
