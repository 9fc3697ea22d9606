import CSystemd
import Glibc
import Synchronization
import Threads
import TimeTypes

/// The machine's own time: CLOCK_BOOTTIME, which continues while the machine sleeps. Its alarms ring on one thread,
/// in order. They do not wake a sleeping machine; they ring when it wakes.
package final class BootClock: TimeSource, AlarmKeeper {
  private let alarms = Mutex(AlarmTable())
  private let timer: Int32

  /// - Throws: `ClockError` if the kernel provides no timer or no thread.
  package init() throws {
    timer = timerfd_create(CLOCK_BOOTTIME, Int32(TFD_CLOEXEC))
    guard timer >= 0 else { throw ClockError.system("timerfd_create") }
    // The thread keeps the clock for good: a process has one clock, until it ends.
    try startThread { [self] in ringForever() }
  }

  package var now: Instant {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }

  package var unixSeconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  package func makeAlarm(_ handler: @escaping @Sendable () -> Void) -> any Alarm {
    TableAlarm(self, alarms.withLock { $0.makeIdentifier() }, handler)
  }

  func setAlarm(_ identifier: UInt64, _ deadline: Instant?, _ handler: @escaping AlarmTable.Handler) {
    alarms.withLock { alarms in
      let earlier = alarms.earliest
      alarms.set(identifier, deadline, handler)
      if alarms.earliest != earlier { arm(alarms.earliest) }
    }
  }

  private func ringForever() {
    while true {
      var expirations: UInt64 = 0
      // If any thread sets the timer anew, this read notices it. No other wake-up is needed.
      let count = read(timer, &expirations, 8)
      guard count == 8 || errno == EINTR || errno == EAGAIN else {
        preconditionFailure("a timerfd of this process can't be read: \(String(cString: strerror(errno)))")
      }
      while let due = alarms.withLock({ $0.takeDue(by: now) }) { due.handler() }
      alarms.withLock { arm($0.earliest) }
    }
  }

  private func arm(_ deadline: Instant?) {
    var setting = itimerspec()
    if let deadline {
      // Zero would disarm it. A deadline that has passed expires at once.
      let nanoseconds = max(deadline.nanoseconds, 1)
      setting.it_value.tv_sec = Int(nanoseconds / 1_000_000_000)
      setting.it_value.tv_nsec = Int(nanoseconds % 1_000_000_000)
    }
    guard timerfd_settime(timer, Int32(TFD_TIMER_ABSTIME), &setting, nil) == 0 else {
      preconditionFailure("a timerfd of this process can't be set: \(String(cString: strerror(errno)))")
    }
  }
}

/// Runs `body` on a new thread.
func startThread(_ body: @escaping @Sendable () -> Void) throws(ClockError) {
  do { try DetachedThread.start(body) } catch { throw .system("pthread_create", error.number) }
}
