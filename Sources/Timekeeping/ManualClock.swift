import Synchronization
import TimeTypes

/// A clock that stands still until it is moved: for whole systems in one process.
///
/// Alarms ring in order on the thread that moves the clock, each at its own deadline: while a handler runs, `now` is
/// the time it was set for. A handler may set further alarms; those due by the end of the move ring in the same move.
/// An alarm set for now or earlier rings in the next move (`ring()` moves by nothing), never inside `set`.
package final class ManualClock: TimeSource, AlarmKeeper {
  private struct State {
    var now: Instant
    var alarms = AlarmTable()
    var isMoving = false
  }

  private let state: Mutex<State>
  private let unixSecondsAtZero: Double

  /// - Parameter unixSecondsAtZero: the value of `unixSeconds` at `Instant.zero`, by default 2026-01-01.
  package init(now: Instant = .zero, unixSecondsAtZero: Double = 1_767_225_600) {
    state = Mutex(State(now: now))
    self.unixSecondsAtZero = unixSecondsAtZero
  }

  package var now: Instant { state.withLock { $0.now } }

  package var unixSeconds: Double { unixSecondsAtZero + now.seconds }

  /// The earliest alarm that is set.
  package var nextDeadline: Instant? { state.withLock { $0.alarms.earliest } }

  package func makeAlarm(_ handler: @escaping @Sendable () -> Void) -> any Alarm {
    TableAlarm(self, state.withLock { $0.alarms.makeIdentifier() }, handler)
  }

  func setAlarm(_ identifier: UInt64, _ deadline: Instant?, _ handler: @escaping AlarmTable.Handler) {
    state.withLock { $0.alarms.set(identifier, deadline, handler) }
  }

  /// Moves the clock to `instant`, and rings what becomes due on the way. An instant before now has no effect.
  ///
  /// - Precondition: not called from a handler, nor by two threads at once, because the order of alarms would be
  ///   unclear.
  package func advance(to instant: Instant) {
    state.withLock { state in
      precondition(!state.isMoving, "the clock is already being moved")
      state.isMoving = true
    }
    while let handler = nextHandler(by: instant) { handler() }
    state.withLock { state in
      state.now = max(state.now, instant)
      state.isMoving = false
    }
  }

  /// Moves the clock by `duration`.
  package func advance(by duration: Duration) { advance(to: now + duration) }

  /// Rings what is due now.
  package func ring() { advance(to: now) }

  private func nextHandler(by instant: Instant) -> AlarmTable.Handler? {
    state.withLock { state in
      guard let (deadline, handler) = state.alarms.takeDue(by: max(instant, state.now)) else { return nil }
      state.now = max(state.now, deadline)
      return handler
    }
  }
}
