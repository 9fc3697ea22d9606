import AppLink
import BlueZ
import BluetoothTypes
import FoundationEssentials
import JournalEvents
import TimeTypes

/// Apps' connection requests, and what apps are told about them. A request holds until the app cancels it.
extension BluetoothSystem {
  mutating func connect(_ key: ManagerKey, _ peer: PeerIdentifier, _ options: ConnectOptions) {
    let options = options.bounded
    let known = held[key, peer]
    guard known != nil || hasRoomForPeripheral(key) else {
      tell(
        key,
        .failedToConnect(
          peer,
          .coreBluetooth(
            .connectionLimitReached,
            message: "This app holds too many connection requests; cancel those that it no longer needs.")))
      return
    }
    // This stores nothing if the peripheral's address is unknown, because the peripheral has not been seen since this
    // system started. An address can't be computed from an identifier. It is stored when the peripheral shows up
    // (`deviceAdded`).
    _ = keepPeer(peer, wasRequested: true)
    var peripheral = known ?? Peripheral()
    let isNew = peripheral.request(options, at: now, unixSeconds: unixSeconds)
    held[key, peer] = peripheral
    if isNew { apps[key.app]?.unhandled.overtake(key, peer) }
    if !isNew, peripheral.isConnected { tell(key, .connected(snapshot(peer, key))) }
    persistPeripheral(key, peer)
    if isNew {
      attempts[peer]?.renew()
      links[peer]?.brief.isAskedAnew()
      var fields: [JournalField: String] = [.app: key.app, .peripheral: peer.uuidString]
      // A request with a delay is held from now on, but is not carried out before its time.
      let delay = Int(options.startDelaySeconds * 1000)
      if delay > 0 { fields[.milliseconds] = String(delay) }
      journal(.requestHeld, fields)
    }
  }

  /// Makes room if there is none, by forgetting peripherals that the app no longer uses.
  private mutating func hasRoomForPeripheral(_ key: ManagerKey) -> Bool {
    func isFull() -> Bool {
      held.count(of: key) >= configuration.peripheralLimit
        || managers.keys(.central).reduce(0) { $0 + ($1.app == key.app ? held.count(of: $1) : 0) }
          >= configuration.appPeripheralLimit
    }
    guard isFull() else { return true }
    for peer in held.idle(of: key).sorted() {
      held[key, peer] = nil
      erase(PeripheralRecord.key(key, peer))
      releasePeer(peer)
    }
    return !isFull()
  }

  mutating func cancelConnection(_ key: ManagerKey, _ peer: PeerIdentifier) {
    guard let peripheral = held[key, peer], peripheral.isWanted else { return answerNeedlessCancellation(key, peer) }
    failOperations(peer, of: key, .coreBluetooth(.operationCancelled, message: "The connection was cancelled."))
    tell(
      key,
      .disconnected(peer, error: nil, unixSeconds: unixSeconds, isReconnecting: false))
    if peripheral.isConnected { mayDiscoverAgain(peer, key) }
    held[key, peer]?.isTakenBack()
    apps[key.app]?.unhandled.overtake(key, peer)
    releaseConnection(key, peer)
    persistPeripheral(key, peer)
  }

  /// Nothing is held that could be cancelled. The app's library waits for an answer all the same, unless the end of the request
  /// is on its way to it.
  private mutating func answerNeedlessCancellation(_ key: ManagerKey, _ peer: PeerIdentifier) {
    guard let app = apps[key.app] else { return }
    let isEndOnItsWay =
      app.unhandled.hasEnd(of: key, peer)
      || app.queue.contains {
        $0.manager == key && $0.body.connectionPeer == peer && $0.body.connectionState == .disconnected
      }
    guard !isEndOnItsWay else { return }
    tell(key, .disconnected(peer, error: nil, unixSeconds: unixSeconds, isReconnecting: false))
  }

  /// The manager no longer wants the peripheral. The link ends when no other manager wants it either.
  mutating func releaseConnection(_ key: ManagerKey, _ peer: PeerIdentifier) {
    guard held[key, peer]?.isWanted == true else { return }
    held[key, peer]?.release()
    guard !isWanted(peer) else { return }
    attempts[peer]?.forgetFailures()
    letGo(peer)
    if attempts[peer]?.isConnecting != true { attempts[peer] = nil }
  }

  func isWanted(_ peer: PeerIdentifier) -> Bool { held.isWanted(peer) }

  // MARK: Telling apps

  /// Tells apps about the loss of connections that they still believe in.
  mutating func tellLostLinks() {
    // Until bluetoothd has been heard for the first time, nothing is known about links.
    guard bluez.wasEverPresent else { return }
    let isOn = bluez.state == .poweredOn
    let changed = changedPeers()
    let lost = peripherals(among: changed) { peripheral, device in
      peripheral.isWanted && peripheral.isConnected && !(isOn && isUsable(device))
    }
    for (key, peer) in lost { tellLost(key, peer) }
  }

