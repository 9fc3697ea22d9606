import SystemBus
import Timekeeping

extension BlueZSimulator {
  /// The thread of a simulator: it serves the buses, and handles the inputs one by one.
  actor Engine {
    nonisolated let thread: BusThread
    private var shell: Shell
    private var hasEnded = false
    private var waiting: CheckedContinuation<Void, Never>?

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ simulator: BlueZSimulator) throws {
      thread = try BusThread()
      let alarm = simulator.time.makeAlarm { [weak simulator] in simulator?.enqueue(.alarm) }
      shell = Shell(simulator, thread: thread, alarm: alarm)
      try thread.start()
    }

    /// - Throws: `SimulatorError` if a bus is not available.
    func begin(_ machines: [SimulatorMachine]) throws {
      for (index, machine) in machines.enumerated() { try shell.add(machine, at: index) }
      shell.begin()
    }

    /// Queues an input. It is handled after all inputs that were queued before it, and never while a message is being
    /// handled.
    nonisolated func take(_ arrival: Arrival) {
      thread.enqueue { self.assumeIsolated { $0.shell.take(arrival) } }
    }

    /// Ends the run when everything that was queued before has been handled.
    nonisolated func end() {
      thread.enqueue {
        self.assumeIsolated { engine in
          engine.hasEnded = true
          engine.waiting?.resume()
          engine.waiting = nil
        }
      }
    }

    func waitForEnd() async {
      guard !hasEnded else { return }
      await withCheckedContinuation { waiting = $0 }
    }

    func close() { shell.close() }
  }
}
