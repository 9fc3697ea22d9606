import CSystemd
import Glibc
import Synchronization
import Threads

/// The thread that bus connections live on, and the serial executor of the actors that use them. libsystemd's objects
/// can't safely be shared between threads, so none leaves this one.
///
/// A `Bus` has a thread of its own, unless it is given one to share. Enqueued work runs in order, between two messages
/// of a connection, or between two turns if several connections share the thread.
package final class BusThread: SerialExecutor {
  private enum Work: Sendable {
    case job(UnownedJob)
    case closure(@Sendable () -> Void)
  }

  private struct Inbox: Sendable {
    var work: [Work] = []
    /// The thread is in poll, or about to be, and must be woken.
    var isSleeping = false
    var isStopping = false
  }

  private let inbox = Mutex(Inbox())
  private let wakeDescriptor: Int32
  private let identity = Atomic<UInt>(0)
  /// Used only by the thread, like `due`.
  private nonisolated(unsafe) var connections: [BusConnection] = []
  /// Connections that may have something to do.
  private nonisolated(unsafe) var due: [BusConnection] = []

  /// Work that waits for a pause. Used only by the thread, like `busyTurns`.
  private nonisolated(unsafe) var putOff: [@Sendable () -> Void] = []
  private nonisolated(unsafe) var busyTurns = 0
  /// After this many turns without a pause, the work that was put off is done anyway.
  private static let busyLimit = 32

  package init() throws(BusError) {
    wakeDescriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
    guard wakeDescriptor >= 0 else { throw .system(-errno, "eventfd") }
  }

  deinit { close(wakeDescriptor) }

  /// Called once. What was enqueued before runs first.
  package func start() throws(BusError) {
    do {
      try DetachedThread.start { [self] in run() }
    } catch {
      inbox.withLock { $0.work = [] }
      throw .system(-error.number, "start a thread for the bus")
    }
  }

  /// The thread ends when it has finished its work, and with it all connections that it still has.
  package func stop() {
    wake { $0.isStopping = true }
  }

  /// Takes over the connection after everything enqueued before.
  func take(_ connection: BusConnection) {
    enqueue { [self] in
      connections.append(connection)
      due.append(connection)
    }
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    wake { $0.work.append(.job(job)) }
  }

  /// Runs `closure` on the thread, after everything enqueued before.
  package func enqueue(_ closure: @escaping @Sendable () -> Void) {
    wake { $0.work.append(.closure(closure)) }
  }

  var isCurrent: Bool { identity.load(ordering: .acquiring) == UInt(pthread_self()) }

  package func checkIsolated() { precondition(isCurrent, "not on the bus's thread") }

  package func isIsolatingCurrentContext() -> Bool? { isCurrent }

  private func wake(_ change: (inout Inbox) -> Void) {
    let wasSleeping = inbox.withLock { inbox in
      change(&inbox)
      defer { inbox.isSleeping = false }
      return inbox.isSleeping
    }
    guard wasSleeping else { return }
    var one: UInt64 = 1
    _ = write(wakeDescriptor, &one, 8)
  }

  /// Serves until `stop`, on the calling thread. Called once, in place of `start`.
  package func run() {
    identity.store(UInt(pthread_self()), ordering: .releasing)
    while true {
      let hasWorked = work()
      let hasProcessed = process()
      busyTurns = hasWorked || hasProcessed ? busyTurns + 1 : 0
      let hasCaughtUp = busyTurns == 0 || busyTurns >= Self.busyLimit ? catchUp() : false
      if hasWorked || hasProcessed || hasCaughtUp {
        look()
        continue
      }
      switch prepareToSleep() {
      case .stop:
        for connection in connections { connection.close() }
        connections = []
        return
      case .work: continue
      case .sleep: sleep()
      }
    }
  }

  /// Does what was enqueued so far. Returns whether there was anything.
  private func work() -> Bool {
    let work = inbox.withLock { inbox in
      defer { inbox.work = [] }
      return inbox.work
    }
    let executor = asUnownedSerialExecutor()
    for item in work {
      switch item {
      case .job(let job): job.runSynchronously(on: executor)
      case .closure(let closure): closure()
      }
    }
    return !work.isEmpty
  }

  /// Handles a turn's messages of each connection that may have any. Returns whether there was any.
  private func process() -> Bool {
    var hasProcessed = false
    for connection in due {
      for _ in 0..<connection.messagesPerTurn {
        guard connection.mayHandle(), connection.process() else { break }
        hasProcessed = true
      }
    }
    due = []
    return hasProcessed
  }

  /// Runs `work` on the thread as soon as there is nothing else to do, and at the latest after some messages. Called on the
  /// thread.
  func putOff(_ work: @escaping @Sendable () -> Void) { putOff.append(work) }

  /// Does what was put off. Returns whether there was anything.
  private func catchUp() -> Bool {
    busyTurns = 0
    guard !putOff.isEmpty else { return false }
    let work = putOff
    putOff = []
    for item in work { item() }
    return true
  }

  /// Finds out, without waiting, which connections have something to do. A single connection is processed without a
  /// look.
  private func look() {
    if connections.count == 1 { due = connections } else { poll(mayWait: false) }
  }

  private enum Next { case stop, work, sleep }

  private func prepareToSleep() -> Next {
    inbox.withLock { inbox in
      guard inbox.work.isEmpty else { return .work }
      if inbox.isStopping { return .stop }
      inbox.isSleeping = true
      return .sleep
    }
  }

  private func sleep() {
    poll(mayWait: true)
    inbox.withLock { $0.isSleeping = false }
  }

  /// Waits until a connection has something to do or work is enqueued. Each connection is asked again what it waits
  /// for, because that changes with everything it does: a connection that holds a message already waits for nothing. A
  /// connection that may not handle messages now is left out. It is asked again after any work on this thread.
  private func poll(mayWait: Bool) {
    connections.removeAll { $0.isClosed }
    var descriptors = [pollfd(fd: wakeDescriptor, events: Int16(POLLIN), revents: 0)]
    descriptors.reserveCapacity(connections.count + 1)
    var timeouts: [Int32] = []
    timeouts.reserveCapacity(connections.count)
    for connection in connections {
      // A message that may not be handled yet stays in the connection or on the bus.
      let wait = connection.mayHandle() ? connection.wait : BusConnection.nothing
      descriptors.append(pollfd(fd: wait.descriptor, events: wait.events, revents: 0))
      timeouts.append(wait.timeoutMilliseconds)
    }
    let timeout = mayWait ? timeouts.lazy.filter { $0 >= 0 }.min() ?? -1 : 0
    let count = Glibc.poll(&descriptors, nfds_t(descriptors.count), timeout)
    for (index, connection) in connections.enumerated() {
      let isTime = timeouts[index] == 0 || (count == 0 && timeouts[index] == timeout)
      if isTime || descriptors[index + 1].revents != 0 { due.append(connection) }
    }
    if descriptors[0].revents != 0 {
      var count: UInt64 = 0
      _ = read(wakeDescriptor, &count, 8)
    }
  }
}
