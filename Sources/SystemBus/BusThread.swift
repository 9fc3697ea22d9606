import CSystemd
import Glibc
import Synchronization
import Threads

/// The thread that a bus connection lives on, and the serial executor of the actors that use it. libsystemd's objects
/// can't safely be shared between threads, so none leaves this one.
final class BusThread: SerialExecutor {
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
  /// Used only by the thread, after `start`.
  private nonisolated(unsafe) var connection: BusConnection?

  init() throws(BusError) {
    wakeDescriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
    guard wakeDescriptor >= 0 else { throw .system(-errno, "eventfd") }
  }

  deinit { close(wakeDescriptor) }

  /// Takes over the connection and starts.
  func start(_ connection: BusConnection) throws(BusError) {
    self.connection = connection
    do {
      try DetachedThread.start { [self] in run() }
    } catch {
      self.connection = nil
      throw .system(-error.number, "start a thread for the bus")
    }
  }

  /// The thread ends when it has finished its work.
  func stop() {
    wake { $0.isStopping = true }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    wake { $0.work.append(.job(job)) }
  }

  /// Runs `closure` on the thread, after everything enqueued before.
  func enqueue(_ closure: @escaping @Sendable () -> Void) {
    wake { $0.work.append(.closure(closure)) }
  }

  var isCurrent: Bool { identity.load(ordering: .acquiring) == UInt(pthread_self()) }

  func checkIsolated() { precondition(isCurrent, "not on the bus's thread") }

  func isIsolatingCurrentContext() -> Bool? { isCurrent }

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

  private func run() {
    identity.store(UInt(pthread_self()), ordering: .releasing)
    let executor = asUnownedSerialExecutor()
    while true {
      let work = inbox.withLock { inbox in
        let work = inbox.work
        inbox.work = []
        return work
      }
      for item in work {
        switch item {
        case .job(let job): job.runSynchronously(on: executor)
        case .closure(let closure): closure()
        }
      }
      let hasProcessed = connection?.process() ?? false
      if !work.isEmpty || hasProcessed { continue }
      switch prepareToSleep() {
      case .stop:
        connection?.close()
        return
      case .work: continue
      case .sleep: sleep()
      }
    }
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
    var descriptors = [pollfd(fd: wakeDescriptor, events: Int16(POLLIN), revents: 0)]
    var timeoutMilliseconds: Int32 = -1
    if let wait = connection?.wait {
      descriptors.append(pollfd(fd: wait.descriptor, events: wait.events, revents: 0))
      timeoutMilliseconds = wait.timeoutMilliseconds
    }
    poll(&descriptors, nfds_t(descriptors.count), timeoutMilliseconds)
    inbox.withLock { $0.isSleeping = false }
    if descriptors[0].revents != 0 {
      var count: UInt64 = 0
      _ = read(wakeDescriptor, &count, 8)
    }
  }
}
