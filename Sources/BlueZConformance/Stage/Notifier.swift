import Synchronization

/// Wakes waiting tasks when something happens, without missing what happened between a check and the wait.
final class Notifier: Sendable {
  private struct State {
    var generation: UInt64 = 0
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  var generation: UInt64 { state.withLock { $0.generation } }

  func bump() {
    let waiting = state.withLock { state in
      state.generation += 1
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Returns when something has happened since the number was `generation`.
  func wait(after generation: UInt64) async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.generation != generation { return true }
        state.waiting.append(continuation)
        return false
      }
      if isOver { continuation.resume() }
    }
  }
}
