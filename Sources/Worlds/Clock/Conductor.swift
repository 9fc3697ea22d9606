import CSystemd
import Glibc
import Synchronization
import TimeTypes
import Timekeeping

/// Moves the time of a simulated world.
///
/// The world is a set of processes, ours and others', that know nothing of each other's business. Time stands still
/// while any of them has something to do; when all of them wait, it leaps to the next moment at which one of them
/// wanted to be woken, and that one is woken. Processes due at the same moment are woken one after the other, in the
/// order in which they were started, each when the one before has finished. So a run does not depend on how fast the
/// machine is.
///
/// Owns `DIR/now` and `DIR/socket`, which `SharedClock` describes. All calls block; use it from one thread at a time.
/// When it goes away, so does the world.
package final class Conductor {
  /// What one step did.
  package enum AdvanceResult: Sendable, Hashable {
    /// This process's alarm was due; it was woken and may be at work still.
    case woke(pid_t)
    /// Nobody is due before the limit, and that is the time now.
    case reachedLimit
  }

  package let directory: String
  /// What this process itself has yet to do for the world, such as to read what was written for it; `nil` for nothing.
  /// Looked at while everybody rests: the time does not move before all of them say nothing. Any words end up in errors.
  package var ownWork: [() -> String?] = []
  /// Takes a line for a person, again and again while one call lasts.
  package var signOfLife: (String) -> Void = { _ in }
  /// Real time between two signs of life.
  package var signOfLifeInterval = Duration.seconds(5)
  private static let realTimeFactor = 15.0
  /// Most of the time the world rests before that.
  private static let looksBeforeCounting = 8
  /// How often one process may be woken at one moment: more is no story any more, but an alarm that is always past.
  static let wakesAtOneMomentLimit = 1000

  private var world: ConductorWorld
  private var sockets: ConductorSockets
  private let nowInMemory: UnsafeMutableRawPointer
  private var wakesAtThisMoment: [pid_t: Int] = [:]
  private let calls = CallTimer()

  /// - Parameters:
  ///   - directory: an existing folder of our own, where `now` and `socket` are made.
  ///   - unixSecondsAtZero: what the world's calendar says at its beginning.
  ///   - includesEveryDescendant: everything that this process ever starts, directly or not, belongs to the world. Else
  ///     only what `add` names, and the descendants of that.
  /// - Throws: `ConductorError` when the folder can't be used.
  package init(directory: String, unixSecondsAtZero: Int64 = 1_767_225_600, includesEveryDescendant: Bool = true) throws
  {
    self.directory = directory
    world = ConductorWorld(includesEveryDescendant: includesEveryDescendant)
    // A thread of the world that can't be watched would be one that nobody waits for.
    OpenFiles.allowMost()
    // Orphans of the world become our children, so that they stay in sight.
    guard latchkey_become_subreaper() == 0 else { throw ConductorError.system("becoming a subreaper") }
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

  /// Names a process of the world; only needed where not every descendant belongs to it.
  package func add(_ pid: pid_t) { world.add(pid) }

  /// The processes of the world that were alive when it last settled.
  package var processIdentifiers: [pid_t] { world.processIdentifiers }

  /// The earliest alarm of any process that is not stopped, as of the last time the world settled.
  package var nextDeadline: Instant? { nextDue()?.deadline }

  /// Waits until every process of the world waits for something.
  ///
  /// - Parameter limit: how much time on processors one of them may take for that, however long it has to wait for them;
  ///   real time where the kernel doesn't say. After fifteen times as much real time it is over in any case.
  /// - Throws: `ConductorError.neverQuiet`, with who was at work last.
  package func settle(limit: Duration = .seconds(20)) throws {
    let call = calls.begin()
    defer { calls.end(call) }
    let began = calls.clock.now
    var used = ProcessorUse()
    var count = 0
    world.beginRound()
    while true {
      // In this order: what was sent before the last look is heard now, and this look shows that nothing was since.
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

  /// With the machine that the process says it belongs to.
  private func named(_ thread: BusyThread?) -> BusyThread? {
    guard var thread else { return nil }
    thread.machine = WorldProcesses.machine(of: thread.pid)
    return thread
  }

  /// Lets the world's processes run before the next look. The kernel has no event for "everybody sleeps", so this is the
  /// one place where we look again and again; it decides when time moves on and never how far.
  private func giveWay(after count: Int) {
    if count < 4 {
      sched_yield()
    } else {
      var pause = timespec(tv_sec: 0, tv_nsec: min(20_000 << min(count - 4, 6), 1_000_000))
      nanosleep(&pause, nil)
    }
  }

  /// One step: settles, moves the time to the next alarm but never beyond `limit`, and wakes the one it belongs to.
  ///
  /// Alarms of stopped processes wait until they are continued. Nothing is due at a `limit` in the past.
  ///
  /// - Throws: `ConductorError`; `timeStandsStill` where one process is woken again and again at one moment.
  package func advance(limit: Instant) throws -> AdvanceResult {
    try settle()
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
    return .woke(next.pid)
  }

  /// Steps until `limit`, looking after each settled step whether to stop.
  ///
  /// - Returns: whether `stopWhen` said so; `false` when the time is `limit` and nobody is due any more.
  /// - Throws: `ConductorError`, and whatever `stopWhen` throws.
  @discardableResult
  package func run(until limit: Instant, stopWhen: () throws -> Bool = { false }) throws -> Bool {
    let call = calls.begin()
    defer { calls.end(call) }
    while true {
      try settle()
      if try stopWhen() { return true }
      if case .reachedLimit = try advance(limit: limit) { return try stopWhen() }
    }
  }

  private struct Due {
    /// When it rings: never before now.
    var deadline: Instant
    /// What the process has asked for.
    var alarm: Instant
    var pid: pid_t
    var connection: Int32
  }

  private func nextDue() -> Due? {
    var best: (key: (Int64, UInt64, pid_t, Int32), due: Due)?
    for connection in sockets.connections {
      guard connection.deadline != SharedClock.Layout.noDeadline else { continue }
      let process = world.process(connection.pid)
      if process?.isStopped == true { continue }
      // A deadline that has passed is due now, no earlier than another that is due now.
      let deadline = max(connection.deadline, now.nanoseconds)
      let key = (deadline, process?.startTime ?? 0, connection.pid, connection.socket)
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
