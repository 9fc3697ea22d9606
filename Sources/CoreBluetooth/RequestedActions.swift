import Dispatch

/// What users ask an app to do. Actions wait until the app has set a handler.
struct RequestedActions {
  private var handler: (queue: DispatchQueue, handle: @Sendable (UserAction) -> Void)?
  private var waiting: [UserAction] = []

  mutating func perform(_ action: UserAction) {
    guard let handler else { return waiting.append(action) }
    handler.queue.async { handler.handle(action) }
  }

  mutating func setHandler(_ queue: DispatchQueue, _ handle: @escaping @Sendable (UserAction) -> Void) {
    handler = (queue, handle)
    for action in waiting { queue.async { handle(action) } }
    waiting = []
  }
}
