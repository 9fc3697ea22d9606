import AppLink
import Dispatch

/// What users ask an app to do. Actions wait until the app has set a handler.
struct RequestedActions {
  private var handler: (queue: DispatchQueue, handle: @Sendable (UserAction) -> Void)?
  private var waiting: [UserAction] = []
  /// Those that are not complete.
  private var open: [ActionIdentifier: UserAction] = [:]

  mutating func perform(_ action: UserAction, _ identifier: ActionIdentifier) {
    open[identifier] = action
    guard let handler else { return waiting.append(action) }
    handler.queue.async { handler.handle(action) }
  }

  mutating func setHandler(_ queue: DispatchQueue, _ handle: @escaping @Sendable (UserAction) -> Void) {
    handler = (queue, handle)
    for action in waiting { queue.async { handle(action) } }
    waiting = []
  }

  mutating func completed(_ identifier: ActionIdentifier) { open[identifier] = nil }

  /// Nobody waits for this action any more.
  mutating func withdraw(_ identifier: ActionIdentifier) {
    guard let action = open.removeValue(forKey: identifier) else { return }
    action.withdraw()
    // An app that has not set a handler yet never hears of it.
    waiting.removeAll { $0 === action }
  }

  /// The system is gone, and with it everybody who waits. The app is told in the order in which it was asked.
  mutating func withdrawAll() {
    for identifier in open.keys.sorted(by: { $0.rawValue < $1.rawValue }) { withdraw(identifier) }
  }
}
