import CSystemd
import Glibc

/// All processes of a simulated world, and whether any of them has something to do.
///
/// Each check compares every thread's state and run count with the last time that they were read. If nothing
/// differs and all are blocked, then all of them were blocked when this check began: nothing was left that
/// could wake them, except the conductor itself. What a process does to others as it ends comes before the check that
/// counts. A check ends at the first process that is busy: while one works, the others need not be read again and again.
///
/// So all of them must be known: a thread that nobody has seen may wake one that was checked already, and be gone before
/// the lists are read. Therefore the lists are read before the check that counts, which finds what such a thread set off.
///
/// Few of many processes work at one moment. Those that do are checked first, until they rest and their lists are read. Only
/// then are all checked.
struct ConductorWorld {
  /// All of them, with those first that worked last.
  private var processes: [WatchedProcess] = []
  private var byIdentifier: [pid_t: WatchedProcess] = [:]
  /// How many of them, from the first, may have worked since the world was last at rest.
  private var restlessCount = 0
  private let includesEveryDescendant: Bool
  private var buffer = ProcBuffer()
  /// A process ended, or a new round began: there may be new children of our own.
  private var ownChildrenMayBeNew = true
  /// Children that ended before they were checked. They stay listed until they are waited for.
  private var corpses: Set<Corpse> = []
  private static let corpseLimit = 4096

  private struct Corpse: Hashable {
    let pid: pid_t
    let startTime: UInt64
  }

  init(includesEveryDescendant: Bool) { self.includesEveryDescendant = includesEveryDescendant }

  mutating func add(_ pid: pid_t) {
    guard pid != getpid(), process(pid) == nil, let process = watch(pid) else { return }
    insert(process)
  }

  private mutating func insert(_ process: WatchedProcess) {
    processes.insert(process, at: 0)
    restlessCount += 1
    byIdentifier[process.pid] = process
  }

  private func watch(_ pid: pid_t) -> WatchedProcess? {
    WatchedProcess(pid: pid, seesBlocking: BlockedThreads.areShown)
  }

  /// What this process has started itself is noticed by the next check.
  mutating func beginRound() { ownChildrenMayBeNew = true }

  /// The process has been given something to do, so it is checked first.
  mutating func expectWork(of pid: pid_t) {
    if let index = processes.firstIndex(where: { $0.pid == pid }) { moveToFront(index) }
  }

  func process(_ pid: pid_t) -> WatchedProcess? { byIdentifier[pid] }

  var processIdentifiers: [pid_t] { byIdentifier.keys.sorted() }

  /// How long each of them was on processors, as of the last check; 0 if the kernel does not report it.
  var processorNanoseconds: [pid_t: UInt64] { byIdentifier.mapValues(\.processorNanoseconds) }

  enum Look {
    case quiet
    /// A process may have something to do. Names the thread if it is known.
    case busy(BusyThread?)
  }

  /// - Throws: `ConductorError` if there is a process that this one can't watch.
  mutating func look() throws -> Look {
    let look = lookAtRestless() ?? lookAtAll()
    if let reason = buffer.failure {
      throw ConductorError.system(
        "the world's processes can't be watched", reason: String(cString: strerror(reason)))
    }
    return look
  }

  /// Checks those that may have worked, and then reads who else there is: only a process that ran can have created a
  /// child. `nil` if they rest, and nobody is new.
  private mutating func lookAtRestless() -> Look? {
    for process in processes[..<restlessCount] {
      if let work = look(at: process) { return work }
    }
    var isAnyNew = false
    // A list of children that is read while one of them ends may lack another, so it is asked when they sleep.
    for process in processes[..<restlessCount] where process.isDirty {
      process.isDirty = false
      if add(process.children(&buffer)) { isAnyNew = true }
    }
    if includesEveryDescendant, ownChildrenMayBeNew {
      ownChildrenMayBeNew = false
      if add(ownChildren(&buffer)) { isAnyNew = true }
    }
    return isAnyNew ? .busy(nil) : nil
  }

  private mutating func lookAtAll() -> Look {
    for process in processes {
      if let work = look(at: process) { return work }
    }
    restlessCount = 0
    return .quiet
  }

  /// `nil` if the process rests. If not, this check does not count: those that it leaves out are compared with an earlier one
  /// by the next.
  private mutating func look(at process: WatchedProcess) -> Look? {
    let wasDirty = process.isDirty
    let observation = process.observe(&buffer)
    guard let index = processes.firstIndex(where: { $0 === process }) else { return .busy(nil) }
    switch observation {
    case .quiet:
      // One of its threads has ended.
      guard process.isDirty, !wasDirty else { return nil }
      moveToFront(index)
      return .busy(nil)
    case .busy(let thread):
      moveToFront(index)
      return .busy(thread)
    case .gone:
      processes.remove(at: index)
      byIdentifier[process.pid] = nil
      if index < restlessCount { restlessCount -= 1 }
      // Its orphans were handed over to us at that moment.
      ownChildrenMayBeNew = true
      awaitEnd()
      return .busy(nil)
    }
  }

  private mutating func moveToFront(_ index: Int) {
    if index >= restlessCount { restlessCount += 1 }
    if index > 0 { processes.insert(processes.remove(at: index), at: 0) }
  }

  /// Returns when everything that had to be told of an observed end has been woken. A process shows that it has ended
  /// a moment before it wakes those that wait for it. If its processor is taken away in between, that moment is long.
  private mutating func awaitEnd() {
    // The kernel does both under the lock that this call takes.
    _ = ownChildren(&buffer)
    // Lists that were read as it ended may lack another child.
    for process in processes[..<restlessCount] { process.isDirty = true }
  }

  /// Returns whether any of them is new. An ended process that has not been waited for is listed again and again.
  private mutating func add(_ pids: [pid_t]) -> Bool {
    var isAnyNew = false
    for pid in pids where process(pid) == nil {
      guard let process = watch(pid) else { continue }
      if case .gone = process.observe(&buffer) {
        if corpses.count >= Self.corpseLimit { corpses = [] }
        guard corpses.insert(Corpse(pid: pid, startTime: process.startTime)).inserted else { continue }
        awaitEnd()
      } else {
        insert(process)
      }
      isAnyNew = true
    }
    return isAnyNew
  }
}
