import Dispatch
import Foundation

/// Looks from time to time, in the computer's time, whether a home that waits for its apps still gets on.
///
/// An app's code may take long, and then the home waits. If it waits for ever, that is a mistake of the app or of the
/// test: a queue that nobody activates, or a delegate call that waits for the next one. A message then tells what the
/// home waits for.
final class HomePatience: @unchecked Sendable {
  /// How long a home may stand still before it says what it waits for, in seconds, and how often it says so before it
  /// ends the test.
  let interval: TimeInterval
  let limit: Int
  private let lock = NSLock()
  private var isLooking = false
  private var hasAnswered = true
  private var taskHasRun = true
  private var starvedLooks = 0

  init(interval: TimeInterval = 5, limit: Int = 12) { (self.interval, self.limit) = (interval, limit) }

  /// The engine begins to wait. From now on it is looked after until it no longer waits.
  func begin(_ engine: HomeEngine) {
    let isFirst = lock.withLock {
      defer { isLooking = true }
      return !isLooking
    }
    if isFirst { lookLater(engine) }
  }

  private func lookLater(_ engine: HomeEngine) {
    RealTimers.after(.milliseconds(Int(interval * 1000))) { [weak self, weak engine] in
      guard let self, let engine else { return }
      let isStuck = lock.withLock {
        defer { hasAnswered = false }
        return !hasAnswered
      }
      if isStuck {
        say("an alarm's body, or what it calls, has not returned on the home's thread")
        return lookLater(engine)
      }
      engine.look { [self] engine in
        let isOver = engine.lookWhetherItStands(self)
        lock.withLock {
          hasAnswered = true
          if isOver { isLooking = false }
        }
        if !isOver { lookLater(engine) }
      }
    }
  }

  /// Whether tasks have run since the last look. If they have not, others hold all threads for tasks, such as tests that compute for a
  /// long time, and the home's own tasks have to wait for them.
  func haveTasksRun() -> Bool {
    let hasRun = lock.withLock {
      defer { taskHasRun = false }
      return taskHasRun
    }
    if hasRun { Task.detached { [self] in lock.withLock { taskHasRun = true } } }
    return hasRun
  }

  /// Whether this look counts. Of those at which no task has run, one of ten does: a home may have been brought to a halt by its own app's
  /// tasks, too.
  func counts(haveTasksRun: Bool) -> Bool {
    lock.withLock {
      guard !haveTasksRun else { return true }
      starvedLooks += 1
      return starvedLooks.isMultiple(of: 10)
    }
  }

  func say(_ reason: String) {
    FileHandle.standardError.write(Data("SimulatedHome: time stands still: \(reason)\n".utf8))
  }

  /// A person who looks at the app in a debugger may take as long as they like.
  static var isDebugged: Bool {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return false }
    return !status.contains("TracerPid:\t0\n")
  }
}

extension HomeEngine {
  /// If nothing has happened since the last look, says what the home waits for. Ends the test after `limit` such looks.
  /// Returns whether the home no longer waits.
  fileprivate func lookWhetherItStands(_ patience: HomePatience) -> Bool {
    guard waiter != nil else {
      stillLooks = 0
      return true
    }
    guard progressAtLook == progress else {
      progressAtLook = progress
      stillLooks = 0
      return false
    }
    let haveTasksRun = patience.haveTasksRun()
    if patience.counts(haveTasksRun: haveTasksRun) { stillLooks += 1 }
    let reasons =
      reasonsToWait + (haveTasksRun ? [] : ["no task of this process runs: others hold all threads for tasks"])
    let text = reasons.joined(separator: "; ")
    patience.say(text)
    // A hold may last as long as the test likes.
    if stillLooks >= patience.limit, holds == 0, !HomePatience.isDebugged {
      fatalError("SimulatedHome: time can't pass: \(text)")
    }
    return false
  }

  private var reasonsToWait: [String] {
    var reasons = processes.sorted { $0.bundleIdentifier < $1.bundleIdentifier }.flatMap(\.reasonsToWait)
    if holds > 0 { reasons.append("\(holds) hold(s) of the test or of an app are not released") }
    if isLooking, reasons.isEmpty { reasons.append("the main queue does not run: something blocks its thread") }
    return reasons.isEmpty ? ["tasks do not come to rest"] : reasons
  }
}

extension SimulatedApp {
  /// Why the home's time can't pass, as far as this app is the reason. For people.
  fileprivate var reasonsToWait: [String] {
    guard isAlive else { return [] }
    var reasons: [String] = []
    if isLaunching { reasons.append("the launch of \(bundleIdentifier) has not returned") }
    if isBusy, !isLaunching {
      let managers = unfinishedManagers
      reasons += managers.map { "\(bundleIdentifier): \($0)" }
      if managers.isEmpty {
        reasons.append("\(bundleIdentifier) has not done everything that is on its managers' queues")
      }
    }
    if isStirring, !queues.isEmpty, reasons.isEmpty {
      let names = queues.map { "\"\($0.label)\"" }.joined(separator: ", ")
      reasons.append("\(bundleIdentifier): a queue that the home was asked to wait for does not run, of \(names)")
    }
    return reasons
  }
}
