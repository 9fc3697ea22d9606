import ConsoleOutput
import Dispatch
import Stories
import StoryPresentation
import Synchronization
import TimeTypes

/// Writes a story to the standard output while it is told.
final class StoryPrinter: Sendable {
  private let display: Mutex<StoryDisplay>
  private let clock = ContinuousClock()
  private let began: ContinuousClock.Instant
  // Set once, before the first news.
  private nonisolated(unsafe) var timer: (any DispatchSourceTimer)?

  init(_ terminal: Terminal) {
    began = clock.now
    display = Mutex(StoryDisplay(terminal, at: .zero))
    let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "signs of life"))
    timer.schedule(deadline: .now() + 1, repeating: 1)
    timer.setEventHandler { [weak self] in self?.write { $0.sign(at: $1) } }
    timer.resume()
    self.timer = timer
  }

  private var now: Instant { Instant(nanoseconds: (clock.now - began).wholeNanoseconds) }

  /// - Returns: whether the output could be written.
  @discardableResult
  func tell(_ news: StoryNews) -> Bool { write { $0.text(news, at: $1) } }

  /// Nothing more is written after this.
  func end() {
    timer?.cancel()
    write { display, _ in display.end() }
  }

  @discardableResult
  private func write(_ text: (inout StoryDisplay, Instant) -> String) -> Bool {
    display.withLock { display in
      let text = text(&display, now)
      return text.isEmpty ? Console.failure == nil : Console.say(text, terminator: "")
    }
  }
}
