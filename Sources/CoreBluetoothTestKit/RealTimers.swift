import Dispatch

/// Timers in the computer's time, by which a home looks after what its apps do.
///
/// They have a thread of their own. `DispatchQueue.global()` has no more threads than the computer has processors, and so have tasks:
/// tests that compute for a long time would hold all of them, and a home beside them would stand still.
enum RealTimers {
  private static let queue = DispatchQueue(label: "org.latchkey.testkit.timers")

  static func after(_ interval: DispatchTimeInterval, _ body: @escaping @Sendable () -> Void) {
    queue.asyncAfter(deadline: .now() + interval, execute: body)
  }
}
