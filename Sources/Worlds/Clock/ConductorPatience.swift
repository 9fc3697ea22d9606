import Glibc

/// Measures how long the outermost call lasts, including the calls inside it, and when it last gave a sign of life.
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

  /// Calls `say` if a sign of life is due. The text is made only then.
  func tell(_ say: (String) -> Void, every interval: Duration, _ text: () -> String) {
    let now = clock.now
    guard now - lastSign >= interval else { return }
    lastSign = now
    say("after \((now - began).components.seconds) s: \(text())")
  }
}

/// The processor time that the world's processes use from a certain moment on.
struct ProcessorUse {
  private var atFirst: [pid_t: UInt64] = [:]

  /// The most processor time that any one process has used since this was first asked, or `nil` if the kernel does not
  /// report it.
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
