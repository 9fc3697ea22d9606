import AppLink
import BluetoothTypes
import FoundationEssentials
import TimeTypes

/// Creation, restoration and removal of managers.
extension BluetoothSystem {
  func sortedManagers(_ role: Role) -> [ManagerKey] { managers.keys(role) }

  /// A connection that the app last knew of is restored as connected even if it was lost since. The loss is told
  /// next.
  func hasSomethingToRestore(_ key: ManagerKey) -> Bool {
    guard let manager = managers[key] else { return false }
    return manager.asksForSomething || held.hasSomethingToRestore(key)
  }

  func managerKey(_ number: ManagerIdentifier, _ app: String, _ role: Role) -> ManagerKey? {
    managers.numbered.first { $0.app == app && $0.role == role && managers[$0]?.number == number }
  }

  mutating func persistManager(_ key: ManagerKey) {
    if let manager = managers[key] { persist(.manager(manager.record)) }
  }

  mutating func persistPeripheral(_ key: ManagerKey, _ peer: PeerIdentifier) {
    guard let peripheral = held[key, peer] else {
      erase(PeripheralRecord.key(key, peer))
      return
    }
    persist(
      .peripheral(
        PeripheralRecord(
          manager: key, peer: peer, options: peripheral.options, isWanted: peripheral.isWanted,
          told: peripheral.delivered, services: peripheral.restoredServices)))
  }

  // MARK: Creation

  mutating func createManager(_ number: ManagerIdentifier, _ creation: ManagerCreation, app name: String) {
    guard let key = claim(number, creation, app: name), let link = apps[name]?.link else { return }
    apps[name]?.restored()
    if hasSomethingToRestore(key) { sendRestoration(key, number, name, link) }
    forgetUnrestored(key)
    sendCreditFirst(key, number, name, link)
    tellStateFirst(key, number, name, link)
    journal(
      .managerCreated,
      [.app: name, .role: creation.role.rawValue, .restoreIdentifier: creation.restoreIdentifier ?? ""])
  }

  mutating func resumeManager(
    _ number: ManagerIdentifier, _ creation: ManagerCreation, _ view: ManagerView, app name: String
  ) {
    guard let key = claim(number, creation, app: name) else { return }
    let view = isDenied(key) ? ManagerView(state: view.state) : view
    // The app's own view says better than the queue which states it has missed. Values that came over the air stay
    // queued.
    let waiting = apps[name]?.queue ?? []
    apps[name]?.queue.removeAll { $0.manager == key }
    apps[name]?.unhandled.overtake(key)
    apps[name]?.restored()
    managers[key]?.knew(view.state)
    switch key.role {
    case .central: resumeCentral(key, view)
    case .peripheral: resumePeripheral(key, view, missed: waiting.filter { $0.manager == key }.map(\.body))
    }
    persistManager(key)
    let fromAir = waiting.filter { $0.manager == key && $0.body.isFromAir }
    // What came over a link that is gone comes before the news of its end.
    let ended = Set(fromAir.compactMap(\.body.valuePeer).filter { isAboutToLose($0, key) })
    apps[name]?.queue += fromAir.filter { $0.body.valuePeer.map(ended.contains) ?? false }
    tellLostLinks()
    tellManagerStates()
    tellConnections()
    apps[name]?.queue += fromAir.filter { waiting in
      guard let peer = waiting.body.valuePeer else { return true }
      return !ended.contains(peer) && held[key, peer]?.isConnected == true
    }
    tellChangesMissed(key, view, missed: waiting.filter { $0.manager == key }.map(\.body))
  }

  /// Whether the manager believes in a link that is gone. bluetoothd may show the link while its adapter does not work yet.
  private func isAboutToLose(_ peer: PeerIdentifier, _ key: ManagerKey) -> Bool {
    held[key, peer]?.isConnected == true && !(bluez.state == .poweredOn && isUsable(bluez.device(peer)))
  }

  private mutating func claim(_ number: ManagerIdentifier, _ creation: ManagerCreation, app name: String) -> ManagerKey?
  {
    guard let link = apps[name]?.link else { return nil }
    let key = ManagerKey(
      app: name, role: creation.role, restoreIdentifier: creation.restoreIdentifier,
      number: creation.restoreIdentifier == nil ? number.rawValue : 0)
    if let error = rejection(number, creation, key) {
      send(.managerRejected(error), to: number, of: name, link)
      return nil
    }
    var manager = managers[key] ?? Manager(key: key)
    manager.number = number
    managers[key] = manager
    persistManager(key)
    return key
  }

