import Glibc
import Synchronization

/// Lets so many in at a time. Who comes later waits, and blocks its thread: for carriers' own threads alone.
final class Turnstile: Sendable {
  private struct State {
    var isOpen = false
    var inside = 0
    var most = 0
  }

  private let free: Semaphore
  private let state = Mutex(State())

  init(limit: Int) { free = Semaphore(UInt32(limit)) }

  /// How many were inside at a time, at most.
  var most: Int { state.withLock { $0.most } }

  func enter() {
    free.wait()
    let isOpen = state.withLock { state in
      state.inside += 1
      state.most = max(state.most, state.inside)
      return state.isOpen
    }
    // One that was let through lets the next through.
    if isOpen { free.signal() }
  }

  func leave() {
    state.withLock { $0.inside -= 1 }
    free.signal()
  }

  /// Nobody waits any more, now or later.
  func open() {
    state.withLock { $0.isOpen = true }
    free.signal()
  }
}

/// A counting semaphore of the C library: it has no thread of its own.
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
}
