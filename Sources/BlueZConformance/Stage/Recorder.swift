import Synchronization
import TimeTypes
import Timekeeping

/// Collects what happens, in steps, and lets a case wait for it.
final class Recorder: Sendable {
  let time: any TimeSource
  let notifier = Notifier()

  private struct State {
    var steps: [Transcript.Step] = []
    var lastLine: Instant
    var failures: [String] = []
  }

  private let state: Mutex<State>

  init(time: any TimeSource) {
    self.time = time
    state = Mutex(State(lastLine: time.now))
  }

  func begin(step title: String) {
    state.withLock { $0.steps.append(Transcript.Step(title)) }
  }

  func record(_ lines: String..., in column: String) { record(lines, in: column) }

  /// Records all lines at once: no other line comes between them, and a waiting case never sees only the first.
  func record(_ lines: [String], in column: String) {
    guard !lines.isEmpty else { return notifier.bump() }
    let now = time.now
    state.withLock { state in
      state.lastLine = now
      if state.steps.isEmpty { state.steps.append(Transcript.Step("before the first step")) }
      let step = state.steps.count - 1
      if let index = state.steps[step].columns.firstIndex(where: { $0.name == column }) {
        state.steps[step].columns[index].lines += lines
      } else {
        state.steps[step].columns.append(Transcript.Column(column, lines))
      }
    }
    notifier.bump()
  }

  /// Whether the present step already has the line.
  func hasInThisStep(_ line: String, in column: String) -> Bool {
    state.withLock { state in
      state.steps.last?.columns.first { $0.name == column }?.lines.contains(line) == true
    }
  }

  /// Forgets everything so far. What came before the first step does not belong to the case.
  func forget() { state.withLock { $0.steps = [] } }

  /// Forgets the lines of the present step, which begins again.
  func forgetThisStep() {
    state.withLock { state in
      if let last = state.steps.indices.last { state.steps[last].columns = [] }
    }
  }

  func fail(_ text: String) {
    state.withLock { $0.failures.append("\($0.steps.last?.title ?? ""): \(text)") }
  }

  var failures: [String] { state.withLock { $0.failures } }
  var lastLine: Instant { state.withLock { $0.lastLine } }

  /// The steps so far, with columns sorted by name, and lines without a fixed order sorted.
  var steps: [Transcript.Step] {
    state.withLock { state in
      state.steps.map { step in
        Transcript.Step(
          step.title,
          step.columns.sorted { $0.name < $1.name }.map { Transcript.Column($0.name, Wording.ordered($0.lines)) })
      }
    }
  }

  /// Calls `find` after everything that happens, until it finds something. Returns `nil` when `limit` has passed.
  func wait<Found>(atMost limit: Duration, for find: () -> Found?) async -> Found? {
    let deadline = time.now + limit
    let alarm = time.makeAlarm { [notifier] in notifier.bump() }
    alarm.set(deadline)
    defer { alarm.set(nil) }
    while true {
      let generation = notifier.generation
      if let found = find() { return found }
      guard time.now < deadline else { return nil }
      await notifier.wait(after: generation)
    }
  }

  /// Lets time pass.
  func pass(_ duration: Duration) async {
    let deadline = time.now + duration
    _ = await wait(atMost: duration) { self.time.now >= deadline ? true : nil }
  }

  /// Waits until nothing has been recorded for a while.
  func settle(quiet: Duration, atMost limit: Duration) async {
    let giveUp = time.now + limit
    var from = time.now
    while true {
      let end = max(from, lastLine) + quiet
      await pass(end - time.now)
      let last = lastLine
      if last + quiet <= time.now || time.now >= giveUp { return }
      from = last
    }
  }
}
