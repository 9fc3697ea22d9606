import CSystemd
import Glibc

/// All processes of a simulated world, and whether any of them has something to do.
///
/// Each check compares every thread's state and run count with the last time that they were read, in an earlier check. If nothing
/// differs and all are blocked, then all of them were blocked when this check began: nothing was left that
/// could wake them, except the conductor itself. What a process does to others as it ends comes before the check that
/// counts. A check ends at the first process that is busy: while one works, the others need not be read again and again.
///
/// So all of them must be known: a thread that nobody has seen may wake one that was checked already, and be gone before
/// the lists are read. Therefore a check in which a list had to be read does not count. The next one finds what such a thread
/// set off.
struct ConductorWorld {
  private var processes: [pid_t: WatchedProcess] = [:]
  private let includesEveryDescendant: Bool
  private var buffer = ProcBuffer()
  /// A process ended, or a new round began: there may be new children of our own.
  private var ownChildrenMayBeNew = true
  /// Children that ended before they were checked. They stay listed until they are waited for.
  private var corpses: Set<Corpse> = []
  private static let corpseLimit = 4096
  /// The process that was found busy last. It is checked first, because nothing else need be checked while it still is.
  private var busiest: pid_t?

  private struct Corpse: Hashable {
    let pid: pid_t
    let startTime: UInt64
  }

  init(includesEveryDescendant: Bool) { self.includesEveryDescendant = includesEveryDescendant }

  mutating func add(_ pid: pid_t) {
    guard pid != getpid(), processes[pid] == nil else { return }
    processes[pid] = watch(pid)
  }

  private func watch(_ pid: pid_t) -> WatchedProcess? {
    WatchedProcess(pid: pid, seesBlocking: BlockedThreads.areShown)
  }

  /// What this process has started itself is noticed by the next check.
  mutating func beginRound() { ownChildrenMayBeNew = true }

  func process(_ pid: pid_t) -> WatchedProcess? { processes[pid] }

  var processIdentifiers: [pid_t] { processes.keys.sorted() }

  /// How long each of them was on processors, as of the last check; 0 if the kernel does not report it.
  var processorNanoseconds: [pid_t: UInt64] { processes.mapValues(\.processorNanoseconds) }

  enum Look {
    case quiet
    /// A process may have something to do. Names the thread if it is known.
    case busy(BusyThread?)
  }

  /// - Throws: `ConductorError` if there is a process that this one can't watch.
  mutating func look() throws -> Look {
    let look = lookAtAll()
    if let reason = buffer.failure {
      throw ConductorError.system(
        "the world's processes can't be watched", reason: String(cString: strerror(reason)))
    }
    return look
  }

  private mutating func lookAtAll() -> Look {
    var result = Look.quiet
    var ran: [WatchedProcess] = []
    var hasAnyEnded = false
    checks: for process in inOrder {
      let observation = process.observe(&buffer)
      if process.isDirty { ran.append(process) }
      switch observation {
      case .quiet: break
      case .busy(let thread):
        result = .busy(thread)
        busiest = process.pid
        // This check does not count. Those that it leaves out are compared with an earlier one by the next.
        break checks
      case .gone:
        processes[process.pid] = nil
        ownChildrenMayBeNew = true
        hasAnyEnded = true
        // Its orphans were handed over to us at that moment.
        if case .quiet = result { result = .busy(nil) }
      }
    }
    if hasAnyEnded { awaitEnds() }
    guard case .quiet = result else { return result }
    // Only a process that ran can create a child, so this must be asked once after it ran. A list of children that is
    // read while one of them ends may lack another, so it is asked when all processes sleep.
    for process in ran {
      process.isDirty = false
      _ = add(process.children(&buffer))
      result = .busy(nil)
    }
    if includesEveryDescendant, ownChildrenMayBeNew {
      ownChildrenMayBeNew = false
      if add(ownChildren(&buffer)) { result = .busy(nil) }
    }
    return result
  }

  private var inOrder: [WatchedProcess] {
    guard let busiest, let first = processes[busiest] else { return Array(processes.values) }
    return [first] + processes.values.filter { $0 !== first }
  }

  /// Returns when everything that had to be told of an observed end has been woken. A process shows that it has ended
  /// a moment before it wakes those that wait for it. If its processor is taken away in between, that moment is long.
  private mutating func awaitEnds() {
    // The kernel does both under the lock that this call takes.
    _ = ownChildren(&buffer)
  }

  /// Returns whether any of them is new. An ended process that has not been waited for is listed again and again.
  private mutating func add(_ pids: [pid_t]) -> Bool {
    var isAnyNew = false
    for pid in pids where processes[pid] == nil {
      guard let process = watch(pid) else { continue }
      if case .gone = process.observe(&buffer) {
        if corpses.count >= Self.corpseLimit { corpses = [] }
        guard corpses.insert(Corpse(pid: pid, startTime: process.startTime)).inserted else { continue }
        awaitEnds()
      } else {
        processes[pid] = process
      }
      isAnyNew = true
    }
    return isAnyNew
  }
}
