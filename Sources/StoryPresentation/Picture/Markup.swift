/// Text for HTML and SVG.
enum Markup {
  /// The text with all characters that mean something in markup written as entities. Characters that HTML does not allow
  /// are replaced.
  static func escaped(_ text: String) -> String {
    var result = ""
    result.reserveCapacity(text.utf8.count)
    for character in text.unicodeScalars {
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      case "\t", "\n": result.unicodeScalars.append(character)
      default:
        let isAllowed = character.value >= 0x20 && !(0x7F...0x9F).contains(character.value)
        result.unicodeScalars.append(isAllowed ? character : "\u{FFFD}")
      }
    }
    return result
  }

  /// A number with at most two decimals.
  static func number(_ value: Double) -> String {
    let hundredths = (value * 100).rounded()
    guard hundredths.magnitude < 1e15 else { return "0" }
    let whole = Int64(hundredths)
    let sign = whole < 0 ? "-" : ""
    let (quotient, remainder) = whole.magnitude.quotientAndRemainder(dividingBy: 100)
    guard remainder > 0 else { return "\(sign)\(quotient)" }
    let digits = remainder < 10 ? "0\(remainder)" : "\(remainder)"
    return "\(sign)\(quotient).\(digits.hasSuffix("0") ? String(digits.dropLast()) : digits)"
  }
}
