import AppLink

extension Event.Body {
  /// The manager that is told; `nil` where the event is not about one manager.
  var manager: ManagerIdentifier? {
    switch self {
    case .managerRejected(let manager, _), .stateChanged(let manager, _), .willRestoreCentral(let manager, _),
      .willRestorePeripheral(let manager, _), .discovered(let manager, _, _, _), .connected(let manager, _),
      .failedToConnect(let manager, _, _), .disconnected(let manager, _, _, _, _),
      .operationCompleted(let manager, _, _, _), .valueUpdated(let manager, _, _, _),
      .nameChanged(let manager, _, _), .servicesModified(let manager, _, _), .serviceAdded(let manager, _, _),
      .advertisingStarted(let manager, _), .subscribed(let manager, _, _), .unsubscribed(let manager, _, _),
      .readRequested(let manager, _, _, _, _), .writeRequested(let manager, _, _, _, _, _, _),
      .requestExpired(let manager, _), .updateCredit(let manager, _):
      return manager
    case .actionRequested: return nil
    }
  }
}
