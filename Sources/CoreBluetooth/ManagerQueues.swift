import Dispatch

/// What a test kit waits for: the queues on which the managers call their delegates.
extension AppSession {
  /// Each of them once.
  package var managerQueues: [DispatchQueue] {
    // Managers are held under the lock only, as in `linkDidReceive`.
    locked { livingManagers.map(\.queue) }.reduce(into: []) { queues, queue in
      if !queues.contains(where: { $0 === queue }) { queues.append(queue) }
    }
  }

  /// Managers that have something to tell their delegates, and why they don't, for a person.
  package var unfinishedManagers: [String] {
    livingManagers.compactMap { manager in
      let queue = "\"\(manager.queue.label)\""
      switch manager.delivery.progress {
      case .idle: return nil
      case .running: return "a call of the delegate of \(manager) has not returned on the queue \(queue)"
      case .waiting:
        return """
          the queue \(queue) of \(manager) does not run: it is not activated yet (initiallyInactive), or suspended, or something \
          blocks it
          """
      }
    }
  }
}
