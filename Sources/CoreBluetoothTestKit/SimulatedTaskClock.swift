import Foundation

/// A home's time as a `Clock` for Swift's concurrency: `Task.sleep(for: .seconds(5), clock: launch.clock.forTasks)`. An
/// app that is to be tested takes an `any Clock<Duration>`, which is `ContinuousClock()` on a device.
///
/// A sleep is an alarm of ``SimulatedClock``, so it waits while the app is suspended. If the app has ended in the
/// meantime, the sleep throws a `CancellationError` when its time comes.
public struct SimulatedTaskClock: Clock {
  /// A moment of the home's time.
  public struct Instant: InstantProtocol {
    /// Since the home was made.
    let time: Duration
    public func advanced(by duration: Duration) -> Instant { Instant(time: time + duration) }
    public func duration(to other: Instant) -> Duration { other.time - time }
    public static func < (left: Instant, right: Instant) -> Bool { left.time < right.time }
  }

  let clock: SimulatedClock

  public var now: Instant { Instant(time: clock.now) }
  public var minimumResolution: Duration { .nanoseconds(1) }

  /// Returns at the deadline, or at once if it has passed. `tolerance` makes no difference.
  ///
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    try Task.checkCancellation()
    guard deadline > now else { return }
    let sleeper = Sleeper()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        sleeper.begin(continuation, clock, deadline.time - clock.now)
      }
    } onCancel: {
      sleeper.end(throwing: CancellationError())
    }
  }
}

extension SimulatedClock {
  /// The same time for `Task.sleep(for:clock:)`, and for whatever else takes a `Clock`.
  public var forTasks: SimulatedTaskClock { SimulatedTaskClock(clock: self) }
}

/// One sleep. It ends once: by its alarm, by the end of its task, or, if its app has ended, with an error.
private final class Sleeper: @unchecked Sendable {
  private let lock = NSLock()
  private var continuation: CheckedContinuation<Void, any Error>?
  private var alarm: SimulatedAlarm?
  private var isOver = false

  func begin(_ continuation: CheckedContinuation<Void, any Error>, _ clock: SimulatedClock, _ delay: Duration) {
    let isCancelled = lock.withLock {
      guard !isOver else { return true }
      self.continuation = continuation
      return false
    }
    guard !isCancelled else { return continuation.resume(throwing: CancellationError()) }
    let alarm = SimulatedAlarm(clock.time) { [weak self, ring = clock.ring] in
      guard let self else { return }
      let ticket = Ticket(self)
      ring { ticket.ring() }
    }
    alarm.set(after: max(delay, .zero))
    let isLate = lock.withLock {
      self.alarm = alarm
      return isOver
    }
    if isLate { alarm.cancel() }
  }

  func end(throwing error: (any Error)?) {
    let (continuation, alarm) = lock.withLock {
      isOver = true
      defer { (self.continuation, self.alarm) = (nil, nil) }
      return (self.continuation, self.alarm)
    }
    alarm?.cancel()
    if let error { continuation?.resume(throwing: error) } else { continuation?.resume() }
  }

  /// Belongs to the alarm. If the app has ended, it is released without a ring, and the sleep ends with an error.
  private final class Ticket: Sendable {
    private let sleeper: Sleeper
    init(_ sleeper: Sleeper) { self.sleeper = sleeper }
    deinit { sleeper.end(throwing: CancellationError()) }
    func ring() { sleeper.end(throwing: nil) }
  }
}
