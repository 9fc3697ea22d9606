import ConsoleOutput
import Stories
import TimeTypes

/// The text for a terminal, a pipe or a file while a story is told: its lines and, when nothing happens, a sign of
/// life. It does no output itself, and has no clock of its own.
package struct StoryDisplay: Sendable {
  /// After so long without output, a terminal's last line shows what the run waits for.
  static let terminalPatience = Duration.seconds(1)
  /// After so long without output, a pipe or a file receives a line of its own.
  static let pipePatience = Duration.seconds(60)

  private let terminal: Terminal
  private var screen: StoryScreen
  /// What has been going on since the last news, for the sign of life.
  private var doing: String?
  private var began: Instant
  private var lastOutput: Instant
  private var showsStatus = false
  private var isOver = false

  /// - Parameter now: by any clock. All later calls must use the same clock.
  package init(_ terminal: Terminal, at now: Instant) {
    self.terminal = terminal
    screen = StoryScreen(terminal, machines: [])
    began = now
    lastOutput = now
  }

  /// The text for this news, to be written as it is. It may be empty.
  package mutating func text(_ news: StoryNews, at now: Instant) -> String {
    switch news {
    case .began(let heading):
      screen = StoryScreen(terminal, machines: heading.machines)
      return output(terminal.wrapped(heading.text), at: now)
    case .recorded(let entry): return output(screen.lines(entry), at: now)
    case .remark(let text):
      doing = text
      return output(terminal.hanging("  ", text), at: now)
    case .stopped(let reason):
      return output(
        [""] + terminal.hanging("The story stopped: ", reason).map { terminal.styled($0, .yellow) }, at: now)
    case .busy(let what):
      doing = what
      return ""
    case .waiting(let what):
      doing = "waiting for: \(what)"
      return ""
    }
  }

  /// A sign of life, if one is due. To be called every second.
  package mutating func sign(at now: Instant) -> String {
    let patience = terminal.rewritesLines ? Self.terminalPatience : Self.pipePatience
    guard !isOver, now - lastOutput >= patience else { return "" }
    let text = "(\((now - began).components.seconds) s\(doing.map { "; \($0)" } ?? ""))"
    guard terminal.rewritesLines else { return output([text], at: now) }
    let wasShown = showsStatus
    showsStatus = true
    return (wasShown ? Self.clearLine : "") + terminal.styled(terminal.cut(text), .dim)
  }

  /// The story is over, and other output follows. There are no signs of life after this.
  package mutating func end() -> String {
    isOver = true
    return clearedStatus()
  }

  private mutating func clearedStatus() -> String {
    defer { showsStatus = false }
    return showsStatus ? Self.clearLine : ""
  }

  private mutating func output(_ lines: [String], at now: Instant) -> String {
    guard !lines.isEmpty else { return "" }
    lastOutput = now
    return clearedStatus() + lines.map { $0 + "\n" }.joined()
  }

  /// Back to the line's beginning, and erase to its end (ECMA-48, EL).
  private static let clearLine = "\r\u{1B}[K"
}
