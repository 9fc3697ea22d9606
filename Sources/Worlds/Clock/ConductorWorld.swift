import CSystemd
import Glibc

/// All processes of a simulated world, and whether any of them has something to do.
///
/// A look at the world compares every thread's state and run count with the look before. When nothing differs and all
/// are blocked, then there was a moment, between the two looks, at which all of them were: nobody was left to wake
/// anybody, except the conductor itself. What a process does to others as it ends comes before the look that counts.
struct ConductorWorld {
  private var processes: [pid_t: WatchedProcess] = [:]
  private let includesEveryDescendant: Bool
  private var buffer = ProcBuffer()
  /// Somebody ended, or a new round began: there may be new children of our own.
  private var ownChildrenMayBeNew = true
  /// Children that ended before they were looked at. They stay on the lists until they are waited for.
  private var corpses: Set<Corpse> = []
  private static let corpseLimit = 4096

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

  /// What this process started itself is noticed by the next look.
  mutating func beginRound() { ownChildrenMayBeNew = true }

  func process(_ pid: pid_t) -> WatchedProcess? { processes[pid] }

  var processIdentifiers: [pid_t] { processes.keys.sorted() }

  /// How long each of them was on processors, as of the last look; 0 where the kernel doesn't say.
  var processorNanoseconds: [pid_t: UInt64] { processes.mapValues(\.processorNanoseconds) }

  enum Look {
    case quiet
    /// Somebody may have something to do; who, where it is known.
    case busy(BusyThread?)
  }

  /// - Throws: `ConductorError` where there is somebody whom this process can't watch.
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
    for (pid, process) in processes {
      let observation = process.observe(&buffer)
      if process.isDirty { ran.append(process) }
      switch observation {
      case .quiet: break
      case .busy(let thread): result = .busy(thread)
      case .gone:
        processes[pid] = nil
        ownChildrenMayBeNew = true
        hasAnyEnded = true
        // What it left behind was handed over to us at that moment.
        if case .quiet = result { result = .busy(nil) }
      }
    }
    if hasAnyEnded { awaitEnds() }
    guard case .quiet = result else { return result }
    // A child can only be made by a process that ran, so that this has to be asked once after it did; and a list of
    // children that is read while one of them ends can lack another, so it is asked when everybody sleeps.
    for process in ran {
      process.isDirty = false
      if add(process.children(&buffer)) { result = .busy(nil) }
    }
    if includesEveryDescendant, ownChildrenMayBeNew {
      ownChildrenMayBeNew = false
      if let own = WatchedProcess(pid: getpid()), add(own.children(&buffer)) { result = .busy(nil) }
    }
    return result
  }

  /// Returns when everybody who was to hear of an end that has been seen is awake. A process shows that it has ended a
  /// moment before it wakes who waits for that; where its processor is taken away in between, that moment is long.
  private mutating func awaitEnds() {
    // It does both under the lock that this asks for.
    _ = WatchedProcess(pid: getpid())?.children(&buffer)
  }

  /// Whether any of them is new. An ended one that nobody has waited for comes up again and again.
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
