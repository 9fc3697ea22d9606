import AppLink
import BluetoothTypes
import TimeTypes

/// Delivers events to apps, in order and once.
extension BluetoothSystem {
  /// Queues an event for a manager's app. The manager's number is looked up when the event is sent.
  mutating func tell(_ key: ManagerKey, _ body: AppLink.Event.Body) {
    guard managers[key] != nil else { return }
    apps[key.app]?.queue.append(App.Waiting(manager: key, body: body))
    if let app = apps[key.app], app.queue.count > max(configuration.eventQueueLimit, app.tidyAt) { tidy(key.app) }
  }

  /// Sends queued events as long as the app is awake and keeps up, and their managers exist.
  mutating func flush(_ name: String) {
    tellActions(name)
    guard let app = apps[name], app.isReceiving, !app.queue.isEmpty, let link = app.link else { return }
    let window = UInt64(configuration.eventWindow)
    var left = window - min(window, app.unhandledEvents)
    guard left > 0 else { return }
    var rest: [App.Waiting] = []
    for (index, waiting) in app.queue.enumerated() {
      if left == 0 {
        rest += app.queue[index...]
        break
      }
      if let number = managers[waiting.manager]?.number {
        send(waiting.body, to: number, of: name, link)
        noteDelivered(waiting.body, waiting.manager)
        left -= 1
      } else {
        rest.append(waiting)
      }
    }
    apps[name]?.queue = rest
    if rest.count <= configuration.eventQueueLimit { apps[name]?.tidyAt = 0 }
  }

  /// Sends one event now, ahead of the queue.
  ///
  /// - Parameter manager: the manager that is told, or `nil` for the app itself.
  mutating func send(
    _ body: AppLink.Event.Body, to manager: ManagerIdentifier?, of name: String, _ link: AppLinkIdentifier
  ) {
    guard let sequence = apps[name]?.nextSequence(at: now, configuration) else { return }
    emit(.event(AppLink.Event(sequence: sequence, manager: manager, body: body), to: link))
  }

  /// Records what a manager's process has been told: the app's next process finds exactly that restored.
  mutating func noteDelivered(_ body: AppLink.Event.Body, _ key: ManagerKey) {
    switch body {
    case .connected(let snapshot): setDelivered(.connected, snapshot.identifier, key)
    case .disconnected(let peer, _, _, let isReconnecting):
      setDelivered(isReconnecting ? .connecting : .disconnected, peer, key)
    case .failedToConnect(let peer, _): setDelivered(.disconnected, peer, key)
    default: break
    }
  }

  private mutating func setDelivered(_ state: PeripheralState, _ peer: PeerIdentifier, _ key: ManagerKey) {
    guard managers[key]?.peripherals[peer] != nil else { return }
    managers[key]?.peripherals[peer]?.wasDelivered(state)
    persistPeripheral(key, peer)
  }
}

extension AppLink.Event.Body {
  /// A one-time arrival that no state repeats.
  var isFromAir: Bool {
    switch self {
    case .valueUpdated, .readRequested, .writeRequested, .requestExpired: true
    default: false
    }
  }

  /// Whether the event is kept for the app's next process.
  var outlivesProcess: Bool {
    switch self {
    case .connected, .disconnected, .failedToConnect, .discovered, .servicesModified, .subscribed, .unsubscribed,
      .valueUpdated, .readRequested, .writeRequested:
      true
    default: false
    }
  }

  /// Whether an app that is not running is started for this event, because its state was preserved for it.
  var relaunches: Bool {
    switch self {
    case .connected, .disconnected, .failedToConnect, .discovered, .subscribed, .valueUpdated, .readRequested,
      .writeRequested:
      true
    default: false
    }
  }
}
