import TimeTypes

/// The source of a process's time. There is one for each kind of process: `BootClock` on a machine, `SharedClock` in
/// a simulated world, `ManualClock` within one process.
package protocol TimeSource: Sendable {
  /// The time now. It never goes back.
  var now: Instant { get }
  /// Seconds since 1970-01-01 UTC, for people. It may go back on a real machine.
  var unixSeconds: Double { get }
  /// An alarm, not set yet, that calls `handler` (on a thread of the time source) when its time has come.
  func makeAlarm(_ handler: @escaping @Sendable () -> Void) -> any Alarm
}

/// One alarm. It keeps one deadline; setting it again replaces the earlier one.
package protocol Alarm: Sendable {
  /// Rings once at `deadline`, or at once if that has passed. `nil` stops it.
  func set(_ deadline: Instant?)
}
