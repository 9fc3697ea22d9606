import CSystemd
import Foundation
import Glibc
import Synchronization
import Threads

/// This process's children. The table starts them, and only the table waits for them. If it adopts orphans, it also
/// waits for those of their families, and then for every child that the process has.
package final class ProcessTable: Sendable {
  package static let shared = ProcessTable()

  private struct State {
    var handlers: [pid_t: @Sendable (ProcessEnd) -> Void] = [:]
    /// Those whose groups end with them.
    var leaders: Set<pid_t> = []
    var adoptsOrphans = false
    var startedCount = 0
    /// Handlers that are just being told of an end.
    var handlersAtWork = 0
  }

  private let state = Mutex(State())
  private let childrenMayExist = DispatchSemaphore(value: 0)

  private init() {
    // A simulator that died is noticed by its exit, and must not kill us at the next write.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Apps outlive a latchkeyd that was killed. From now on they become our children, as they become init's on a
  /// machine.
  ///
  /// - Throws: if there is no thread to wait for them.
  package func adoptOrphans() throws(ThreadError) {
    _ = latchkey_become_subreaper()
    let isFirst = state.withLock { state in
      defer { state.adoptsOrphans = true }
      return !state.adoptsOrphans
    }
    if isFirst { try DetachedThread.start { [self] in reapForever() } }
  }

  /// Starts a process. `onEnd` is called once, on a thread of the table, when the process has ended and been reaped.
  ///
  /// - Throws: `ChildProcessError` if the system can't start it.
  func start(_ start: ProcessStart, onEnd: @escaping @Sendable (ProcessEnd) -> Void) throws -> pid_t {
    // Held until the handler is registered, so that a process that ends at once is not missed.
    let pid = try state.withLock { state in
      let pid = try Self.spawn(start)
      state.handlers[pid] = onEnd
      state.startedCount += 1
      if start.takesGroupAlong { state.leaders.insert(pid) }
      return pid
    }
    childrenMayExist.signal()
    do { try DetachedThread.start { [self] in reapWhenEnded(pid) } } catch {
      // Its end would go unnoticed.
      kill(pid, SIGKILL)
      reapWhenEnded(pid)
      throw error
    }
    return pid
  }

  private func reapWhenEnded(_ pid: pid_t) {
    var information = siginfo_t()
    while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    reap(pid)
  }

  private func reapForever() {
    while true {
      var information = siginfo_t()
      // WNOWAIT: the process stays a zombie and keeps its number until its handler is found.
      guard waitid(P_ALL, 0, &information, WEXITED | WNOWAIT) == 0 else {
        if errno == EINTR { continue }
        childrenMayExist.wait()
        continue
      }
      reap(information._sifields._sigchld.si_pid)
    }
  }

  /// Takes the status of a process that has ended, unless another thread has; its number is its own until then.
  private func reap(_ pid: pid_t) {
    var status: Int32 = 0
    let handler = state.withLock { state in
      // Before its number may become another's.
      if state.leaders.remove(pid) != nil { kill(-pid, SIGKILL) }
      let handler = waitpid(pid, &status, WNOHANG) == pid ? state.handlers.removeValue(forKey: pid) : nil
      if handler != nil { state.handlersAtWork += 1 }
      return handler
    }
    guard let handler else { return }
    let signal = status & 0x7f
    handler(signal == 0 ? .exited((status >> 8) & 0xff) : .signal(signal))
    state.withLock { $0.handlersAtWork -= 1 }
  }

  /// How many processes this one has started so far.
  package var startedCount: Int { state.withLock { $0.startedCount } }

  /// Whether a child has ended and its handler has not finished yet. This process waits for all of its children only
  /// if it adopts orphans.
  package var hasUntoldEnds: Bool {
    state.withLock { state in
      guard state.adoptsOrphans else { return false }
      var information = siginfo_t()
      let result = waitid(P_ALL, 0, &information, WEXITED | WNOWAIT | WNOHANG)
      return state.handlersAtWork > 0 || (result == 0 && information._sifields._sigchld.si_pid != 0)
    }
  }

  private static func spawn(_ start: ProcessStart) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let descriptors = [start.standardInput, start.standardOutput, start.standardError]
    for (number, descriptor) in descriptors.enumerated() {
      if let descriptor {
        posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
      } else {
        posix_spawn_file_actions_addopen(&actions, Int32(number), "/dev/null", O_RDWR, 0)
      }
    }
    // For example a pipe that is just being opened elsewhere in this process, and whose other end is being waited on.
    _ = latchkey_close_from(&actions, 3)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // Children must not inherit ignored or blocked signals.
    var signals = sigset_t()
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    // POSIX_SPAWN_SETSID and others, which are macros of different types in different C libraries.
    let setGroup = 0x02
    let setDefaults = 0x04
    let setMask = 0x08
    let setSession = 0x80
    posix_spawnattr_setflags(&attributes, Int16(setDefaults | setMask | (start.ownsSession ? setSession : setGroup)))

    var arguments = ([start.executable] + start.arguments).map { strdup($0) } + [nil]
    var environment = start.environment.sorted { $0.key < $1.key }.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer {
      for pointer in arguments + environment { free(pointer) }
    }
    var pid: pid_t = 0
    let result = posix_spawn(&pid, start.executable, &actions, &attributes, &arguments, &environment)
    guard result == 0 else { throw ChildProcessError.system("\(start.executable) can't be started", result) }
    return pid
  }
}

/// A pipe whose ends no child inherits by accident.
package func makePipe() throws -> (reading: Int32, writing: Int32) {
  var ends: [Int32] = [-1, -1]
  guard latchkey_pipe(&ends) == 0 else { throw ChildProcessError.system("pipe", errno) }
  return (ends[0], ends[1])
}
