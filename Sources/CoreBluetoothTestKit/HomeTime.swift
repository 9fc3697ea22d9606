import Dispatch
import TimeTypes
import Timekeeping

/// How the time of a home passes: only while no app does anything.
extension HomeEngine {
  var processes: [SimulatedApp] {
    machines.values.flatMap { $0.apps.values.compactMap { $0.process } }
  }

  /// Whether no app is known to do anything.
  private var isIdle: Bool { holds == 0 && !hasProcess(where: \.isBusy) }

  private var isQuiet: Bool { isIdle && !hasProcess(where: \.isStirring) }

  private func hasProcess(where fits: (SimulatedApp) -> Bool) -> Bool {
    machines.values.contains { machine in machine.apps.values.contains { $0.process.map(fits) ?? false } }
  }

  func wakeIfQuiet() {
    guard let waiter, isIdle else { return }
    let stirring = processes.filter(\.isStirring)
    guard stirring.isEmpty else { return look(at: stirring) }
    self.waiter = nil
    waiter.resume()
  }

  /// Lets tasks and queues of apps run that wait for a processor, and looks again whether all is quiet.
  private func look(at processes: [SimulatedApp]) {
    guard !isLooking else { return }
    isLooking = true
    Task.detached { [self] in
      for queue in processes.flatMap(\.queues) { await queue.pass() }
      await TaskBarrier.pass()
      await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } }
      enqueue { engine in
        engine.isLooking = false
        for process in processes { process.wasLookedAt() }
      }
    }
  }

  func hold() -> SimulatedHold {
    holds += 1
    return SimulatedHold { [weak self] in self?.enqueue { $0.holds -= 1 } }
  }

  /// Waits until apps and peripherals have done what the test has asked of them since time last passed, or what it asks
  /// in an alarm.
  func awaitTest() { run { engine in for process in engine.processes { process.awaitManagerQueues() } } }

  func advance(by duration: Duration) async {
    awaitTest()
    let target = clock.now + duration
    repeat { await quiet() } while !move(to: target, once: false)
    noteSeen()
  }

  private func noteSeen() {
    run { engine in
      for machine in engine.machines.values { for app in machine.apps.values { app.history.isSeen() } }
    }
  }

  /// Moves on until the condition holds, at most by `duration`. Returns whether it holds.
  func advance(by duration: Duration, until condition: @Sendable () -> Bool) async -> Bool {
    awaitTest()
    let target = clock.now + duration
    defer { noteSeen() }
    while true {
      await quiet()
      if condition() { return true }
      if move(to: target, once: true) { return condition() }
    }
  }

  /// Returns when every app has handled what it was told. When they have already, no thread waits for another.
  private func quiet() async {
    guard !run(\.isQuiet) else { return }
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      enqueue { engine in
        precondition(engine.waiter == nil, "the home is being moved already")
        engine.waiter = continuation
        engine.patience.begin(engine)
      }
    }
  }

  /// Moves on until an app has something to handle. Returns whether `target` is reached and all is quiet.
  /// - Parameter once: At most to the next thing that happens.
  private func move(to target: Instant, once: Bool) -> Bool {
    run { engine in
      while engine.isQuiet {
        if engine.carryPackets() { continue }
        engine.checkProgress()
        let next = engine.nextDeadline
        guard let next, next <= target else {
          engine.clock.advance(to: target)
          engine.settle()
          return engine.isQuiet && !engine.carryPackets()
        }
        engine.pass(next)
        if once { return false }
      }
      return false
    }
  }

  /// Detects a deadline that comes again and again at the same instant, which would mean a broken state machine.
  private func checkProgress() {
    roundsAtInstant = lastInstant == clock.now ? roundsAtInstant + 1 : 0
    lastInstant = clock.now
    precondition(roundsAtInstant < 100_000, "time does not move on from \(clock.now)")
  }

  private var nextDeadline: Instant? {
    let systems = machines.values.map { $0.isOn ? $0.system.nextDeadline : nil }
    let apps = processes.map(\.nextEvent)
    return ([world.nextDeadline, clock.nextDeadline] + systems + apps).compactMap(\.self).min()
  }

  private func pass(_ instant: Instant) {
    clock.advance(to: max(instant, clock.now))
    if let due = world.nextDeadline, due <= clock.now { work.append(.world(.timePassed)) }
    for name in machines.keys.sorted() {
      if let due = machines[name]?.system.nextDeadline, due <= clock.now { work.append(.system(name, .timePassed)) }
    }
    for process in processes.sorted(by: { $0.bundleIdentifier < $1.bundleIdentifier }) {
      process.tellEvents(at: clock.now)
    }
    settle()
  }
}
