import AppLink
import TimeTypes

/// When an app is woken, and when time alone does something to it.
extension App {
  /// Why a suspended app is woken: a user's action, whatever its modes, or an event that its modes let it handle.
  func wakeReason(at now: Instant, _ process: AppProcess) -> WakeReason? {
    if actions.hasNews { return .event(.actionRequested) }
    guard process.wakeNotBefore <= now else { return nil }
    return queue.first { waiting in
      waiting.wakes && mayWorkInBackground(waiting.manager.role) && !stateless.contains(waiting.manager)
    }.map { .event($0.body.kind) }
  }

  /// Why the app is to be woken now.
  func wakeReason(at now: Instant) -> WakeReason? {
    guard case .suspended(let process) = life, process.endReason == nil else { return nil }
    return wakeReason(at: now, process)
  }

  /// What time alone does to an app.
  enum Rest: Sendable, Hashable {
    case launchUnanswered
    /// The process neither receives nor sends anything.
    case unresponsive(because: String)
    case suspended(overran: Bool)
    /// The app overran its wake budget once too often.
    case overranForGood
  }

  /// Whether the app has something left to do. Answers that it waits for do not count: they wake it.
  func isBusy(_ process: AppProcess) -> Bool {
    process.unhandledEvents > 0 || process.link == nil || !actions.isEmpty
  }

  /// When the app is suspended. One that has handled everything also has the rest of its budget, as on iOS: timers,
  /// tasks and other queues may still be at work for what it was told, and nobody but the app knows.
  func restTime(
    _ process: AppProcess, _ stay: AppLife.Stay, _ configuration: BluetoothSystem.Configuration
  ) -> Instant {
    // Whatever the app says, is told or has begun: none of it keeps the app awake (F1).
    guard hasBackgroundMode else { return stay.since + configuration.leaveGrace }
    // A person waits for the answer, and is told when it is too late.
    let granted = max(stay.budgetEnds, actions.lastDeadline ?? stay.budgetEnds)
    return process.work.exhausted(budget: wakeBudget(configuration)).map { min($0, granted) } ?? granted
  }

  /// The next time at which something about the app is due.
  func deadline(after now: Instant, _ configuration: BluetoothSystem.Configuration) -> Instant? {
    switch life {
    case .notRunning: return startReason != nil && backOff.notBefore > now ? backOff.notBefore : nil
    case _ where isEnding: return nil
    case .launching: return launchedAt + configuration.launchBudget
    case .foreground(let process):
      guard case .lost(let since) = process.contact else { return nil }
      return since + configuration.launchBudget
    case .background(let process, let stay):
      return restTime(process, stay, configuration)
    case .suspended(let process):
      let isThrottled = process.wakeNotBefore > now && wakeReason(at: process.wakeNotBefore, process) != nil
      return isThrottled ? process.wakeNotBefore : nil
    }
  }
}
