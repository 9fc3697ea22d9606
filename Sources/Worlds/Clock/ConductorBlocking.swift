import CSystemd
import ChildProcesses
import Foundation
import Glibc
import Synchronization
import Threads

/// Whether this kernel reports which threads are blocked (`wchan` of proc_pid_wchan(5)). Kernels without symbols, and
/// kernel emulations, do not. On those, only a thread's state letter is used.
enum BlockedThreads {
  /// Tried once, on a thread of our own that is certainly blocked.
  static let areShown = isShown(limit: .seconds(10))

  private static func isShown(limit: Duration) -> Bool {
    guard let pipe = try? makePipe() else { return false }
    let box = Box()
    let isStarted: Void? = try? DetachedThread.start {
      box.thread.withLock { $0 = latchkey_thread_identifier() }
      var byte: UInt8 = 0
      while read(pipe.reading, &byte, 1) < 0, errno == EINTR {}
      close(pipe.reading)
    }
    guard isStarted != nil else {
      close(pipe.reading)
      close(pipe.writing)
      return false
    }
    // Closing the pipe ends the thread.
    defer { close(pipe.writing) }
    let giveUp = ContinuousClock.now + limit
    var buffer = ProcBuffer()
    while ContinuousClock.now < giveUp {
      let identifier = box.thread.withLock { $0 }
      if identifier != 0, let place = ProcFile(AT_FDCWD, "/proc/self/task/\(identifier)/wchan")?.readText(&buffer),
        place.first != UInt8(ascii: "0")
      {
        return true
      }
      var pause = timespec(tv_sec: 0, tv_nsec: 100_000)
      nanosleep(&pause, nil)
    }
    return false
  }

  private final class Box: Sendable {
    let thread = Mutex<pid_t>(0)
  }
}
