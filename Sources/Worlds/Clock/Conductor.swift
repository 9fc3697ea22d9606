import CSystemd
import ChildProcesses
import Glibc
import Synchronization
import TimeTypes
import Timekeeping

/// Moves the time of a simulated world.
///
/// The world is a set of processes, ours and others, that know nothing of each other's work. Time stands still while
/// any of them has something to do. When all of them wait, it leaps to the next moment at which one of them wanted to
/// be woken, and that one is woken. Processes due at the same moment are woken one after the other, each when the one before has
/// finished: first those of no machine, then machine by machine, in the order in which they were started there. (Which of two
/// machines' processes was started first may be chance.) So a run does not depend on how fast the machine is.
///
/// It owns `DIR/now` and `DIR/socket`, which `SharedClock` describes. All calls block. Use it from one thread at a
/// time. When it is gone, the world is over.
package final class Conductor {
  /// The result of a step.
  package enum AdvanceResult: Sendable, Hashable {
    /// This process's alarm was due. It was woken and may still be at work.
    case woke(pid_t)
    /// No alarm is due before the limit, which is now the time.
    case reachedLimit
  }

  package let directory: String
  /// Work that this process itself still has to do for the world, such as reading what was written for it; `nil` for
  /// none. It is asked while all processes are idle: time does not move until every answer is `nil`. The words appear
  /// in errors.
  package var ownWork: [() -> String?] = []
  /// Receives a line for a person, repeatedly during a long call.
  package var signOfLife: (String) -> Void = { _ in }
  /// Real time between two signs of life.
  package var signOfLifeInterval = Duration.seconds(5)
  private static let realTimeFactor = 15.0
  /// The calendar time at which simulated worlds begin: Thursday 2026-01-01, 00:00 UTC.
  package static let unixSecondsAtZero: Int64 = 1_767_225_600
  /// Usually the world is idle before this many checks.
  private static let looksBeforeCounting = 8
  /// How many times one process may be woken at the same moment. More means that its alarm is always in the past.
  static let wakesAtOneMomentLimit = 1000

  private var world: ConductorWorld
  private var sockets: ConductorSockets
  private let nowInMemory: UnsafeMutableRawPointer
  private var wakesAtThisMoment: [pid_t: Int] = [:]
  private let calls = CallTimer()

  /// - Parameters:
  ///   - directory: an existing folder of our own, in which `now` and `socket` are created.
  ///   - unixSecondsAtZero: the world's calendar time at its beginning.
  ///   - includesEveryDescendant: whether everything that this process ever starts, directly or not, belongs to the
  ///     world. Otherwise only processes that `add` names belong to it, and their descendants. A descendant whose
  ///     parent has ended belongs to it only while this process adopts orphans.
  ///
  /// - Throws: `ConductorError` if the folder can't be used.
  package init(
    directory: String, unixSecondsAtZero: Int64 = Conductor.unixSecondsAtZero, includesEveryDescendant: Bool = true
  ) throws {
    self.directory = directory
    world = ConductorWorld(includesEveryDescendant: includesEveryDescendant)
    // The limit on open files is raised first, because a thread that can't be watched would not be waited for.
    OpenFiles.allowMost()
    // Orphans of the world become our children, so that they stay visible. A caller that also has children outside the
    // world must decide this itself, because it would adopt their orphans, too.
    if includesEveryDescendant {
      guard latchkey_become_subreaper() == 0 else { throw ConductorError.system("becoming a subreaper") }
    }
    nowInMemory = try Self.makeNow(directory, unixSecondsAtZero)
    sockets = try ConductorSockets(directory: directory)
  }

  deinit { munmap(nowInMemory, SharedClock.Layout.fileLength) }

  /// The world's time.
  package private(set) var now: Instant {
    get { Instant(nanoseconds: Int64(littleEndian: atomicNow.pointee.load(ordering: .acquiring))) }
    set { atomicNow.pointee.store(newValue.nanoseconds.littleEndian, ordering: .releasing) }
  }

  private var atomicNow: UnsafeMutablePointer<Atomic<Int64>> {
    nowInMemory.assumingMemoryBound(to: Atomic<Int64>.self)
  }

  /// Adds a process to the world. Needed only if not every descendant belongs to it.
  package func add(_ pid: pid_t) { world.add(pid) }

  /// The processes of the world that were alive when it last settled.
  package var processIdentifiers: [pid_t] { world.processIdentifiers }

  /// The earliest alarm of any process that is not stopped, as of the last time the world settled.
  package var nextDeadline: Instant? { nextDue()?.deadline }

  /// Waits until every process of the world is waiting for something.
  ///
  /// - Parameter limit: the processor time that one process may use for that, however long it has to wait for a
  ///   processor; real time if the kernel does not report it. After fifteen times as much real time, the wait ends in
  ///   any case.
  /// - Throws: `ConductorError.neverQuiet`, naming the last busy thread.
  package func settle(limit: Duration = .seconds(20)) throws {
    let call = calls.begin()
    defer { calls.end(call) }
    let began = calls.clock.now
    var used = ProcessorUse()
    var count = 0
    world.beginRound()
    while true {
      // The order matters: what was sent before the last check is received now, and this check shows that nothing was
      // sent since.
      let heard = try sockets.drain()
      let own = firstOwnWork()
      let look = try world.look()
      if case .quiet = look, heard == 0, own == nil { return }
      if count >= Self.looksBeforeCounting {
        let culprit = if case .busy(let thread) = look { thread } else { BusyThread?.none }
        let waited = calls.clock.now - began
        let most = used.most(world)
        guard (most ?? waited) < limit, waited < limit * Self.realTimeFactor else {
          throw ConductorError.neverQuiet(after: waited, named(culprit), ownWork: own)
        }
        calls.tell(signOfLife, every: signOfLifeInterval) {
          "\(now.description) in the world, which does not rest yet: "
            + (named(culprit)?.description ?? own ?? "its processes come and go")
        }
      }
      giveWay(after: count)
      count += 1
    }
  }

  private func firstOwnWork() -> String? {
    for work in ownWork { if let words = work() { return words } }
    return nil
  }

  /// Adds the machine that the process says it belongs to.
  private func named(_ thread: BusyThread?) -> BusyThread? {
    guard var thread else { return nil }
    thread.machine = WorldProcesses.machine(of: thread.pid)
    return thread
  }

  /// Lets the world's processes run before the next check. The kernel has no event for "everything sleeps", so this
  /// is the one place that polls. It decides when time moves on, and never how far.
  private func giveWay(after count: Int) {
    if count < 4 {
      sched_yield()
    } else {
      // Each pause is only a little longer than the one before, because the time by which the last pause is too long is
      // lost at every step.
      var pause = timespec(tv_sec: 0, tv_nsec: min(20_000 + 5_000 * (count - 4), 1_000_000))
      nanosleep(&pause, nil)
    }
  }

  /// One step: settles, moves the time to the next alarm but never beyond `limit`, and wakes the alarm's process.
  ///
  /// Alarms of stopped processes wait until the processes are continued. Nothing is due at a `limit` in the past.
  ///
  /// - Throws: `ConductorError`; `timeStandsStill` if one process is woken again and again at the same moment.
  package func advance(limit: Instant) throws -> AdvanceResult {
    try settle()
    return try wakeNext(limit)
  }

  /// Wakes the process of the next alarm, or moves the time to `limit`. The world has settled before.
  private func wakeNext(_ limit: Instant) throws -> AdvanceResult {
    guard let next = nextDue(), next.deadline <= limit else {
      now = max(now, limit)
      return .reachedLimit
    }
    if next.deadline > now { wakesAtThisMoment = [:] }
    let wakes = wakesAtThisMoment[next.pid, default: 0] + 1
    guard wakes <= Self.wakesAtOneMomentLimit else {
      throw ConductorError.timeStandsStill(
        at: now, pid: next.pid, processName: world.process(next.pid)?.name ?? "?",
        machine: WorldProcesses.machine(of: next.pid), alarm: next.alarm)
    }
    wakesAtThisMoment[next.pid] = wakes
    now = max(now, next.deadline)
    calls.tell(signOfLife, every: signOfLifeInterval) {
      "\(now.description) in the world; \(world.process(next.pid)?.name ?? "a process") (process \(next.pid)) is woken"
    }
    sockets.wake(next.connection, at: now)
    world.expectWork(of: next.pid)
    return .woke(next.pid)
  }

  /// Steps until `limit`, and checks after each settled step whether to stop.
  ///
  /// `stopWhen` reads what happened, and may start processes by the table of `ChildProcesses`. Whatever else it does to the
  /// world, it lets the world settle.
  ///
  /// - Returns: whether `stopWhen` returned true; `false` when the time is `limit` and no alarm is due any more.
  /// - Throws: `ConductorError`, and whatever `stopWhen` throws.
  @discardableResult
  package func run(until limit: Instant, stopWhen: () throws -> Bool = { false }) throws -> Bool {
    let call = calls.begin()
    defer { calls.end(call) }
    while true {
      try settle()
      let startedCount = ProcessTable.shared.startedCount
      if try stopWhen() { return true }
      if ProcessTable.shared.startedCount != startedCount { try settle() }
      if case .reachedLimit = try wakeNext(limit) { return try stopWhen() }
    }
  }

  /// Lets everything happen that is due at the present moment, such as the simulator's turns.
  ///
  /// - Throws: `ConductorError`.
  package func finishMoment() throws { try run(until: now) }

  private struct Due {
    /// When it rings: never before now.
    var deadline: Instant
    /// The time that the process asked for.
    var alarm: Instant
    var pid: pid_t
    var connection: Int32
  }

  private func nextDue() -> Due? {
    var best: (key: (Int64, String, UInt64, pid_t, UInt64), due: Due)?
    for connection in sockets.connections {
      guard connection.deadline != SharedClock.Layout.noDeadline else { continue }
      let process = world.process(connection.pid)
      if process?.isStopped == true { continue }
      // A deadline that has passed is due now, and not before another that is due now.
      let deadline = max(connection.deadline, now.nanoseconds)
      // A process may have several connections: a story's app has one of its own, and one of the library that gives it the
      // story's time. The numbers of descriptors change from run to run.
      let key = (deadline, connection.machine, process?.startTime ?? 0, connection.pid, connection.number)
      if let best, best.key < key { continue }
      best = (
        key,
        Due(
          deadline: Instant(nanoseconds: deadline), alarm: Instant(nanoseconds: connection.deadline),
          pid: connection.pid, connection: connection.socket)
      )
    }
    return best?.due
  }

  private static func makeNow(_ directory: String, _ unixSecondsAtZero: Int64) throws -> UnsafeMutableRawPointer {
    let path = directory + "/now"
    let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw ConductorError.system(path) }
    defer { close(file) }
    let length = SharedClock.Layout.fileLength
    guard ftruncate(file, off_t(length)) == 0,
      let memory = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), memory != MAP_FAILED
    else { throw ConductorError.system(path) }
    memory.storeBytes(of: (unixSecondsAtZero * 1_000_000_000).littleEndian, toByteOffset: 8, as: Int64.self)
    return memory
  }
}
