import CSystemd
import Glibc
import Synchronization
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
public final class Conductor {
  /// What one step did.
  public enum AdvanceResult: Sendable, Hashable {
    /// This process's alarm was due; it was woken and may be at work still.
    case woke(pid_t)
    /// Nobody is due before the limit, and that is the time now.
    case reachedLimit
  }

  public let directory: String
  private var world: ConductorWorld
  private var sockets: ConductorSockets
  private let nowInMemory: UnsafeMutableRawPointer

  /// - Parameters:
  ///   - directory: an existing folder of our own, where `now` and `socket` are made.
  ///   - unixSecondsAtZero: what the world's calendar says at its beginning.
  ///   - includesEveryDescendant: everything that this process ever starts, directly or not, belongs to the world. Else
  ///     only what `add` names, and the descendants of that.
  /// - Throws: `ConductorError` when the folder can't be used.
  public init(directory: String, unixSecondsAtZero: Int64 = 1_767_225_600, includesEveryDescendant: Bool = true) throws
  {
    self.directory = directory
    world = ConductorWorld(includesEveryDescendant: includesEveryDescendant)
    // Orphans of the world become our children, so that they stay in sight.
    guard latchkey_become_subreaper() == 0 else { throw ConductorError.system("becoming a subreaper") }
    nowInMemory = try Self.makeNow(directory, unixSecondsAtZero)
    sockets = try ConductorSockets(directory: directory)
  }

  deinit { munmap(nowInMemory, SharedClock.Layout.fileLength) }

  /// The world's time.
  public private(set) var now: Instant {
    get { Instant(nanoseconds: Int64(littleEndian: atomicNow.pointee.load(ordering: .acquiring))) }
    set { atomicNow.pointee.store(newValue.nanoseconds.littleEndian, ordering: .releasing) }
  }

  private var atomicNow: UnsafeMutablePointer<Atomic<Int64>> {
    nowInMemory.assumingMemoryBound(to: Atomic<Int64>.self)
  }

  /// Names a process of the world; only needed where not every descendant belongs to it.
  public func add(_ pid: pid_t) { world.add(pid) }

  /// The processes of the world that were alive when it last settled.
  public var processIdentifiers: [pid_t] { world.processIdentifiers }

  /// The earliest alarm of any process that is not stopped, as of the last time the world settled.
  public var nextDeadline: Instant? { nextDue()?.deadline }

  /// Waits until every process of the world waits for something.
  ///
  /// - Throws: `ConductorError.neverQuiet` after `wallLimit` of real time.
  public func settle(wallLimit: Duration = .seconds(20)) throws {
    let clock = ContinuousClock()
    let giveUp = clock.now + wallLimit
    var count = 0
    world.beginRound()
    while true {
      // In this order: what was sent before the last look is heard now, and this look shows that nothing was since.
      let heard = try sockets.drain()
      let look = world.look()
      if case .quiet = look, heard == 0 { return }
      guard clock.now < giveUp else {
        let culprit = if case .busy(let thread) = look { thread } else { BusyThread?.none }
        throw ConductorError.neverQuiet(after: wallLimit, culprit)
      }
      giveWay(after: count)
      count += 1
    }
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
  /// - Throws: `ConductorError`.
  public func advance(limit: Instant, wallLimit: Duration = .seconds(20)) throws -> AdvanceResult {
    try settle(wallLimit: wallLimit)
    guard let next = nextDue(), next.deadline <= limit else {
      now = max(now, limit)
      return .reachedLimit
    }
    now = max(now, next.deadline)
    sockets.wake(next.connection, at: now)
    return .woke(next.pid)
  }

  /// Steps until `limit`, looking after each settled step whether to stop.
  ///
  /// - Returns: whether `stopWhen` said so; `false` when the time is `limit` and nobody is due any more.
  /// - Throws: `ConductorError`, and whatever `stopWhen` throws.
  @discardableResult
  public func run(
    until limit: Instant, wallLimit: Duration = .seconds(20), stopWhen: () throws -> Bool = { false }
  ) throws -> Bool {
    while true {
      try settle(wallLimit: wallLimit)
      if try stopWhen() { return true }
      if case .reachedLimit = try advance(limit: limit, wallLimit: wallLimit) { return try stopWhen() }
    }
  }

  private func nextDue() -> (deadline: Instant, pid: pid_t, connection: Int32)? {
    var best: (key: (Int64, UInt64, pid_t, Int32), deadline: Instant, pid: pid_t, connection: Int32)?
    for connection in sockets.connections {
      guard connection.deadline != SharedClock.Layout.noDeadline else { continue }
      let process = world.process(connection.pid)
      if process?.isStopped == true { continue }
      // A deadline that has passed is due now, no earlier than another that is due now.
      let deadline = max(connection.deadline, now.nanoseconds)
      let key = (deadline, process?.startTime ?? 0, connection.pid, connection.socket)
      if let best, best.key < key { continue }
      best = (key, Instant(nanoseconds: deadline), connection.pid, connection.socket)
    }
    return best.map { ($0.deadline, $0.pid, $0.connection) }
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

/// What went wrong with the world.
public enum ConductorError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The world did not come to rest: who was at work last.
  case neverQuiet(after: Duration, BusyThread?)
  /// Something the kernel refused.
  case system(String, reason: String)

  static func system(_ what: String) -> ConductorError {
    .system(what, reason: String(cString: strerror(errno)))
  }

  public var description: String {
    switch self {
    case .neverQuiet(let limit, let thread):
      "the world did not come to rest within \(limit): \(thread.map(\.description) ?? "its processes come and go")"
    case .system(let what, let reason): "\(what): \(reason)"
    }
  }
}
