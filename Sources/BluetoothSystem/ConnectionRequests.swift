import AppLink
import BlueZ
import BluetoothTypes
import FoundationEssentials
import TimeTypes

/// What apps ask of connections, and what they are told. A request holds until the app takes it back.
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
    peripheral.options = options
    let isNew = !peripheral.isWanted
    peripheral.isWanted = true
    if isNew {
      peripheral.notBefore = now + .seconds(options.startDelaySeconds)
      peripheral.told = .connecting
      // What still waits to be told is older than this request.
      peripheral.delivered = .connecting
    }
    managers[key]?.peripherals[peer] = peripheral
    if !isNew, peripheral.told == .connected { tell(key, .connected(snapshot(peer, key))) }
    persistPeripheral(key, peer)
    if isNew {
      attempts[peer]?.renew()
      journal(.requestHeld, [.app: key.app, .peripheral: peer.uuidString])
    }
  }

  /// Makes room, where there is none, by forgetting peripherals that the app has nothing to do with any more.
  private mutating func hasRoomForPeripheral(_ key: ManagerKey) -> Bool {
    func isFull() -> Bool {
      managers[key]?.peripherals.count ?? 0 >= configuration.peripheralLimit
        || managers.values.reduce(0) { $0 + ($1.key.app == key.app ? $1.peripherals.count : 0) }
          >= configuration.appPeripheralLimit
    }
    guard isFull() else { return true }
    let idle = (managers[key]?.peripherals ?? [:]).filter { _, peripheral in
      !peripheral.isWanted && peripheral.told == .disconnected && peripheral.delivered == .disconnected
    }
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
    managers[key]?.peripherals[peer]?.told = .disconnected
    // The app knows what it has taken back, whether or not it has heard the answer.
    managers[key]?.peripherals[peer]?.delivered = .disconnected
    releaseConnection(key, peer)
    persistPeripheral(key, peer)
  }

  /// The manager no longer wants the peripheral; the link goes when nobody else does.
  mutating func releaseConnection(_ key: ManagerKey, _ peer: PeerIdentifier) {
    guard var peripheral = managers[key]?.peripherals[peer], peripheral.isWanted else { return }
    peripheral.isWanted = false
    peripheral.services = peripheral.services?.withoutSubscriptions
    managers[key]?.peripherals[peer] = peripheral
    guard !isWanted(peer) else { return }
    attempts[peer]?.forgetFailures()
    dropLink(peer)
    if attempts[peer]?.isConnecting != true { attempts[peer] = nil }
  }

  func isWanted(_ peer: PeerIdentifier) -> Bool {
    managers.values.contains { $0.peripherals[peer]?.isWanted == true }
  }

  // MARK: Telling

  /// A peripheral that the app believes connected is not any more.
  mutating func tellLostLinks() {
    // Before bluetoothd was heard for the first time, nothing is known of any link.
    guard bluez.wasEverPresent else { return }
    let isOn = bluez.state == .poweredOn
    for key in sortedManagers(.central) {
      let lost = managers[key]?.peripherals.filter { peer, peripheral in
        peripheral.isWanted && peripheral.told == .connected && !(isOn && isUsable(bluez.device(peer)))
      }
      for peer in (lost ?? [:]).keys.sorted() { tellLost(key, peer) }
    }
  }

  private mutating func tellLost(_ key: ManagerKey, _ peer: PeerIdentifier) {
    guard var peripheral = managers[key]?.peripherals[peer] else { return }
    failOperations(peer, of: key, .peripheralGone)
    let isReconnecting = peripheral.options.enableAutoReconnect
    peripheral.isWanted = isReconnecting
    peripheral.told = isReconnecting ? .connecting : .disconnected
    if bluez.device(peer)?.isBonded == false {
      peripheral.services = peripheral.services?.withoutSubscriptions
    }
    managers[key]?.peripherals[peer] = peripheral
    tell(
      key,
      .disconnected(
        peer, error: .coreBluetooth(.connectionTimeout, message: "The connection has timed out unexpectedly."),
        unixSeconds: unixSeconds, isReconnecting: isReconnecting))
    persistPeripheral(key, peer)
    alert(key, peer, peripheral.options.notifyOnDisconnection, "disconnected")
  }

  /// A peripheral that the app waits for is there.
  mutating func tellConnections() {
    guard bluez.state == .poweredOn else { return }
    for key in sortedManagers(.central) where mayWork(key) || apps[key.app]?.process != nil {
      let done = managers[key]?.peripherals.filter { peer, peripheral in
        peripheral.isWanted && peripheral.told != .connected && peripheral.notBefore <= now
          && isUsable(bluez.device(peer))
      }
      for peer in (done ?? [:]).keys.sorted() {
        managers[key]?.peripherals[peer]?.told = .connected
        attempts[peer] = nil
        journal(.requestCompleted, [.app: key.app, .peripheral: peer.uuidString])
        tell(key, .connected(snapshot(peer, key)))
        alert(key, peer, managers[key]?.peripherals[peer]?.options.notifyOnConnection ?? false, "connected")
      }
    }
  }

  /// F5: what the user is shown while the app is suspended.
  mutating func alert(_ key: ManagerKey, _ peer: PeerIdentifier, _ isWanted: Bool, _ what: String) {
    guard isWanted, apps[key.app]?.state == .suspended else { return }
    journal(.userAlert, [.app: key.app, .peripheral: peer.uuidString, .about: what])
  }

  // MARK: After the system came back

  /// The app has gone on while the system was away: what it holds now is what it wants, and what it was told is what
  /// it shows.
  mutating func resumeCentral(_ key: ManagerKey, _ view: ManagerView) {
    if view.scan.map({ refusal(of: $0, key) == nil }) ?? true { managers[key]?.scan = view.scan }
    managers[key]?.reported = Set(view.discovered.prefix(configuration.peripheralLimit))
    let seen = Dictionary(view.peripherals.map { ($0.identifier, $0) }, uniquingKeysWith: { first, _ in first })
    let known = managers[key]?.peripherals ?? [:]
    for peer in known.keys.sorted()
    where seen[peer] == nil || seen[peer]?.state == .disconnected || seen[peer]?.state == .disconnecting {
      guard known[peer]?.isWanted == true else { continue }
      releaseConnection(key, peer)
      managers[key]?.peripherals[peer]?.told = .disconnected
      managers[key]?.peripherals[peer]?.delivered = .disconnected
      persistPeripheral(key, peer)
    }
    for shown in view.peripherals.prefix(configuration.peripheralLimit)
    where shown.state == .connected || shown.state == .connecting {
      let peer = shown.identifier
      guard known[peer] != nil || hasRoomForPeripheral(key), keepPeer(peer, wasRequested: true) else { continue }
      var peripheral = known[peer] ?? Peripheral()
      peripheral.isWanted = true
      peripheral.options = view.connectOptions[peer]?.bounded ?? peripheral.options
      peripheral.told = shown.state
      peripheral.delivered = shown.state
      if let services = shown.services, services.attributeCount <= configuration.viewLimit {
        peripheral.services = services
      }
      managers[key]?.peripherals[peer] = peripheral
      persistPeripheral(key, peer)
    }
  }
}

extension ConnectOptions {
  /// With a delay that is a number: none, or a day at most.
  var bounded: ConnectOptions {
    var options = self
    options.startDelaySeconds = startDelaySeconds.isFinite ? min(max(startDelaySeconds, 0), 86400) : 0
    return options
  }
}

extension [ServiceSnapshot] {
  var attributeCount: Int {
    reduce(0) { sum, service in
      sum + 1 + (service.includedServices?.count ?? 0)
        + (service.characteristics ?? []).reduce(0) { $0 + 1 + ($1.descriptors?.count ?? 0) }
    }
  }

  var withoutSubscriptions: [ServiceSnapshot] {
    map { service in
      var service = service
      service.characteristics = service.characteristics?.map { characteristic in
        var characteristic = characteristic
        characteristic.isNotifying = false
        return characteristic
      }
      return service
    }
  }
}