  private mutating func tellLost(_ key: ManagerKey, _ peer: PeerIdentifier) {
    guard var peripheral = held[key, peer] else { return }
    failOperations(peer, of: key, .peripheralGone)
    peripheral.linkIsLost(isBonded: bluez.device(peer)?.isBonded, unixSeconds: unixSeconds)
    held[key, peer] = peripheral
    mayDiscoverAgain(peer, key)
    tell(
      key,
      .disconnected(
        peer, error: PeerError(endOfLink: bluez.device(peer)?.endReason), unixSeconds: unixSeconds,
        isReconnecting: peripheral.isWanted))
    persistPeripheral(key, peer)
    alert(key, peer, peripheral.options.notifyOnDisconnection, "disconnected")
  }

  /// Tells apps about connections that they wait for.
  mutating func tellConnections() {
    guard bluez.state == .poweredOn else { return }
    changes.add(untoldConnections)
    untoldConnections = []
    let changed = changedPeers()
    let done = peripherals(among: changed) { peripheral, device in
      peripheral.isPending && peripheral.isDue(at: now) && isUsable(device)
    }
    for (key, peer) in done {
      guard mayWork(key) || apps[key.app]?.process != nil else {
        untoldConnections.insert(peer)
        continue
      }
      let isNews = held[key, peer]?.isCompleted == false
      held[key, peer]?.linkIsUp(unixSeconds: unixSeconds)
      attempts[peer] = nil
      if isNews { journal(.requestCompleted, [.app: key.app, .peripheral: peer.uuidString]) }
      tell(key, .connected(snapshot(peer, key)))
      guard isNews else { continue }
      alert(key, peer, held[key, peer]?.options.notifyOnConnection ?? false, "connected")
    }
  }

  // MARK: After the system came back

  /// The app kept running while the system was away. The connections that its view shows are what it wants, and the
  /// states in it are what it was told.
  mutating func resumeCentral(_ key: ManagerKey, _ view: ManagerView) {
    let isRefused = view.scan.map { refusal(of: $0, key) != nil } ?? false
    let scan = isRefused ? managers[key]?.scan?.request : view.scan
    managers[key]?.scan = scan.map { Scan($0, reported: view.discovered.prefix(configuration.peripheralLimit)) }
    let seen = Dictionary(view.peripherals.map { ($0.identifier, $0) }, uniquingKeysWith: { first, _ in first })
    for peer in held.peers(of: key).sorted()
    where seen[peer] == nil || seen[peer]?.state == .disconnected || seen[peer]?.state == .disconnecting {
      guard held[key, peer]?.isWanted == true else { continue }
      releaseConnection(key, peer)
      held[key, peer]?.isTakenBack()
      persistPeripheral(key, peer)
    }
    for shown in view.peripherals.prefix(configuration.peripheralLimit)
    where shown.state == .connected || shown.state == .connecting {
      let peer = shown.identifier
      let known = held[key, peer]
      guard known != nil || hasRoomForPeripheral(key) else { continue }
      _ = keepPeer(peer, wasRequested: true)
      var peripheral = known ?? Peripheral()
      let isSmall = shown.services.map { $0.attributeCount <= configuration.viewLimit } ?? false
      peripheral.resume(as: shown.state, view.connectOptions[peer]?.bounded, isSmall ? shown.services : nil)
      held[key, peer] = peripheral
      persistPeripheral(key, peer)
      // The app knows the services as they were, also those that have moved since.
      uncheckedDatabases.insert(peer)
    }
  }

  /// What has changed about the peripherals while the app could not be told. Links that are gone have been told before.
  /// - Parameter missed: what was queued for it.
  mutating func tellChangesMissed(_ key: ManagerKey, _ view: ManagerView, missed: [AppLink.Event.Body]) {
    guard key.role == .central else { return }
    var modified: [PeerIdentifier: Set<AttributeHandle>] = [:]
    for case .servicesModified(let peer, let handles) in missed { modified[peer, default: []].formUnion(handles) }
    for shown in view.peripherals where shown.state == .connected && held[key, shown.identifier]?.isConnected == true {
      let peer = shown.identifier
      if let name = snapshot(peer, key).name, name != shown.name { tell(key, .nameChanged(peer, name)) }
      if let mtu = knownMTU(of: peer), mtu != shown.mtu { tell(key, .mtuChanged(peer, mtu: UInt16(clamping: mtu))) }
      guard let handles = modified[peer] else { continue }
      let gone = (shown.services ?? []).filter { service in
        handles.contains(service.handle) && bluez.device(peer)?.hasService(service) != true
      }.map(\.handle)
      held[key, peer]?.invalidServices.formUnion(gone)
      tell(key, .servicesModified(peer, invalidated: gone))
    }
  }
}
