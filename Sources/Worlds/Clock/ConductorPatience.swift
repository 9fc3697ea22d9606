import Glibc

/// How long one call from outside lasts, whatever it calls itself, and when it last gave a sign of life.
final class CallTimer {
  let clock = ContinuousClock()
  private var depth = 0
  private var lastSign = ContinuousClock.now
  private var began = ContinuousClock.now

  func begin() -> Int {
    depth += 1
    if depth == 1 {
      began = clock.now
      lastSign = began
    }
    return depth
  }

  func end(_ depth: Int) { self.depth = depth - 1 }

  /// Calls `say` where that is due; what to say is made up only then.
  func tell(_ say: (String) -> Void, every interval: Duration, _ text: () -> String) {
    let now = clock.now
    guard now - lastSign >= interval else { return }
    lastSign = now
    say("after \((now - began).components.seconds) s: \(text())")
  }
}

/// What the world's processes take of processors from some moment on.
struct ProcessorUse {
  private var atFirst: [pid_t: UInt64] = [:]

  /// What the one that took the most took since it was first asked about; `nil` where the kernel doesn't say.
  mutating func most(_ world: borrowing ConductorWorld) -> Duration? {
    var most: UInt64 = 0
    var isTold = false
    for (pid, time) in world.processorNanoseconds {
      isTold = isTold || time > 0
      let first = atFirst[pid] ?? time
      atFirst[pid] = first
      if time > first { most = max(most, time - first) }
    }
    return isTold ? .nanoseconds(Int64(clamping: most)) : nil
  }
}
