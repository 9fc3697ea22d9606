import Dispatch
import Foundation

/// The code of an app that the home runs: its launch, its alarms, and what the test does as the app. What the app is told
/// meanwhile waits until this code has returned. On a computer, the answer to a new manager takes a round trip over the
/// bus, and by then the app has long assigned the manager to a property.
final class OwnCode: @unchecked Sendable {
  /// How long the app's events wait for code that may itself wait for them, in the computer's time.
  private static let patience = DispatchTimeInterval.seconds(1)
  private let lock = NSLock()
  private var running = 0
  private var isAwaitedNow = false
  /// Counts how often it was waited for.
  private var waits: UInt64 = 0
  /// It was waited for long enough.
  private var isLong = false
  /// Tells what has waited. Set once, before the app runs.
  var onReturn: @Sendable () -> Void = {}

  /// Whether something waits for it.
  var isAwaited: Bool { lock.withLock { isAwaitedNow } }

  func begin() { lock.withLock { running += 1 } }

  func end() {
    let wasAwaited = lock.withLock {
      running -= 1
      guard running == 0 else { return false }
      defer { (isAwaitedNow, isLong) = (false, false) }
      return isAwaitedNow
    }
    if wasAwaited { onReturn() }
  }

  /// Whether the app's events have to wait for it. If so, `onReturn` is called when they need not.
  func mustReturnFirst() -> Bool {
    let (mustWait, newWait): (Bool, UInt64?) = lock.withLock {
      guard running > 0, !isLong else { return (false, nil) }
      guard !isAwaitedNow else { return (true, nil) }
      isAwaitedNow = true
      waits += 1
      return (true, waits)
    }
    if let newWait { RealTimers.after(Self.patience) { [weak self] in self?.tires(of: newWait) } }
    return mustWait
  }

  private func tires(of wait: UInt64) {
    let isTooLong = lock.withLock {
      guard isAwaitedNow, waits == wait else { return false }
      (isAwaitedNow, isLong) = (false, true)
      return true
    }
    if isTooLong { onReturn() }
  }
}
