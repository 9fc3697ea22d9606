import Foundation
import Synchronization
import Testing

/// For tests that block, because the code they test blocks, or that compute for seconds: each runs on its own thread.
///
/// Swift has only as many threads for tasks as the machine has cores. A test that blocks one takes it from every
/// other test. On two cores, two such tests that each wait for a third one would never end.
package struct OwnThreadTrait: TestTrait, SuiteTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let thread = OwnThread()
    defer { thread.stop() }
    try await withTaskExecutorPreference(thread) { try await function() }
  }
}

extension Trait where Self == OwnThreadTrait {
  /// Runs every test on its own thread, which it may block or keep busy.
  package static var ownThread: Self { Self() }
}

/// A thread that runs the jobs of a task, one after the other.
package final class OwnThread: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    var isStopping = false
  }

  private let state = Mutex(State())
  private let changed = DispatchSemaphore(value: 0)

  // Not a `DetachedThread`: that has all signals blocked, and what a test starts would inherit it.
  package init() { Thread.detachNewThread { [self] in work() } }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { $0.jobs.append(job) }
    changed.signal()
  }

  /// The thread ends when it has finished its earlier work.
  package func stop() {
    state.withLock { $0.isStopping = true }
    changed.signal()
  }

  private func work() {
    let executor = asUnownedTaskExecutor()
    while true {
      changed.wait()
      let (jobs, isStopping) = state.withLock { state in
        defer { state.jobs = [] }
        return (state.jobs, state.isStopping)
      }
      for job in jobs { job.runSynchronously(on: executor) }
      if isStopping, jobs.isEmpty { return }
    }
  }
}
