import Dispatch

// Actors that run on the queue of a manager, as apps of Swift 6 write them:
//
//     actor Thermometers {
//       let queue = DispatchSerialQueue(label: "thermometers")
//       nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }
//     }
//
// A delegate that the manager calls on this queue is inside the actor: `assumeIsolated` works there. On Linux libdispatch has
// no class of its own for serial queues. `DispatchQueue` itself does not become a `SerialExecutor` here, because an app may
// have declared that.

/// A queue that runs one piece of work at a time. On Linux it is any `DispatchQueue`: make it without the attribute `concurrent`.
public typealias DispatchSerialQueue = DispatchQueue

extension DispatchQueue {
  /// The executor of an actor that runs on this queue. Keep the queue for as long as the actor.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    // There is one executor for each queue. The queue keeps it, so both go together.
    let executor = locked {
      if let known = getSpecific(key: QueueExecutor.key) { return known }
      let executor = QueueExecutor(self)
      setSpecific(key: QueueExecutor.key, value: executor)
      return executor
    }
    return UnownedSerialExecutor(ordinary: executor)
  }
}

private final class QueueExecutor: SerialExecutor {
  static let key = DispatchSpecificKey<QueueExecutor>()
  private unowned let queue: DispatchQueue

  init(_ queue: DispatchQueue) { self.queue = queue }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { [self] in job.runSynchronously(on: UnownedSerialExecutor(ordinary: self)) }
  }

  /// Ends the program if this code does not run on the queue.
  func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
