import Synchronization
import TimeTypes

/// Another clock's time, but short waits take none: an alarm that is due soon rings at once, and the time leaps to its
/// deadline. Longer waits take as long as they are.
///
/// A simulated radio waits for its next connection event all the time. With this clock the programs are what takes time,
/// and not the air.
///
/// Unlike other time sources, it rings such an alarm inside `set`, on the thread that sets it. A leap does not move the
/// alarms that wait: they ring as long after they were set as without it.
package final class LeapingClock: TimeSource {
  private let base: any TimeSource
  private let leap: Duration
  /// By how much it is ahead of the other clock, in nanoseconds.
  private let lead = Atomic<Int64>(0)

  /// - Parameter leap: the longest wait that is leapt over.
  package init(_ base: any TimeSource, over leap: Duration) {
    self.base = base
    self.leap = leap
  }

  package var now: Instant { base.now + .nanoseconds(lead.load(ordering: .acquiring)) }

  package var unixSeconds: Double { base.unixSeconds + Double(lead.load(ordering: .acquiring)) / 1e9 }

  package func makeAlarm(_ handler: @escaping @Sendable () -> Void) -> any Alarm {
    LeapingAlarm(clock: self, inner: base.makeAlarm(handler), handler: handler)
  }

  private struct LeapingAlarm: Alarm {
    let clock: LeapingClock
    let inner: any Alarm
    let handler: @Sendable () -> Void

    func set(_ deadline: Instant?) {
      guard let deadline else { return inner.set(nil) }
      let base = clock.base.now
      let lead = Duration.nanoseconds(clock.lead.load(ordering: .acquiring))
      guard deadline - (base + lead) <= clock.leap else { return inner.set(deadline - lead) }
      inner.set(nil)
      // Of two threads that leap at the same time, the one that leaps further decides.
      clock.lead.max((deadline - base).wholeNanoseconds, ordering: .acquiringAndReleasing)
      handler()
    }
  }
}
