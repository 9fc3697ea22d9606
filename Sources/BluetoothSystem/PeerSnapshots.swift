import AppLink
import BluetoothTypes

/// What apps are shown of peers.
extension BluetoothSystem {
  func snapshot(_ peer: PeerIdentifier, _ key: ManagerKey) -> PeripheralSnapshot {
    let peripheral = held[key, peer]
    return snapshot(peer, peripheral?.told, peripheral?.services)
  }

  /// What the app's last process knew. What has happened since is told after the restoration.
  func restoredSnapshot(_ peer: PeerIdentifier, _ key: ManagerKey) -> PeripheralSnapshot {
    let peripheral = held[key, peer]
    return snapshot(peer, peripheral?.delivered, peripheral?.restoredServices)
  }

  private func snapshot(
    _ peer: PeerIdentifier, _ state: PeripheralState?, _ services: [ServiceSnapshot]?
  ) -> PeripheralSnapshot {
    PeripheralSnapshot(
      identifier: peer, name: name(of: peer), state: state ?? .disconnected,
      services: services, mtu: mtu(of: peer))
  }

  /// What apps and people call it, also while bluetoothd has not heard its name again.
  func name(of peer: PeerIdentifier) -> String? {
    bluez.device(peer)?.name ?? peers[peer]?.name ?? identifiers.name(of: peer)
  }

  func centralSnapshot(_ peer: PeerIdentifier) -> CentralSnapshot {
    CentralSnapshot(identifier: peer, maximumUpdateValueLength: ATTLimits.updateLength(mtu: mtu(of: peer)))
  }
}
