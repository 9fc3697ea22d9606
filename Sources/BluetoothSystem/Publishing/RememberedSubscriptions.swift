import AppLink
import BluetoothTypes

/// Bonded centrals that bluetoothd keeps subscribed over the loss of their links.
struct RememberedSubscriptions: Sendable {
  private var centrals: [LocalAttributeIdentifier: Set<PeerIdentifier>] = [:]

  func centrals(of characteristic: LocalAttributeIdentifier) -> [PeerIdentifier] {
    (centrals[characteristic] ?? []).sorted()
  }

  func includes(_ central: PeerIdentifier) -> Bool { centrals.values.contains { $0.contains(central) } }

  /// Returns whether it is new.
  @discardableResult mutating func add(_ record: SubscriptionRecord) -> Bool {
    centrals[record.characteristic, default: []].insert(record.central).inserted
  }

  /// Returns whether it was there.
  mutating func remove(_ central: PeerIdentifier, from characteristic: LocalAttributeIdentifier) -> Bool {
    centrals[characteristic]?.remove(central) != nil
  }

  /// The characteristic is gone. Returns who was subscribed to it.
  mutating func removeAll(of characteristic: LocalAttributeIdentifier) -> [PeerIdentifier] {
    (centrals.removeValue(forKey: characteristic) ?? []).sorted()
  }
}
