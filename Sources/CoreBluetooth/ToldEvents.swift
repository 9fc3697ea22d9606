import AppLink

// For the records of a story: whether an event reaches the delegate at all. The handlers of events drop an event if the
// app has changed its mind while the event was on its way, and then nobody was told. These functions are called before
// the event is applied, under the lock.

extension CBManager {
  /// Whether the delegate is about to be told of this.
  func isTold(_ body: Event.Body) -> Bool {
    switch body {
    // A part of what the next event restores.
    case .restoredPeripherals: false
    case _ where !Event.Kind.toldToDelegates.contains(body.kind): false
    default:
      switch self {
      case let central as CBCentralManager: central.isTold(asCentral: body)
      case let peripheral as CBPeripheralManager: peripheral.isTold(asPeripheral: body)
      default: true
      }
    }
  }

  /// Whether the app itself has caused this event, so that hearing it twice in a row is right: it has cancelled a
  /// connection or a request, or has asked for a connection that it already had.
  func isAsked(_ body: Event.Body) -> Bool {
    guard let central = self as? CBCentralManager else { return false }
    switch body {
    case .connected(let snapshot):
      guard let peripheral = central.table[snapshot.identifier]?.peripheral else { return false }
      return peripheral.isToldConnected && peripheral.isAwaitingConnection
    case .disconnected(let identifier, _, _, _):
      return central.table[identifier]?.peripheral?.isCancelling ?? false
    default: return false
    }
  }
}

extension CBCentralManager {
  fileprivate func isTold(asCentral body: Event.Body) -> Bool {
    switch body {
    case .connected(let snapshot):
      guard let peripheral = table[snapshot.identifier]?.peripheral else { return true }
      return !peripheral.isCancelling && !peripheral.isConnectionKnown
    case .disconnected(let identifier, _, _, let isReconnecting):
      guard let peripheral = table[identifier]?.peripheral else { return false }
      return !(isReconnecting && peripheral.isCancelling)
    case .discovered(let snapshot, let advertisement, _):
      guard let scan else { return false }
      guard var known = discovered[snapshot.identifier] else { return true }
      return known.takes(advertisement) || scan.allowDuplicates
    case .connectionEvent: return connectionWatch != nil
    case .nameChanged(let identifier, _), .servicesModified(let identifier, _):
      return table[identifier]?.peripheral != nil
    case .valueUpdated(let identifier, let handle, _):
      return table[identifier]?.peripheral?.characteristic(handle) != nil
    case .operationCompleted(_, let operation, _):
      switch pending[operation]?.operation {
      case nil, .writeCharacteristic(_, _, withResponse: false): return false
      default: return true
      }
    default: return true
    }
  }
}

extension CBPeripheralManager {
  fileprivate func isTold(asPeripheral body: Event.Body) -> Bool {
    switch body {
    case .serviceAdded(let identifier, _): publications.contains { $0.definition.identifier == identifier }
    case .advertisingStarted: advertisement != nil
    case .subscribed(_, let identifier), .unsubscribed(_, let identifier),
      .readRequested(_, _, let identifier, _), .writeRequested(_, _, let identifier, _, _, _):
      characteristic(identifier) != nil
    default: true
    }
  }
}
