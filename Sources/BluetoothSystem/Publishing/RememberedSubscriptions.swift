import AppLink
import BluetoothTypes

/// Bonded centrals that bluetoothd keeps subscribed after their links are lost.
struct RememberedSubscriptions: Sendable {
  private var centrals: [LocalAttributeIdentifier: Set<PeerIdentifier>] = [:]

  /// - Parameter some: if not `nil`, only these.
  func centrals(of characteristic: LocalAttributeIdentifier, among some: Set<PeerIdentifier>?) -> [PeerIdentifier] {
    let all = centrals[characteristic] ?? []
    return (some.map { all.intersection($0) } ?? all).sorted()
  }

  func includes(_ central: PeerIdentifier, of characteristic: LocalAttributeIdentifier) -> Bool {
    centrals[characteristic]?.contains(central) == true
  }

  func includes(_ central: PeerIdentifier) -> Bool { centrals.values.contains { $0.contains(central) } }

  /// Returns whether the subscription is new.
  @discardableResult mutating func add(_ record: SubscriptionRecord) -> Bool {
    centrals[record.characteristic, default: []].insert(record.central).inserted
  }

  /// Returns whether the subscription existed.
  mutating func remove(_ central: PeerIdentifier, from characteristic: LocalAttributeIdentifier) -> Bool {
    centrals[characteristic]?.remove(central) != nil
  }

  /// The characteristic was removed. Returns its former subscribers.
  mutating func removeAll(of characteristic: LocalAttributeIdentifier) -> [PeerIdentifier] {
    (centrals.removeValue(forKey: characteristic) ?? []).sorted()
  }
}
