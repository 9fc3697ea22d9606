import TimeTypes
import Timekeeping

/// The time of a simulated home. It passes only in `SimulatedHome.advance(by:)`.
public struct SimulatedClock: Sendable {
  let time: ManualClock
  /// Runs an alarm's body as the app whose clock it is.
  let ring: @Sendable (@escaping @Sendable () -> Void) -> Void

  init(time: ManualClock, ring: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { $0() }) {
    self.time = time
    self.ring = ring
  }

  /// How much time has passed since the home was made.
  public var now: Duration { .nanoseconds(time.now.nanoseconds) }

  /// Seconds since 1970 in the home, as an app would read them from a wall clock.
  public var unixSeconds: Double { time.unixSeconds }

  /// Runs `body` when this much time has passed, on the home's thread, before time goes on. An alarm of an app
  /// (`SimulatedLaunch.clock`) waits while the app is suspended, and ends with it.
  /// - Parameters:
  ///   - delay: From now. Zero or less means as soon as time passes again.
  ///   - body: What the alarm does.
  /// - Returns: the alarm, which can be cancelled. It rings whether or not it is kept.
  @discardableResult
  public func after(_ delay: Duration, perform body: @escaping @Sendable () -> Void) -> SimulatedAlarm {
    let alarm = SimulatedAlarm(time) { [ring] in ring(body) }
    alarm.set(after: max(delay, .zero))
    return alarm
  }
}

/// An alarm that was set on a `SimulatedClock`.
public final class SimulatedAlarm: Sendable {
  private let time: ManualClock
  private let alarm: any Alarm

  init(_ time: ManualClock, _ body: @escaping @Sendable () -> Void) {
    self.time = time
    alarm = time.makeAlarm(body)
  }

  func set(after delay: Duration) { alarm.set(time.now + delay) }

  /// Cancels the alarm, so that it does not ring.
  public func cancel() { alarm.set(nil) }
}
