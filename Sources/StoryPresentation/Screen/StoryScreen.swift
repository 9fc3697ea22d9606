import ConsoleOutput
import Journal
import Stories
import TimeTypes

/// The lines of a story for a terminal: one for each deed, in the width that there is.
package struct StoryScreen: Sendable {
  private let terminal: Terminal
  private let placeWidth: Int
  private var narrator = Narrator()
  private var latest: Deed?
  private var hasBegun = false

  /// - Parameter machines: their names determine the width of a column.
  package init(_ terminal: Terminal, machines: [String]) {
    self.terminal = terminal
    placeWidth = min(12, machines.map(\.count).max() ?? 0)
  }

  /// The lines for this entry. There are none if it has nothing new for a person.
  package mutating func lines(_ entry: JournalEntry) -> [String] {
    guard let deed = narrator.tell(entry) else { return [] }
    // Several programs may record the same at one moment.
    guard deed != latest else { return [] }
    latest = deed
    if deed.kind == .chapter {
      hasBegun = true
      return [""] + terminal.wrapped(deed.text).map { terminal.styled($0, .bold) } + [""]
    }
    // The start of the machines is not a part of the story. While machines are being set up, many things fail.
    guard hasBegun else { return [] }
    return row(deed)
  }

  private func row(_ deed: Deed) -> [String] {
    let time = Self.time(deed.instant)
    let place = deed.place.padded(to: placeWidth)
    let lines = terminal.hanging("\(time)  \(place)  \(mark(deed.kind)) ", deed.text) { style($0, deed.kind) }
    // The styles are added last, because their codes take no columns and would disturb the wrapping.
    let left = "\(time)  \(place)"
    guard let first = lines.first, first.hasPrefix(left) else { return lines }
    return [terminal.styled(left, .dim) + first.dropFirst(left.count)] + lines.dropFirst()
  }

  private func style(_ text: String, _ kind: Deed.Kind) -> String {
    switch kind {
    case .chapter, .door: terminal.styled(text, .bold)
    case .person: terminal.styled(text, .cyan)
    case .system: text
    case .trouble: terminal.styled(text, .yellow)
    }
  }

  private func mark(_ kind: Deed.Kind) -> String {
    switch kind {
    case .chapter: " "
    case .person: ">"
    case .door: "#"
    case .system: terminal.usesUnicode ? "·" : "."
    case .trouble: "!"
    }
  }

  /// The time since the story began, as in the timeline, to a tenth of a second.
  package static func time(_ instant: Instant) -> String { String(instant.description.dropLast(2)) }
}

extension String {
  /// The text, filled with spaces up to this many characters, or cut.
  func padded(to width: Int) -> String {
    count >= width ? String(prefix(width)) : self + String(repeating: " ", count: width - count)
  }
}
