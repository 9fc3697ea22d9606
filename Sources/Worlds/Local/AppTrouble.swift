import Journal

/// What an app's output says of the app's own faults: why it ended, and how it misused Core Bluetooth. Its author looks at the
/// timeline first, and would otherwise read of a signal alone.
package struct AppTrouble {
  /// Swift's report of why it ends a program: `FILE:LINE: Fatal error: TEXT`.
  package static let fatalError = "Fatal error: "
  /// CoreBluetooth's word for a call that it refuses.
  private static let misuse = "API MISUSE: "

  /// Some apps make a mistake all day. What was told is not told again, and no more than this.
  private static let limit = 20
  private var told: Set<String> = []

  /// What this line says, or `nil` if that is nothing, or nothing new.
  mutating func read(_ line: String) -> String? {
    guard let text = Self.text(in: line) else { return nil }
    // The end of a process is told each time.
    if text.contains(Self.fatalError) { return text }
    guard told.count < Self.limit, told.insert(text).inserted else { return nil }
    return text
  }

  private static func text(in line: String) -> String? {
    let text: Substring
    if let fatal = line.range(of: fatalError), isPlace(line[..<fatal.lowerBound]) {
      text = line[...]
    } else if let mark = line.range(of: misuse) {
      text = line[mark.lowerBound...]
    } else {
      return nil
    }
    return String(text.prefix(JournalEntry.Limits.valueByteCount / 4))
  }

  /// Nothing, or the place in the source, which is one word.
  private static func isPlace(_ text: Substring) -> Bool {
    text.isEmpty || (text.hasSuffix(": ") && !text.dropLast(2).contains(" "))
  }
}
