import AppLink
import BluetoothTypes
import TimeTypes

/// Delivers events to apps, in order and once.
extension BluetoothSystem {
  /// Queues an event for a manager's app. The manager's number is looked up when the event is sent.
  /// - Parameter wakes: `false` if the event waits until a suspended app is awake, though others of its kind wake it.
  mutating func tell(_ key: ManagerKey, _ body: AppLink.Event.Body, wakes: Bool = true) {
    guard managers[key] != nil else { return }
    apps[key.app]?.queue.append(App.Waiting(manager: key, body: body, wakes: wakes && body.wakes))
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
    apps[name]?.stateless = []
    for (index, waiting) in app.queue.enumerated() {
      if left == 0 {
        rest += app.queue[index...]
        break
      }
      let manager = managers[waiting.manager]
      if let manager, let number = manager.number, manager.toldState != nil {
        send(waiting.body, to: number, of: name, link)
        if waiting.body.connectionPeer != nil { apps[name]?.sent(waiting) }
        left -= 1
      } else {
        // An app that hears of a loss before its state asks for the connection in vain (S10).
        if manager?.number != nil { apps[name]?.stateless.insert(waiting.manager) }
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

  /// A process has ended. What it was sent about its connections and had not handled, its next process is told: an
  /// app that dies of a loss would otherwise never ask again. An event that several processes died of counts as told.
  mutating func tellAgain(_ name: String) {
    var again: [App.Waiting] = []
    var states: [ManagerKey: [PeerIdentifier: PeripheralState]] = [:]
    for var waiting in apps[name]?.unhandled.takeAll() ?? [] {
      guard let peer = waiting.body.connectionPeer, let known = held[waiting.manager, peer] else {
        continue
      }
      waiting.deaths += 1
      let state = states[waiting.manager]?[peer] ?? known.delivered
      // News only for an app that has not taken the connection back itself.
      guard state != .disconnected, waiting.body.connectionState != state else { continue }
      guard waiting.deaths < Self.deathsUntilTold else {
        noteDelivered(waiting.body, waiting.manager)
        continue
      }
      states[waiting.manager, default: [:]][peer] = waiting.body.connectionState
      again.append(waiting)
    }
    apps[name]?.queue.insert(contentsOf: again, at: 0)
  }

  private static let deathsUntilTold = 3

  /// Records what a manager's process has handled: the app's next process finds exactly that restored.
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
    guard held[key, peer] != nil else { return }
    held[key, peer]?.wasDelivered(state)
    // The app has heard of the end and has not asked anew, so bluetoothd is not to connect the device by itself any more.
    if held[key, peer]?.isIdle == true, !isWanted(peer) { letGo(peer, isLinkNew: true) }
    persistPeripheral(key, peer)
  }
}

extension AppLink.Event.Body {
  /// The peripheral whose connection the event is about.
  var connectionPeer: PeerIdentifier? {
    switch self {
    case .connected(let snapshot): snapshot.identifier
    case .disconnected(let peer, _, _, _), .failedToConnect(let peer, _): peer
    default: nil
    }
  }

  /// The peripheral that sent the value.
  var valuePeer: PeerIdentifier? {
    if case .valueUpdated(let peer, _, _) = self { peer } else { nil }
  }

  /// How the event leaves the connection that it is about.
  var connectionState: PeripheralState {
    switch self {
    case .connected: .connected
    case .disconnected(_, _, _, true): .connecting
    default: .disconnected
    }
  }

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

  /// Whether a suspended app is woken for this event. What only changes an attribute of an object waits until it is awake.
  var wakes: Bool { if case .mtuChanged = self { false } else { true } }

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
