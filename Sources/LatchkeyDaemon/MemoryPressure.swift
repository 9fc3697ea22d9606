import Glibc
import Synchronization

/// Hears from the kernel when processes wait for memory (Linux, Documentation/accounting/psi.rst). Without such a
/// kernel it hears nothing, and `latchkey reclaim --memory` remains.
final class MemoryPressure: Sendable {
  /// Some process waited for memory for 200 ms of 2 s. Other windows than multiples of 2 s need privileges. The kernel
  /// reports at most once in each window.
  private static let trigger = "some 200000 2000000"

  private let descriptor: Int32
  private let stopEnd: Int32

  /// - Parameter onPressure: is called on a thread of its own.
  /// - Returns: `nil` if the kernel has no such thing, or does not allow it.
  init?(path: String = "/proc/pressure/memory", onPressure: @escaping @Sendable () -> Void) {
    let descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    let trigger = Array(Self.trigger.utf8CString)
    var ends: [Int32] = [-1, -1]
    guard write(descriptor, trigger, trigger.count) == trigger.count, pipe(&ends) == 0 else {
      Glibc.close(descriptor)
      return nil
    }
    let stopped = ends[0]
    self.descriptor = descriptor
    stopEnd = ends[1]
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var thread = pthread_t()
    let work = Unmanaged.passRetained(
      Work { Self.wait(descriptor, stopped, onPressure) })
    let result = pthread_create(
      &thread, nil,
      { argument in
        // It was retained for this thread.
        guard let argument else { return nil }
        Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
        return nil
      }, work.toOpaque())
    guard result == 0 else {
      work.release()
      for open in [descriptor, ends[0], ends[1]] { Glibc.close(open) }
      return nil
    }
    pthread_detach(thread)
  }

  /// Nothing is heard afterwards.
  func close() { Glibc.close(stopEnd) }

  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  private static func wait(_ descriptor: Int32, _ stopped: Int32, _ onPressure: () -> Void) {
    defer { for open in [descriptor, stopped] { Glibc.close(open) } }
    while true {
      var waiting = [
        pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0), pollfd(fd: stopped, events: 0, revents: 0),
      ]
      if poll(&waiting, nfds_t(waiting.count), -1) < 0 {
        if errno == EINTR { continue }
        return
      }
      if waiting[1].revents != 0 || waiting[0].revents & Int16(POLLERR | POLLNVAL) != 0 { return }
      if waiting[0].revents & Int16(POLLPRI) != 0 { onPressure() }
    }
  }
}
