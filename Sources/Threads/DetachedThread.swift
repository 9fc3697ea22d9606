import Glibc

/// A thread for one job that blocks or takes long. It ends with the job.
///
/// It is not a libdispatch thread: once asked for a thread, libdispatch's pool wakes up every second for as long as
/// the process lives, and a daemon that waits for days must not wake the machine.
package enum DetachedThread {
  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Runs `body` on a new thread, with all signals blocked: they belong to the main thread.
  ///
  /// - Throws: if the system can't provide a thread. `body` is not called then.
  package static func start(_ body: @escaping @Sendable () -> Void) throws(ThreadError) {
    let work = Unmanaged.passRetained(Work(body))
    var everything = sigset_t()
    var before = sigset_t()
    sigfillset(&everything)
    // A thread inherits the mask of the thread that starts it.
    pthread_sigmask(SIG_BLOCK, &everything, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    var thread = pthread_t()
    let result = pthread_create(
      &thread, nil,
      { pointer in
        guard let pointer else { return nil }
        Unmanaged<Work>.fromOpaque(pointer).takeRetainedValue().body()
        return nil
      }, work.toOpaque())
    guard result == 0 else {
      work.release()
      throw ThreadError(number: result)
    }
    pthread_detach(thread)
  }
}

/// Why a thread could not be created.
package struct ThreadError: Error, Sendable, Hashable {
  /// The `errno` returned by pthread_create(3).
  package let number: Int32
}
