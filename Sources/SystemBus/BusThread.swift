import CSystemd
import Glibc
import Synchronization
import Threads

/// The thread that bus connections live on, and the serial executor of the actors that use them. libsystemd's objects
/// can't safely be shared between threads, so none leaves this one.
///
/// A `Bus` has one of its own, unless it is given one that it shares with others. What is enqueued runs in order, between
/// two messages of a connection, or between two turns of several of them.
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

  /// What waits for a pause. Used only by the thread, like `busyTurns`.
  private nonisolated(unsafe) var putOff: [@Sendable () -> Void] = []
  private nonisolated(unsafe) var busyTurns = 0
  /// After so many turns without a pause, what was put off is done.
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

  /// Finds out which connections have something to do, and doesn't wait. A single one finds out when it is processed.
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

  /// Waits until a connection has something to do or something is enqueued. Each connection is asked anew what it waits
  /// for: that changes with all that it does, and one that holds a message already waits for nothing. One that may not handle
  /// what comes is left out. It is asked again after whatever this thread does.
  private func poll(mayWait: Bool) {
    connections.removeAll { $0.isClosed }
    var descriptors = [pollfd(fd: wakeDescriptor, events: Int16(POLLIN), revents: 0)]
    descriptors.reserveCapacity(connections.count + 1)
    var timeouts: [Int32] = []
    timeouts.reserveCapacity(connections.count)
    for connection in connections {
      // It holds what has come, or the bus does, until it may handle that.
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
