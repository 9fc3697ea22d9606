import Synchronization

/// One thread on which all tasks of the daemon run.
///
/// Swift's own executor uses libdispatch, whose thread pool wakes up once a second for as long as the process lives.
/// A daemon that waits for days must not wake the machine, so none of its tasks runs there.
package final class LoopThread: TaskExecutor {
  private struct Inbox {
    var jobs: [UnownedJob] = []
    var isStopping = false
  }

  private let inbox = Mutex(Inbox())
  private let work: Semaphore

  package init() { work = Semaphore() }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    inbox.withLock { $0.jobs.append(job) }
    work.signal()
  }

  /// Runs `operation`, and every task it starts, on the calling thread. Returns when it has ended.
  /// - Throws: what `operation` throws.
  package func run(_ operation: @escaping @Sendable () async throws -> Void) throws {
    let outcome = Outcome()
    Task(executorPreference: self) {
      do { try await operation() } catch { outcome.result.withLock { $0 = .failure(error) } }
      self.stop()
    }
    drain()
    try outcome.result.withLock { $0 }.get()
  }

  private final class Outcome: Sendable {
    let result = Mutex<Result<Void, any Error>>(.success(()))
  }

  private func stop() {
    inbox.withLock { $0.isStopping = true }
    work.signal()
  }

  private func drain() {
    let executor = asUnownedTaskExecutor()
    while true {
      work.wait()
      let (jobs, isStopping) = inbox.withLock { inbox in
        defer { inbox.jobs = [] }
        return (inbox.jobs, inbox.isStopping)
      }
      for job in jobs { job.runSynchronously(on: executor) }
      if isStopping, jobs.isEmpty { return }
    }
  }
}
