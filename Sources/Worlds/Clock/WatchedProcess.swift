import Glibc

/// A thread of the world that was not asleep when it was checked.
package struct BusyThread: Sendable, Hashable, CustomStringConvertible {
  package let pid: pid_t
  package let processName: String
  package let thread: pid_t
  package let threadName: String
  /// The kernel's state letter (proc_pid_stat(5)). `S` for a thread that slept only in between, or that is marked
  /// asleep while it works in the kernel.
  package let state: Character
  /// The name of its machine in the story, if it has one.
  package var machine: String?

  package var description: String {
    "process \(pid) (\(processName)\(machine.map { " on \($0)" } ?? "")), thread \(thread) (\(threadName)), state \(state)"
  }
}

/// One process of the world, watched through /proc.
///
/// Its folder and its threads' files stay open. That is fast, and a descriptor of an ended process never shows
/// another process that got the same number.
final class WatchedProcess {
  let pid: pid_t
  private let folder: Int32
  private(set) var name = "?"
  /// Its threads, with those first that worked last.
  private var threads: [WatchedThread] = []
  /// Clock ticks from the machine's start to this process's.
  private(set) var startTime: UInt64 = 0
  /// It may have new threads or children, because something ran since its lists were read.
  var isDirty = true
  private let seesBlocking: Bool

  /// `nil` if there is no such process any more.
  /// - Parameter seesBlocking: whether this kernel reports which threads are blocked (`BlockedThreads.areShown`).
  init?(pid: pid_t, seesBlocking: Bool = false) {
    self.pid = pid
    self.seesBlocking = seesBlocking
    folder = open("/proc/\(pid)/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if folder < 0 { return nil }
  }

  deinit { close(folder) }

  /// Stopped by a signal: it does nothing until it is continued.
  var isStopped: Bool {
    threads.first { $0.identifier == pid }?.isStopped ?? false
  }

  enum Observation {
    /// All threads were blocked at the last check, and none of them has run since.
    case quiet
    case busy(BusyThread)
    case gone
  }

  /// Checks its threads, up to the first that is busy.
  func observe(_ buffer: inout ProcBuffer) -> Observation {
    if threads.isEmpty { _ = findNewThreads(&buffer) }
    var isAlive = false
    var justEnded: WatchedThread?
    var index = 0
    while index < threads.count {
      let thread = threads[index]
      guard let ran = thread.observe(&buffer) else {
        threads.remove(at: index)
        isDirty = true
        continue
      }
      if ran { isDirty = true }
      if ran, thread.identifier == pid { (name, startTime) = (thread.name, thread.startTime) }
      // A zombie has ended; its number is only kept for its parent. A dead thread (X) has yet to be taken off the
      // list. A process's last thread tells the parent only as it goes, so until then the end is not known.
      if thread.state == UInt8(ascii: "Z") {
        if ran { justEnded = thread }
      } else {
        isAlive = true
        if ran || !thread.isBlocked {
          if index > 0 { threads.insert(threads.remove(at: index), at: 0) }
          return .busy(busy(thread))
        }
      }
      index += 1
    }
    if !isAlive { return .gone }
    if let justEnded { return .busy(busy(justEnded)) }
    // Only a running thread can create a thread, so this must be checked once after any of them ran.
    if isDirty, let new = findNewThreads(&buffer) {
      return .busy(BusyThread(pid: pid, processName: name, thread: new, threadName: "new", state: "?"))
    }
    return .quiet
  }

  private func busy(_ thread: WatchedThread) -> BusyThread {
    BusyThread(
      pid: pid, processName: name, thread: thread.identifier, threadName: thread.name,
      state: Character(UnicodeScalar(thread.state)))
  }

  /// - Returns: a new thread, if there is one.
  private func findNewThreads(_ buffer: inout ProcBuffer) -> pid_t? {
    var found: pid_t?
    let known = Set(threads.map(\.identifier))
    for identifier in numbers(in: folder, &buffer) where !known.contains(identifier) {
      guard let thread = WatchedThread(identifier, in: folder, seesBlocking: seesBlocking, &buffer) else { continue }
      threads.append(thread)
      found = identifier
    }
    return found
  }

  /// How long its threads were on processors; 0 if the kernel does not report it.
  var processorNanoseconds: UInt64 { threads.reduce(0) { $0 &+ $1.processorNanoseconds } }

  /// The processes that its threads have started and that have not been waited for.
  func children(_ buffer: inout ProcBuffer) -> [pid_t] {
    threads.flatMap { $0.children(in: folder, &buffer) }
  }
}
