import ConsoleOutput
import Glibc

/// The descriptor that the signal handler writes to. One `FullScreen` uses it at a time. It is global, because a signal
/// handler can use nothing else.
private nonisolated(unsafe) var signalWriting: Int32 = -1

/// The whole terminal: the alternate screen, single keys, and the signals that belong to a terminal. The main thread
/// uses it, and sleeps in poll(2) between two changes.
final class FullScreen {
  enum Wakening {
    case news
    /// The size has changed, or the screen may have been overwritten.
    case redraw
    case quit
    case signal(Int32)
  }

  private static let ending = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
  private static let others = [SIGWINCH, SIGTSTP, SIGCONT]

  /// Draws without wrapping, so that a character of two columns can't move the lines below.
  private static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[H\u{1B}[2J"
  private static let leave = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

  private var signals: SignalPipe?
  private var before: termios?
  private var hasKeys = true

  /// Whether the output is a terminal with a cursor that can be moved.
  static var isPossible: Bool { isatty(STDOUT_FILENO) == 1 && Terminal.output.rewritesLines }

  func begin() throws {
    let pipe = try SignalPipe()
    signals = pipe
    signalWriting = pipe.writing
    for number in Self.ending + Self.others { Self.handle(number) }
    open()
  }

  /// Puts the terminal back as it was.
  func end() { shut() }

  private static func handle(_ number: Int32) {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { number in
      let saved = errno
      var byte = UInt8(truncatingIfNeeded: number)
      _ = Glibc.write(signalWriting, &byte, 1)
      errno = saved
    }
    sigaction(number, &action, nil)
  }

  private func open() {
    var settings = termios()
    hasKeys = tcgetattr(STDIN_FILENO, &settings) == 0
    if hasKeys {
      if before == nil { before = settings }
      // Keys come one by one and are not shown. Interrupting and suspending stay as they are.
      settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
      tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
    }
    Console.say(Self.enter, terminator: "")
  }

  private func shut() {
    Console.say(Self.leave, terminator: "")
    if var before { tcsetattr(STDIN_FILENO, TCSAFLUSH, &before) }
    before = nil
  }

  /// Replaces the screen in one write, without an empty screen in between.
  func draw(_ lines: [String]) {
    Console.say("\u{1B}[H" + lines.joined(separator: "\u{1B}[K\r\n") + "\u{1B}[K\u{1B}[J", terminator: "")
  }

  /// Sleeps until there is something to do.
  /// - Parameter news: is readable when there is news.
  func wait(for news: Int32) -> Wakening {
    while true {
      var waiting = [
        pollfd(fd: signals?.reading ?? -1, events: Int16(POLLIN), revents: 0),
        // poll(2) ignores a negative descriptor.
        pollfd(fd: hasKeys ? STDIN_FILENO : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: news, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&waiting, nfds_t(waiting.count), -1) > 0 else { continue }
      if waiting[0].revents != 0, let wakening = signalled() { return wakening }
      if waiting[1].revents != 0, let wakening = pressed() { return wakening }
      if waiting[2].revents != 0 { return .news }
    }
  }

  private func signalled() -> Wakening? {
    let numbers = (signals?.drain() ?? []).map { Int32($0) }
    if let number = numbers.first(where: Self.ending.contains) { return .signal(number) }
    if numbers.contains(SIGTSTP) {
      suspend()
      // The signal that continued it came before the screen was taken again.
      let later = (signals?.drain() ?? []).map { Int32($0) }
      if let number = later.first(where: Self.ending.contains) { return .signal(number) }
    } else if numbers.contains(SIGCONT) {
      // The process was stopped by a signal that can't be handled, and since then a shell has changed the terminal.
      open()
    }
    return numbers.isEmpty ? nil : .redraw
  }

  /// Returns when the process is continued.
  private func suspend() {
    shut()
    signal(SIGTSTP, SIG_DFL)
    raise(SIGTSTP)
    Self.handle(SIGTSTP)
    open()
  }

  private func pressed() -> Wakening? {
    var keys = [UInt8](repeating: 0, count: 64)
    let count = read(STDIN_FILENO, &keys, keys.count)
    guard count > 0 else {
      // The terminal is gone, or there never were keys.
      if count < 0, errno == EINTR || errno == EAGAIN { return nil }
      return .quit
    }
    if keys[..<count].contains(where: { [UInt8(ascii: "q"), UInt8(ascii: "Q")].contains($0) }) { return .quit }
    // Ctrl-L
    return keys[..<count].contains(0x0C) ? .redraw : nil
  }
}
