import TimeTypes

/// Where a process gets the time from. There is one source for every process: `BootClock` on a machine,
/// `SharedClock` in a simulated world, `ManualClock` inside one process.
public protocol TimeSource: Sendable {
  /// The time now. It never goes back.
  var now: Instant { get }
  /// Seconds since 1970-01-01 UTC, for what people read. It may go back on a real machine.
  var unixSeconds: Double { get }
  /// An alarm, not set yet, that calls `handler` (on a thread of the time source's own) when its time has come.
  func makeAlarm(_ handler: @escaping @Sendable () -> Void) -> any Alarm
}

/// One alarm. It keeps one deadline; setting it again replaces the earlier one.
public protocol Alarm: Sendable {
  /// Rings once at `deadline`, at once if that has passed; `nil` stops it.
  func set(_ deadline: Instant?)
}
