import Foundation

/// A queue of things that happened. A test awaits the next one and so never sleeps.
package final class Inbox<Element: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var waiting: [Element] = []
  /// The waiting readers, longest first. The key identifies a cancelled one.
  private var readers: [(key: UInt64, continuation: CheckedContinuation<Element, any Error>)] = []
  private var lastKey: UInt64 = 0

  package init() {}

  package func put(_ element: Element) {
    let reader: CheckedContinuation<Element, any Error>? = lock.withLock {
      if readers.isEmpty {
        waiting.append(element)
        return nil
      }
      return readers.removeFirst().continuation
    }
    reader?.resume(returning: element)
  }

  /// The next element, in order. Waits for it until the task is cancelled. (Swift Testing cancels a test that exceeds
  /// its time limit.)
  ///
  /// - Throws: `CancellationError` when the waiting task is cancelled.
  package func next() async throws -> Element {
    let key = lock.withLock {
      lastKey += 1
      return lastKey
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome: Result<Element, any Error>? = lock.withLock {
          if Task.isCancelled { return .failure(CancellationError()) }
          guard waiting.isEmpty else { return .success(waiting.removeFirst()) }
          readers.append((key, continuation))
          return nil
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      let cancelled = lock.withLock {
        readers.firstIndex { $0.key == key }.map { readers.remove(at: $0).continuation }
      }
      cancelled?.resume(throwing: CancellationError())
    }
  }

  /// What has happened and has not been taken yet.
  package var pending: [Element] { lock.withLock { waiting } }
}
