import AppLink
import BluetoothTypes

/// Which peripherals' connections one manager wants to hear of, and which of them it knows to be connected.
struct WatchedConnections: Sendable {
  private let services: Set<BluetoothUUID>
  private let peers: Set<PeerIdentifier>
  private var known: Set<PeerIdentifier>

  /// - Parameter connected: what is connected already. That is no event.
  init(_ watch: ConnectionWatch, connected: [Device]) {
    services = Set(watch.services)
    peers = Set(watch.peripherals)
    known = []
    known = matching(connected)
  }

  private func matching(_ devices: [Device]) -> Set<PeerIdentifier> {
    Set(devices.lazy.filter { peers.contains($0.peer) || $0.uuids.contains(where: services.contains) }.map(\.peer))
  }

  /// What has changed since the last call, losses first.
  mutating func changes(connected: [Device]) -> [(peer: PeerIdentifier, isConnected: Bool)] {
    let present = matching(connected)
    defer { known = present }
    return known.subtracting(present).sorted().map { ($0, false) }
      + present.subtracting(known).sorted().map { ($0, true) }
  }
}

/// `registerForConnectionEvents(options:)`: any link counts, whichever app or side made it.
extension BluetoothSystem {
  private var connectedDevices: [Device] {
    bluez.state == .poweredOn ? bluez.devices.values.filter(\.isUsable) : []
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
    let watchers = sortedManagers(.central).filter { managers[$0]?.watched != nil }
    guard !watchers.isEmpty else { return }
    let connected = connectedDevices
    for key in watchers {
      let changes = managers[key]?.watched?.changes(connected: connected) ?? []
      for change in changes {
        tell(key, .connectionEvent(snapshot(change.peer, key), isConnected: change.isConnected))
      }
    }
  }
}
