import AppLink
import BluetoothTypes
import TimeTypes

/// Telling apps, in order and once.
extension BluetoothSystem {
  /// Puts an event into the line of a manager's app; `body`'s manager number is filled in when it is sent.
  mutating func tell(_ key: ManagerKey, _ body: AppLink.Event.Body) {
    guard managers[key] != nil else { return }
    apps[key.app]?.queue.append(App.Waiting(manager: key, body: body))
    if let app = apps[key.app], app.queue.count > max(configuration.eventQueueLimit, app.tidyAt) { tidy(key.app) }
  }

  /// Sends what waits, as far as the app is awake, keeps up, and the managers exist.
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
        send(waiting.body.addressed(to: number), to: name, link)
        noteDelivered(waiting.body, waiting.manager)
        left -= 1
      } else {
        rest.append(waiting)
      }
    }
    apps[name]?.queue = rest
    if rest.count <= configuration.eventQueueLimit { apps[name]?.tidyAt = 0 }
  }

  /// Sends one event now, ahead of what waits.
  mutating func send(_ body: AppLink.Event.Body, to name: String, _ link: AppLinkIdentifier) {
    guard let sequence = apps[name]?.nextSequence(at: now, budget: configuration.wakeBudget) else { return }
    emit(.event(AppLink.Event(sequence: sequence, body: body), to: link))
  }

  /// What a manager's process has been told is what its successor finds restored.
  mutating func noteDelivered(_ body: AppLink.Event.Body, _ key: ManagerKey) {
    switch body {
    case .connected(_, let snapshot): setDelivered(.connected, snapshot.identifier, key)
    case .disconnected(_, let peer, _, _, let isReconnecting):
      setDelivered(isReconnecting ? .connecting : .disconnected, peer, key)
    case .failedToConnect(_, let peer, _): setDelivered(.disconnected, peer, key)
    default: break
    }
  }

  private mutating func setDelivered(_ state: PeripheralState, _ peer: PeerIdentifier, _ key: ManagerKey) {
    guard var peripheral = managers[key]?.peripherals[peer] else { return }
    // A request made after the event was queued is newer than the event.
    peripheral.delivered = state == .disconnected && peripheral.isWanted ? .connecting : state
    managers[key]?.peripherals[peer] = peripheral
    persistPeripheral(key, peer)
  }
}

extension AppLink.Event.Body {
  /// The same event for a manager of this number.
  func addressed(to manager: ManagerIdentifier) -> Self {
    switch self {
    case .managerRejected(_, let error): .managerRejected(manager, error)
    case .stateChanged(_, let state): .stateChanged(manager, state)
    case .willRestoreCentral(_, let restoration): .willRestoreCentral(manager, restoration)
    case .willRestorePeripheral(_, let restoration): .willRestorePeripheral(manager, restoration)
    case .discovered(_, let snapshot, let data, let rssi): .discovered(manager, snapshot, data, rssi: rssi)
    case .connected(_, let snapshot): .connected(manager, snapshot)
    case .failedToConnect(_, let peer, let error): .failedToConnect(manager, peer, error)
    case .disconnected(_, let peer, let error, let seconds, let isReconnecting):
      .disconnected(manager, peer, error: error, unixSeconds: seconds, isReconnecting: isReconnecting)
    case .operationCompleted(_, let peer, let operation, let result):
      .operationCompleted(manager, peer, operation, result)
    case .valueUpdated(_, let peer, let characteristic, let value):
      .valueUpdated(manager, peer, characteristic: characteristic, value: value)
    case .nameChanged(_, let peer, let name): .nameChanged(manager, peer, name)
    case .servicesModified(_, let peer, let handles): .servicesModified(manager, peer, invalidated: handles)
    case .serviceAdded(_, let service, let error): .serviceAdded(manager, service, error: error)
    case .advertisingStarted(_, let error): .advertisingStarted(manager, error: error)
    case .subscribed(_, let central, let characteristic): .subscribed(manager, central, characteristic)
    case .unsubscribed(_, let central, let characteristic): .unsubscribed(manager, central, characteristic)
    case .readRequested(_, let request, let central, let characteristic, let offset):
      .readRequested(manager, request, central, characteristic, offset: offset)
    case .writeRequested(_, let request, let central, let characteristic, let offset, let value, let withResponse):
      .writeRequested(
        manager, request, central, characteristic, offset: offset, value: value, withResponse: withResponse)
    case .requestExpired(_, let request): .requestExpired(manager, request)
    case .actionRequested(let action, let name): .actionRequested(action, name: name)
    case .updateCredit(_, let credit): .updateCredit(manager, credit)
    }
  }

  /// Something that arrived once and that no state tells again.
  var isFromAir: Bool {
    switch self {
    case .valueUpdated, .readRequested, .writeRequested, .requestExpired: true
    default: false
    }
  }

  /// What is kept for an app's next process.
  var outlivesProcess: Bool {
    switch self {
    case .connected, .disconnected, .failedToConnect, .discovered, .servicesModified, .subscribed, .unsubscribed,
      .valueUpdated, .readRequested, .writeRequested:
      true
    default: false
    }
  }

  /// Whether an app that is not running is started for it: something that it was preserved for has happened.
  var relaunches: Bool {
    switch self {
    case .connected, .disconnected, .failedToConnect, .discovered, .subscribed, .valueUpdated, .readRequested,
      .writeRequested:
      true
    default: false
    }
  }

  /// A word for the journal.
  var kind: String {
    switch self {
    case .managerRejected: "managerRejected"
    case .stateChanged: "stateChanged"
    case .willRestoreCentral, .willRestorePeripheral: "willRestoreState"
    case .discovered: "discovered"
    case .connected: "connected"
    case .failedToConnect: "failedToConnect"
    case .disconnected: "disconnected"
    case .operationCompleted: "operationCompleted"
    case .valueUpdated: "valueUpdated"
    case .nameChanged: "nameChanged"
    case .servicesModified: "servicesModified"
    case .serviceAdded: "serviceAdded"
    case .advertisingStarted: "advertisingStarted"
    case .subscribed: "subscribed"
    case .unsubscribed: "unsubscribed"
    case .readRequested: "readRequested"
    case .writeRequested: "writeRequested"
    case .requestExpired: "requestExpired"
    case .actionRequested: UserAction.kind
    case .updateCredit: "updateCredit"
    }
  }
}

extension ManagerIdentifier {
  /// Stands in an event until it is sent.
  static let unaddressed = ManagerIdentifier(0)
}
