import AppLink
import BluetoothTypes
import FoundationEssentials
import TimeTypes

/// Dispatches apps' requests. A request for a manager that the app does not have changes nothing. The library never
/// sends one, so only the journal is told.
extension BluetoothSystem {
  mutating func receive(_ request: AppLink.Request, from link: AppLinkIdentifier) {
    guard let name = appName(of: link) else { return }
    if case .handled(let sequence) = request {
      for waiting in apps[name]?.handled(through: sequence, at: now, configuration) ?? [] {
        noteDelivered(waiting.body, waiting.manager)
      }
      return
    }
    // A report or an admission asks for nothing, so it does not count in the app's account of wakes.
    if case .report(let report) = request { return self.report(report, app: name) }
    if case .admit(let admission) = request { return admit(admission, app: name) }
    apps[name]?.wakes.said()
    // Every request may have an answer, and the answers would pile up for an app that does not handle its events.
    if let app = apps[name], app.unhandledEvents >= UInt64(configuration.eventWindow) * 4 {
      return misplaced(name, "It does not deal with what it is told.")
    }
    switch request {
    case .createManager(let number, let creation): createManager(number, creation, app: name)
    case .resumeManager(let number, let creation, let view):
      let whole = apps[name]?.heldViews.take(completing: view, of: number) ?? view
      resumeManager(number, creation, whole, app: name)
    case .heldPeripherals(let number, let peripherals, let options):
      apps[name]?.heldViews.add(peripherals, options, of: number, limit: configuration.appPeripheralLimit)
    case .destroyManager(let number):
      for key in managers.keys where key.app == name && managers[key]?.number == number { removeManager(key) }
    case .respond(let identifier, let error, let value): respond(identifier, error, value, app: name)
    case .completeAction(let action, let error): completeAction(action, error, app: name)
    case .answerQuestion(let action, let text): answerQuestion(action, text, app: name)
    case .showAlert(let text): showAlert(text, app: name)
    case .central(let number, let request):
      if let key = managerKey(number, name, .central) {
        receiveCentral(request, key)
      } else {
        misplaced(name, "It has no central manager \(number.rawValue).")
      }
    case .peripheral(let number, let request):
      if let key = managerKey(number, name, .peripheral) {
        receivePeripheral(request, key)
      } else {
        misplaced(name, "It has no peripheral manager \(number.rawValue).")
      }
    case .handled, .report, .admit: break
    }
  }

  /// Journals that an app's request is refused, at ever longer intervals, so that an app that repeats it can't fill the
  /// journal.
  mutating func misplaced(_ name: String, _ reason: String) {
    guard var app = apps[name] else { return }
    app.refusedRequests &+= 1
    apps[name] = app
    guard app.refusedRequests & (app.refusedRequests - 1) == 0 else { return }
    journal(.requestMisplaced, [.app: name, .reason: reason, .times: String(app.refusedRequests)])
  }

  private mutating func receiveCentral(_ request: CentralRequest, _ key: ManagerKey) {
    if isDenied(key) { return refuse(request, key) }
    switch request {
    case .scan(let scan): self.scan(key, scan)
    case .stopScan: stopScan(key)
    case .connect(let peer, let options): connect(key, peer, options)
    case .cancelConnection(let peer): cancelConnection(key, peer)
    case .watchConnections(let watch): watchConnections(key, watch)
    case .perform(let peer, let identifier, let operation): perform(key, peer, identifier, operation)
    }
  }

  private mutating func receivePeripheral(_ request: PeripheralRequest, _ key: ManagerKey) {
    if isDenied(key) { return refuse(request, key) }
    switch request {
    case .addService(let definition): addService(key, definition)
    case .removeService(let identifier): removeService(key, identifier)
    case .removeAllServices:
      for identifier in managers[key]?.services.keys.sorted() ?? [] {
        removeService(key, identifier)
      }
    case .startAdvertising(let advertisement): startAdvertising(key, advertisement)
    case .stopAdvertising: stopAdvertising(key)
    case .updateValue(let characteristic, let value, let centrals): updateValue(key, characteristic, value, centrals)
    case .publishChannel(let psm, let requiresEncryption): publishChannel(key, psm, requiresEncryption)
    case .unpublishChannel(let psm): unpublishChannel(key, psm)
    }
  }

  mutating func answer(_ query: Query, from link: AppLinkIdentifier, _ token: AnswerToken) {
    guard let name = appName(of: link) else {
      emit(.queryReply(token, .failure(AppLinkError(.notAttached, "Attach before asking."))))
      return
    }
    let number: ManagerIdentifier =
      switch query {
      case .retrievePeripherals(let number, _), .retrieveConnectedPeripherals(let number, _): number
      }
    guard let key = managerKey(number, name, .central) else {
      emit(.queryReply(token, .failure(AppLinkError(.notFound, "This app has no central manager \(number.rawValue)."))))
      return
    }
    if isDenied(key) { return emit(.queryReply(token, .success([]))) }
    switch query {
    case .retrievePeripherals(_, let wanted):
      // Also those that no app holds and bluetoothd no longer shows: an app without restoration has kept an identifier.
      let known = wanted.prefix(configuration.peripheralLimit).filter {
        peers[$0] != nil || bluez.device($0) != nil || identifiers.address(of: $0) != nil
      }
      emit(.queryReply(token, .success(known.map { snapshot($0, key) })))
    case .retrieveConnectedPeripherals(_, let services):
      let connected = bluez.devices.connectedDevices.filter { device in
        device.uuids.contains(where: services.contains)
      }
      emit(.queryReply(token, .success(connected.map { snapshot($0.peer, key) })))
    }
  }
}
