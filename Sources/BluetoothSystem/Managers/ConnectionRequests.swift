import AppLink
import BlueZ
import BluetoothTypes
import FoundationEssentials
import TimeTypes

/// Apps' connection requests, and what apps are told about them. A request holds until the app cancels it.
extension BluetoothSystem {
  mutating func connect(_ key: ManagerKey, _ peer: PeerIdentifier, _ options: ConnectOptions) {
    let options = options.bounded
    let known = managers[key]?.peripherals[peer]
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
    guard keepPeer(peer, wasRequested: true) else {
      tell(key, .failedToConnect(peer, .unknownDevice))
      return
    }
    var peripheral = known ?? Peripheral()
    let isNew = peripheral.request(options, at: now, unixSeconds: unixSeconds)
    managers[key]?.peripherals[peer] = peripheral
    if isNew { apps[key.app]?.overtook(key, peer) }
    if !isNew, peripheral.isConnected { tell(key, .connected(snapshot(peer, key))) }
    persistPeripheral(key, peer)
    if isNew {
      attempts[peer]?.renew()
      journal(.requestHeld, [.app: key.app, .peripheral: peer.uuidString])
    }
  }

  /// Makes room if there is none, by forgetting peripherals that the app no longer uses.
  private mutating func hasRoomForPeripheral(_ key: ManagerKey) -> Bool {
    func isFull() -> Bool {
      managers[key]?.peripherals.count ?? 0 >= configuration.peripheralLimit
        || managers.values.reduce(0) { $0 + ($1.key.app == key.app ? $1.peripherals.count : 0) }
          >= configuration.appPeripheralLimit
    }
    guard isFull() else { return true }
    let idle = (managers[key]?.peripherals ?? [:]).filter(\.value.isIdle)
    for peer in idle.keys.sorted() {
      managers[key]?.peripherals[peer] = nil
      erase(PeripheralRecord.key(key, peer))
      releasePeer(peer)
    }
    return !isFull()
  }

  mutating func cancelConnection(_ key: ManagerKey, _ peer: PeerIdentifier) {
    guard let peripheral = managers[key]?.peripherals[peer], peripheral.isWanted else { return }
    failOperations(peer, of: key, .coreBluetooth(.operationCancelled, message: "The connection was cancelled."))
    tell(
      key,
      .disconnected(peer, error: nil, unixSeconds: unixSeconds, isReconnecting: false))
    managers[key]?.peripherals[peer]?.isTakenBack()
    apps[key.app]?.overtook(key, peer)
    releaseConnection(key, peer)
    persistPeripheral(key, peer)
  }

  /// The manager no longer wants the peripheral. The link ends when no other manager wants it either.
  mutating func releaseConnection(_ key: ManagerKey, _ peer: PeerIdentifier) {
    guard managers[key]?.peripherals[peer]?.isWanted == true else { return }
    managers[key]?.peripherals[peer]?.release()
    guard !isWanted(peer) else { return }
    attempts[peer]?.forgetFailures()
    dropLink(peer)
    if attempts[peer]?.isConnecting != true { attempts[peer] = nil }
  }

  func isWanted(_ peer: PeerIdentifier) -> Bool {
    managers.values.contains { $0.peripherals[peer]?.isWanted == true }
  }

  // MARK: Telling apps

  /// Tells apps about the loss of connections that they still believe in.
  mutating func tellLostLinks() {
    // Until bluetoothd has been heard for the first time, nothing is known about links.
    guard bluez.wasEverPresent else { return }
    let isOn = bluez.state == .poweredOn
    for key in sortedManagers(.central) {
      let lost = managers[key]?.peripherals.filter { peer, peripheral in
        peripheral.isWanted && peripheral.isConnected && !(isOn && isUsable(bluez.device(peer)))
      }
      for peer in (lost ?? [:]).keys.sorted() { tellLost(key, peer) }
    }
  }

  private mutating func tellLost(_ key: ManagerKey, _ peer: PeerIdentifier) {
    guard var peripheral = managers[key]?.peripherals[peer] else { return }
    failOperations(peer, of: key, .peripheralGone)
    peripheral.linkIsLost(isBonded: bluez.device(peer)?.isBonded, unixSeconds: unixSeconds)
    managers[key]?.peripherals[peer] = peripheral
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
    for key in sortedManagers(.central) where mayWork(key) || apps[key.app]?.process != nil {
      let done = managers[key]?.peripherals.filter { peer, peripheral in
        peripheral.isPending && peripheral.isDue(at: now) && isUsable(bluez.device(peer))
      }
      for peer in (done ?? [:]).keys.sorted() {
        managers[key]?.peripherals[peer]?.linkIsUp(unixSeconds: unixSeconds)
        attempts[peer] = nil
        journal(.requestCompleted, [.app: key.app, .peripheral: peer.uuidString])
        tell(key, .connected(snapshot(peer, key)))
        alert(key, peer, managers[key]?.peripherals[peer]?.options.notifyOnConnection ?? false, "connected")
      }
    }
  }

  // MARK: After the system came back

  /// The app kept running while the system was away. What it holds now is what it wants, and it shows what it was
  /// told.
  mutating func resumeCentral(_ key: ManagerKey, _ view: ManagerView) {
    let isRefused = view.scan.map { refusal(of: $0, key) != nil } ?? false
    let scan = isRefused ? managers[key]?.scan?.request : view.scan
    managers[key]?.scan = scan.map { Scan($0, reported: Set(view.discovered.prefix(configuration.peripheralLimit))) }
    let seen = Dictionary(view.peripherals.map { ($0.identifier, $0) }, uniquingKeysWith: { first, _ in first })
    let known = managers[key]?.peripherals ?? [:]
    for peer in known.keys.sorted()
    where seen[peer] == nil || seen[peer]?.state == .disconnected || seen[peer]?.state == .disconnecting {
      guard known[peer]?.isWanted == true else { continue }
      releaseConnection(key, peer)
      managers[key]?.peripherals[peer]?.isTakenBack()
      persistPeripheral(key, peer)
    }
    for shown in view.peripherals.prefix(configuration.peripheralLimit)
    where shown.state == .connected || shown.state == .connecting {
      let peer = shown.identifier
      guard known[peer] != nil || hasRoomForPeripheral(key), keepPeer(peer, wasRequested: true) else { continue }
      var peripheral = known[peer] ?? Peripheral()
      let isSmall = shown.services.map { $0.attributeCount <= configuration.viewLimit } ?? false
      peripheral.resume(as: shown.state, view.connectOptions[peer]?.bounded, isSmall ? shown.services : nil)
      managers[key]?.peripherals[peer] = peripheral
      persistPeripheral(key, peer)
    }
  }
}
