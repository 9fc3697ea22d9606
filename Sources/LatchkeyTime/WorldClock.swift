import Foundation
import Synchronization
import TimeTypes
import Timekeeping

/// The clock for apps that may run in a story of `latchkey prove`.
///
/// There it has the story's time, in which days pass in a moment: the app's timers count, and the story waits for what
/// the app does when they ring. Everywhere else it is the machine's own clock, which goes on while the machine sleeps
/// (CLOCK_BOOTTIME). An app that uses it needs no other code for tests:
///
///     try await Task.sleep(for: .seconds(600), clock: .world)
///     let waited = try await WorldClock().measure { try await nextValue() }
///
/// In a simulated story, `latchkey prove` gives an app's `Date()`, `Timer`, `Task.sleep(for:)` and
/// `DispatchQueue.asyncAfter` the story's time as well, by a library that it loads into the app. So an app needs this clock
/// only where that library is missing, or has no effect because the program is linked statically.
public struct WorldClock: Clock, Sendable {
  /// A moment, counted from the beginning of the story or from the machine's start.
  public struct Instant: InstantProtocol, Sendable {
    fileprivate let moment: TimeTypes.Instant

    public func advanced(by duration: Duration) -> Instant { Instant(moment: moment + duration) }
    public func duration(to other: Instant) -> Duration { other.moment - moment }
    public static func < (left: Instant, right: Instant) -> Bool { left.moment < right.moment }
  }

  private let source: any TimeSource

  /// The clock of this process. A process has one, however often it is asked for.
  ///
  /// Ends the process if it is part of a story whose clock can't be reached: its time would stand still.
  public init() {
    do { source = try ProcessClock.fromEnvironment() } catch {
      fatalError(
        "this process has no clock: \(error). Start it by `latchkey prove`, or without \(ProcessClock.variable)")
    }
  }

  public var now: Instant { Instant(moment: source.now) }

  public var minimumResolution: Duration { .nanoseconds(1) }

  /// The date and time, for people. In a story it begins on 1 January 2026.
  public var date: Date { Date(timeIntervalSince1970: source.unixSeconds) }

  /// Returns at the deadline, or at once if it has passed. `tolerance` makes no difference.
  ///
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    let sleeper = Sleeper()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        sleeper.begin(continuation, source, until: deadline.moment)
      }
    } onCancel: {
      sleeper.cancel()
    }
  }
}

extension Clock where Self == WorldClock {
  /// The story's time in a story of `latchkey prove`, and the machine's time everywhere else.
  public static var world: WorldClock { WorldClock() }
}

/// One sleep. It ends once: by its alarm, or by the end of its task.
private final class Sleeper: Sendable {
  private struct State {
    var continuation: CheckedContinuation<Void, any Error>?
    var alarm: (any Alarm)?
    var hasEnded = false
  }

  private let state = Mutex(State())

  func begin(
    _ continuation: CheckedContinuation<Void, any Error>, _ source: any TimeSource, until deadline: TimeTypes.Instant
  ) {
    let isCancelled = state.withLock { state in
      if !state.hasEnded { state.continuation = continuation }
      return state.hasEnded
    }
    guard !isCancelled else { return continuation.resume(throwing: CancellationError()) }
    let alarm = source.makeAlarm { [self] in end(.success(())) }
    let isNeeded = state.withLock { state in
      if !state.hasEnded { state.alarm = alarm }
      return !state.hasEnded
    }
    if isNeeded { alarm.set(deadline) }
  }

  func cancel() { end(.failure(CancellationError())) }

  private func end(_ result: Result<Void, any Error>) {
    let (continuation, alarm) = state.withLock { state in
      defer { state = State(hasEnded: true) }
      return (state.continuation, state.alarm)
    }
    alarm?.set(nil)
    continuation?.resume(with: result)
  }
}
