import Synchronization

/// What a process has written so far to one of its outputs, to be waited for.
final class Transcript: Sendable {
  private struct State {
    var bytes: [UInt8] = []
    var isComplete = false
    /// The readers that wait for more. The key identifies a cancelled one.
    var waiting: [UInt64: CheckedContinuation<Void, any Error>] = [:]
    var lastKey: UInt64 = 0
  }

  private let state = Mutex(State())

  func append(_ bytes: [UInt8]) { change { $0.bytes += bytes } }

  func complete() { change { $0.isComplete = true } }

  var bytes: [UInt8] { state.withLock { $0.bytes } }

  /// All of it, with invalid UTF-8 repaired.
  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Waits until `find` finds something in the bytes so far.
  ///
  /// - Returns: what it found, or `nil` if the output has ended without it.
  /// - Throws: `CancellationError` when the waiting task is cancelled.
  func wait<Found: Sendable>(for find: @Sendable ([UInt8]) -> Found?) async throws -> Found? {
    while true {
      let (bytes, isComplete) = state.withLock { ($0.bytes, $0.isComplete) }
      if let found = find(bytes) { return found }
      if isComplete { return nil }
      try await more(than: bytes.count)
    }
  }

  /// Waits until the output has ended.
  ///
  /// - Throws: `CancellationError` when the waiting task is cancelled.
  func waitForEnd() async throws { _ = try await wait { _ in Never?.none } }

  private func more(than count: Int) async throws {
    let key = state.withLock { state in
      state.lastKey += 1
      return state.lastKey
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome: Result<Void, any Error>? = state.withLock { state in
          if Task.isCancelled { return .failure(CancellationError()) }
          if state.isComplete || state.bytes.count > count { return .success(()) }
          state.waiting[key] = continuation
          return nil
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: key) }?.resume(throwing: CancellationError())
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let waiting = state.withLock { state in
      body(&state)
      defer { state.waiting = [:] }
      return state.waiting.values
    }
    for continuation in waiting { continuation.resume() }
  }
}