  private func rejection(_ number: ManagerIdentifier, _ creation: ManagerCreation, _ key: ManagerKey) -> AppLinkError? {
    if let other = managers[key]?.number {
      guard let identifier = creation.restoreIdentifier else {
        return AppLinkError(.invalidArguments, "Manager \(other.rawValue) exists already.")
      }
      return AppLinkError(
        .invalidArguments,
        "Two \(creation.role.rawValue) managers of this app have the restore identifier \"\(identifier)\"; "
          + "give each its own.")
    }
    if managers.values.contains(where: { $0.number == number && $0.key.app == key.app }) {
      return AppLinkError(.invalidArguments, "The number \(number.rawValue) belongs to another manager.")
    }
    if let identifier = creation.restoreIdentifier, identifier.isEmpty || identifier.utf8.count > 256 {
      return AppLinkError(.invalidArguments, "A restore identifier has 1 to 256 bytes.")
    }
    if managers[key] == nil, managers.keys.count(where: { $0.app == key.app }) >= configuration.managerLimit {
      return AppLinkError(.limitReached, "An app has at most \(configuration.managerLimit) managers.")
    }
    return nil
  }

  private mutating func sendRestoration(
    _ key: ManagerKey, _ number: ManagerIdentifier, _ name: String, _ link: AppLinkIdentifier
  ) {
    guard let manager = managers[key] else { return }
    switch key.role {
    case .central:
      let peripherals = held.peers(of: key).filter { held[key, $0]?.isRestored == true }
        .sorted()
        .map { restoredSnapshot($0, key) }
      var parts = peripherals.inParts
      let last = parts.removeLast()
      for part in parts { send(.restoredPeripherals(part), to: number, of: name, link) }
      send(
        .willRestoreCentral(CentralRestoration(peripherals: last, scan: manager.scan?.request)), to: number, of: name,
        link)
    case .peripheral:
      send(.willRestorePeripheral(peripheralRestoration(manager)), to: number, of: name, link)
    }
  }

  /// A new process of the app discovers anew what was not restored to it.
  private mutating func forgetUnrestored(_ key: ManagerKey) {
    guard key.role == .central else { return }
    for peer in held.idle(of: key).sorted() where held[key, peer]?.services != nil {
      held[key, peer]?.isForgotten()
      persistPeripheral(key, peer)
    }
  }

  /// A restored app may send values as soon as it is told its state, and before it hears of what is queued.
  private mutating func sendCreditFirst(
    _ key: ManagerKey, _ number: ManagerIdentifier, _ name: String, _ link: AppLinkIdentifier
  ) {
    guard managers[key]?.services.isEmpty == false else { return }
    guard apps[name]?.isReceiving == true else { return grantCredit(key) }
    guard managers[key]?.credit.grant(configuration.updateCredit) == true else { return }
    send(.updateCredit(configuration.updateCredit), to: number, of: name, link)
  }

  /// The first state comes before everything that is queued.
  private mutating func tellStateFirst(
    _ key: ManagerKey, _ number: ManagerIdentifier, _ name: String, _ link: AppLinkIdentifier
  ) {
    let state = state(for: key)
    guard state != .unknown else { return }
    _ = managers[key]?.takes(state)
    // The app may have made the manager just before it was suspended.
    guard apps[name]?.isReceiving == true else {
      apps[name]?.queue.insert(App.Waiting(manager: key, body: .stateChanged(state)), at: 0)
      return
    }
    send(.stateChanged(state), to: number, of: name, link)
  }

  /// Queues an event before all others of its manager.
  private mutating func tellFirst(_ key: ManagerKey, _ body: AppLink.Event.Body) {
    guard let queue = apps[key.app]?.queue else { return }
    apps[key.app]?.queue.insert(
      App.Waiting(manager: key, body: body), at: queue.firstIndex { $0.manager == key } ?? queue.endIndex)
    apps[key.app]?.stateless.remove(key)
  }

  mutating func tellManagerStates() {
    for key in managers.numbered {
      guard let manager = managers[key] else { continue }
      let state = state(for: key)
      guard state != .unknown, state != manager.toldState else { continue }
      managers[key]?.knew(state)
      if manager.toldState == nil { tellFirst(key, .stateChanged(state)) } else { tell(key, .stateChanged(state)) }
      if state != .poweredOn { managers[key]?.scan?.forgetReported() }
    }
  }

  mutating func removeManager(_ key: ManagerKey) {
    guard let manager = managers[key] else { return }
    let peers = held.peers(of: key).sorted()
    for peer in peers {
      let hasUnheardEnd = held[key, peer].map { !$0.isWanted && !$0.isIdle } ?? false
      releaseConnection(key, peer)
      if hasUnheardEnd, !isWanted(peer) { letGo(peer, isLinkNew: true) }
      erase(PeripheralRecord.key(key, peer))
    }
    for service in manager.services.keys.sorted() { removeService(key, service) }
    forgetOperations(of: key)
    removeChannels(of: key)
    heldUpdates.forget(key)
    managers[key] = nil
    for peer in peers { held[key, peer] = nil }
    for peer in peers { releasePeer(peer) }
    apps[key.app]?.queue.removeAll { $0.manager == key }
    apps[key.app]?.unhandled.overtake(key)
    erase(StoreKey(.manager, key.text))
  }
}
