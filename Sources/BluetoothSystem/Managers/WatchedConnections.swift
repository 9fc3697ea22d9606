import AppLink
import BluetoothTypes

/// Which peripherals' connections one manager wants to hear of, and which of them it knows to be connected.
struct WatchedConnections: Sendable {
  private let services: Set<BluetoothUUID>
  private let peers: Set<PeerIdentifier>
  private(set) var known: Set<PeerIdentifier>

  /// - Parameter connected: what is connected already. That is no event.
  init(_ watch: ConnectionWatch, connected: [Device]) {
    services = Set(watch.services)
    peers = Set(watch.peripherals)
    known = []
    known = Set(connected.lazy.filter(matches).map(\.peer))
  }

  private func matches(_ device: Device) -> Bool {
    peers.contains(device.peer) || device.uuids.contains(where: services.contains)
  }

  /// What has changed since the last call, losses first.
  /// - Parameters:
  ///   - changed: the peers of which something has changed since the last call.
  ///   - connected: the device of such a peer, if it is connected.
  mutating func changes(
    of changed: Set<PeerIdentifier>, connected: (PeerIdentifier) -> Device?
  ) -> [(peer: PeerIdentifier, isConnected: Bool)] {
    var (lost, found): ([PeerIdentifier], [PeerIdentifier]) = ([], [])
    for peer in changed {
      let isPresent = connected(peer).map(matches) ?? false
      if isPresent, known.insert(peer).inserted { found.append(peer) }
      if !isPresent, known.remove(peer) != nil { lost.append(peer) }
    }
    return lost.sorted().map { ($0, false) } + found.sorted().map { ($0, true) }
  }
}

/// `registerForConnectionEvents(options:)`: any link counts, whichever app or side made it.
extension BluetoothSystem {
  private var connectedDevices: [Device] {
    bluez.state == .poweredOn ? bluez.devices.connectedDevices.filter(\.isUsable) : []
  }

  mutating func watchConnections(_ key: ManagerKey, _ watch: ConnectionWatch?) {
    guard let watch else {
      managers[key]?.watched = nil
      return
    }
    guard watch.services.count <= configuration.uuidLimit, watch.peripherals.count <= configuration.peripheralLimit
    else {
      return misplaced(key.app, "An app watches the connections of at most \(configuration.uuidLimit) services.")
    }
    let watched = WatchedConnections(watch, connected: connectedDevices)
    managers[key]?.watched = watched
  }

  mutating func tellConnectionEvents() {
    let watchers = managers.watching
    guard !watchers.isEmpty else { return }
    let changed = changedPeers()
    let (isOn, mirror) = (bluez.state == .poweredOn, bluez)
    for key in watchers {
      let changes =
        managers[key]?.watched?.changes(of: changed) { peer in
          mirror.device(peer).flatMap { isOn && $0.isUsable ? $0 : nil }
        } ?? []
      for change in changes {
        tell(key, .connectionEvent(snapshot(change.peer, key), isConnected: change.isConnected))
      }
    }
  }
}
