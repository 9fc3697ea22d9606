import CSystemd
import Glibc

/// All processes of a simulated world, and whether any of them has something to do.
///
/// Each check compares every thread's state and run count with the values that were read last. If nothing differs and
/// all threads are blocked, then all of them were blocked when this check began. Nothing but the conductor could then
/// wake them. A process that ends may still wake others, but that happens before the check that counts. A check stops
/// at the first busy process, because the others need not be read while that one works.
///
/// The check works only if all processes and threads are known. An unknown thread could wake one that was already
/// checked, and be gone before the lists are read. So the lists are read before the check that counts, and that check
/// finds what such a thread has set off.
///
/// Few of the processes work at one moment. Those that do are checked first, until they rest and their lists have been
/// read. Only then are all processes checked.
struct ConductorWorld {
  /// All of them, with those first that worked last.
  private var processes: [WatchedProcess] = []
  private var byIdentifier: [pid_t: WatchedProcess] = [:]
  /// How many of them, from the first, may have worked since the world was last at rest.
  private var restlessCount = 0
  private let includesEveryDescendant: Bool
  private var buffer = ProcBuffer()
  /// Whether this process may have new children: one of the world's processes has ended, or a new round has begun.
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

  /// A round begins. The next check looks for processes that this process itself has started.
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

  /// Checks the processes that may have worked, and then reads which children they have, because only a process that
  /// ran can have created a child. `nil` if all of them rest and there is no new one.
  private mutating func lookAtRestless() -> Look? {
    for process in processes[..<restlessCount] {
      if let work = look(at: process) { return work }
    }
    var isAnyNew = false
    // If a process ends while a list of children is read, another child may be missing in the list. So the lists are
    // read when all of these processes sleep.
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

  /// `nil` if the process rests. Otherwise the check ends here and does not count. The next check compares the other
  /// processes with what was read before.
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

  /// Returns when everyone who waits for an observed end has been woken. A process shows that it has ended a moment
  /// before it wakes them. That moment is long if the process loses its processor in between.
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
