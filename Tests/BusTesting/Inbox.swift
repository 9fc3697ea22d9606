import Synchronization

/// What callbacks delivered, to be awaited by a test in order.
package final class Inbox<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    /// The waiting readers, longest first. The key identifies a cancelled one.
    var waiting: [(key: UInt64, continuation: CheckedContinuation<Element, any Error>)] = []
    var lastKey: UInt64 = 0
  }

  private let state = Mutex(State())

  package init() {}

  package func put(_ element: Element) {
    let waiting: CheckedContinuation<Element, any Error>? = state.withLock { state in
      if state.waiting.isEmpty {
        state.elements.append(element)
        return nil
      }
      return state.waiting.removeFirst().continuation
    }
    waiting?.resume(returning: element)
  }

  /// The next element; waits for it. A test that exceeds its time limit is cancelled, and its wait ends with it.
  /// Otherwise the wait would keep the whole run from ending.
  ///
  /// - Throws: `CancellationError` when the waiting task is cancelled.
  package func next() async throws -> Element {
    let key = state.withLock { state in
      state.lastKey += 1
      return state.lastKey
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome: Result<Element, any Error>? = state.withLock { state in
          if Task.isCancelled { return .failure(CancellationError()) }
          if state.elements.isEmpty {
            state.waiting.append((key, continuation))
            return nil
          }
          return .success(state.elements.removeFirst())
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      let cancelled = state.withLock { state in
        state.waiting.firstIndex { $0.key == key }.map { state.waiting.remove(at: $0).continuation }
      }
      cancelled?.resume(throwing: CancellationError())
    }
  }

  /// What has arrived and has not been taken yet.
  package var untaken: [Element] { state.withLock { $0.elements } }
}
