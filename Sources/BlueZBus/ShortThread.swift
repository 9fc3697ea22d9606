import Glibc

/// A thread for one thing that blocks, gone when that is done.
///
/// It is not libdispatch's: once asked for a thread, that looks after its pool every second for as long as the process
/// lives, and a daemon that waits for days must not wake anybody.
enum ShortThread {
  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// - Returns: 0, or the `errno` for which there is no thread; `body` is not called then.
  static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
    let work = Unmanaged.passRetained(Work(body))
    var thread = pthread_t()
    let error = pthread_create(
      &thread, nil,
      { pointer in
        guard let pointer else { return nil }
        Unmanaged<Work>.fromOpaque(pointer).takeRetainedValue().body()
        return nil
      }, work.toOpaque())
    if error == 0 { pthread_detach(thread) } else { work.release() }
    return error
  }
}
