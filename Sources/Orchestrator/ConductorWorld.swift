import CSystemd
import Glibc

/// All processes of a simulated world, and whether any of them has something to do.
///
/// A look at the world compares every thread's state and run count with the look before. When nothing differs and all
/// sleep, then there was a moment, between the two looks, at which all of them slept: nobody was left to wake anybody,
/// except the conductor itself.
struct ConductorWorld {
  private var processes: [pid_t: WatchedProcess] = [:]
  private let includesEveryDescendant: Bool
  private var buffer = ProcBuffer()
  /// Somebody ended, or a new round began: there may be new children of our own.
  private var ownChildrenMayBeNew = true

  init(includesEveryDescendant: Bool) { self.includesEveryDescendant = includesEveryDescendant }

  mutating func add(_ pid: pid_t) {
    guard pid != getpid(), processes[pid] == nil else { return }
    processes[pid] = WatchedProcess(pid: pid)
  }

  /// What this process started itself is noticed by the next look.
  mutating func beginRound() { ownChildrenMayBeNew = true }

  func process(_ pid: pid_t) -> WatchedProcess? { processes[pid] }

  var processIdentifiers: [pid_t] { processes.keys.sorted() }

  enum Look {
    case quiet
    /// Somebody may have something to do; who, where it is known.
    case busy(BusyThread?)
  }

  mutating func look() -> Look {
    var result = Look.quiet
    var ran: [WatchedProcess] = []
    for (pid, process) in processes {
      let observation = process.observe(&buffer)
      if process.isDirty { ran.append(process) }
      switch observation {
      case .quiet: break
      case .busy(let thread): result = .busy(thread)
      case .gone:
        processes[pid] = nil
        ownChildrenMayBeNew = true
        // What it left behind was handed over to us at that moment.
        if case .quiet = result { result = .busy(nil) }
      }
    }
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

  /// Whether any of them is new and alive. An ended one that nobody has waited for comes up again and again.
  private mutating func add(_ pids: [pid_t]) -> Bool {
    var isAnyNew = false
    for pid in pids where processes[pid] == nil {
      guard let process = WatchedProcess(pid: pid) else { continue }
      if case .gone = process.observe(&buffer) { continue }
      processes[pid] = process
      isAnyNew = true
    }
    return isAnyNew
  }
}
