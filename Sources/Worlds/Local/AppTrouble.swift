import Journal

/// What an app's output says about the app's own faults: why it ended, and how it misused Core Bluetooth. An author
/// looks at the timeline first, and would otherwise see only the signal that ended the app.
package struct AppTrouble {
  /// Swift's report of why it ends a program: `FILE:LINE: Fatal error: TEXT`.
  package static let fatalError = "Fatal error: "
  /// CoreBluetooth's word for a call that it refuses.
  private static let misuse = "API MISUSE: "

  /// The most misuses that are reported. Some apps make a mistake all day. The same text is reported only once.
  private static let limit = 20
  private var told: Set<String> = []

  /// The fault that this line reports, or `nil` if it reports none, or none that is new.
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
