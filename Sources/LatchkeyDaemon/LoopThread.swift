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
  private let work = Semaphore()
  /// How long there has been nothing to do when a rest begins, in seconds of the machine's own time.
  private let restAfterSeconds: Int
  private let beginRest: @Sendable () -> Void

  /// A rest begins only after at least this many jobs. Less work than that is not worth another wake-up for a rest:
  /// systemd's watchdog alone causes one job every 15 seconds.
  static let jobsBeforeRest = 16

  /// - Parameter beginRest: called when work has ended. There may be nothing more to do for days.
  package init(restAfterSeconds: Int = 5, beginRest: @escaping @Sendable () -> Void = {}) {
    (self.restAfterSeconds, self.beginRest) = (restAfterSeconds, beginRest)
  }

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
    var jobsSinceRest = 0
    while true {
      if jobsSinceRest < Self.jobsBeforeRest {
        work.wait()
      } else if !work.wait(seconds: restAfterSeconds) {
        jobsSinceRest = 0
        beginRest()
        continue
      }
      let (jobs, isStopping) = inbox.withLock { inbox in
        defer { inbox.jobs = [] }
        return (inbox.jobs, inbox.isStopping)
      }
      for job in jobs { job.runSynchronously(on: executor) }
      jobsSinceRest += jobs.count
      if isStopping, jobs.isEmpty { return }
    }
  }
}
