import DequeModule
import Glibc
import Synchronization

/// Admits a limited number of callers, and of bytes, at a time. A caller that arrives while there is room for both is
/// admitted, however much it brings. Later callers wait, in order, and block their threads. So it is meant only for
/// carriers' own threads.
final class Turnstile: Sendable {
  private struct Waiting {
    let bytes: Int
    let admitted: Semaphore
  }

  private struct State {
    var isOpen = false
    var inside = 0
    var bytesInside = 0
    var waiting: Deque<Waiting> = []
  }

  private let limit: Int
  private let byteLimit: Int
  private let state = Mutex(State())

  init(limit: Int, byteLimit: Int) { (self.limit, self.byteLimit) = (limit, byteLimit) }

  func enter(bytes: Int) {
    let admitted = state.withLock { state -> Semaphore? in
      if state.waiting.isEmpty, hasRoom(state) {
        letIn(bytes, &state)
        return nil
      }
      let waiting = Waiting(bytes: bytes, admitted: Semaphore())
      state.waiting.append(waiting)
      return waiting.admitted
    }
    admitted?.wait()
  }

  /// - Parameter bytes: the bytes that the caller entered with.
  func leave(bytes: Int) {
    change { state in
      state.inside -= 1
      state.bytesInside -= bytes
    }
  }

  /// Lets every caller through, now and later.
  func open() { change { $0.isOpen = true } }

  private func change(_ body: (inout State) -> Void) {
    let admitted = state.withLock { state in
      body(&state)
      var admitted: [Semaphore] = []
      while !state.waiting.isEmpty, hasRoom(state) {
        let first = state.waiting.removeFirst()
        letIn(first.bytes, &state)
        admitted.append(first.admitted)
      }
      return admitted
    }
    for semaphore in admitted { semaphore.signal() }
  }

  private func hasRoom(_ state: State) -> Bool {
    state.isOpen || (state.inside < limit && state.bytesInside < byteLimit)
  }

  private func letIn(_ bytes: Int, _ state: inout State) {
    state.inside += 1
    state.bytesInside += bytes
  }
}

/// A counting semaphore of the C library. It has no thread of its own.
final class Semaphore: Sendable {
  private nonisolated(unsafe) let semaphore: UnsafeMutablePointer<sem_t>

  init(_ count: UInt32 = 0) {
    semaphore = .allocate(capacity: 1)
    sem_init(semaphore, 0, count)
  }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  func signal() { sem_post(semaphore) }

  func wait() { while sem_wait(semaphore) != 0 {} }

  /// Waits at most this long, by the machine's calendar clock. If that clock is set meanwhile, the wait may end sooner
  /// or later, so use this only where that does no harm. Returns `false` if there was no signal.
  func wait(seconds: Int) -> Bool {
    var end = timespec()
    clock_gettime(CLOCK_REALTIME, &end)
    end.tv_sec += seconds
    while sem_timedwait(semaphore, &end) != 0 {
      if errno == ETIMEDOUT { return false }
    }
    return true
  }
}
