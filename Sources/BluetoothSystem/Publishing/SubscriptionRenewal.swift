import AppLink
import BlueZ
import BluetoothTypes
import TimeTypes

/// A linked central that counts as subscribed to a service which was registered anew on its link, and that bluetoothd has
/// not reported as subscribed since.
///
/// With a registration bluetoothd forgets its subscribers. A central hears of the change (Service Changed) and subscribes
/// again. It does not if it heard that before its bluetoothd could act on it, for example while the link came up: it
/// then goes on believing that it is subscribed, and no value reaches it any more. The next link repairs that, because
/// a central subscribes again on each link. So a link on which nothing was renewed is ended, once.
struct SubscriptionRenewal: Sendable {
  /// Characteristics of which no subscription was reported since their registration.
  private(set) var awaited: Set<LocalAttributeIdentifier> = []
  private(set) var endsAt: Instant?

  /// A discovery and a subscription take a second or two, or ten over a bad link.
  static let patience: Duration = .seconds(15)

  mutating func awaits(_ characteristic: LocalAttributeIdentifier, at now: Instant) {
    awaited.insert(characteristic)
    endsAt = now + Self.patience
  }

  mutating func renewed(_ characteristic: LocalAttributeIdentifier) { awaited.remove(characteristic) }
}

extension BluetoothSystem {
  /// bluetoothd has registered a service.
  mutating func awaitRenewals(of service: PublishedService) {
    let characteristics = service.paths.keys.filter { !service.notifying.contains($0) }.sorted()
    for device in linkedCentrals {
      for characteristic in characteristics where countsAsSubscribed(device.peer, characteristic, of: service.manager) {
        renewals[device.peer, default: SubscriptionRenewal()].awaits(characteristic, at: now)
      }
    }
  }

  /// bluetoothd has reported a subscription. It does not say whose, so it counts for every central.
  mutating func subscriptionRenewed(_ characteristic: LocalAttributeIdentifier, by peer: PeerIdentifier) {
    guard var renewal = renewals[peer] else { return }
    renewal.renewed(characteristic)
    renewals[peer] = renewal.awaited.isEmpty ? nil : renewal
  }

  mutating func reconcileRenewals() {
    for peer in renewals.due(at: now) {
      guard let renewal = renewals.removeValue(forKey: peer) else { continue }
      endUnrenewedLink(peer, renewal.awaited)
    }
  }

  private mutating func endUnrenewedLink(_ peer: PeerIdentifier, _ awaited: Set<LocalAttributeIdentifier>) {
    guard let device = bluez.device(peer), device.isUsable, !isWanted(peer), !isPairing(device) else { return }
    let isOwed = publishing.services.values.contains { service in
      awaited.contains { characteristic in
        service.paths[characteristic] != nil && !service.notifying.contains(characteristic)
          && countsAsSubscribed(peer, characteristic, of: service.manager)
      }
    }
    guard isOwed else { return }
    journal(.subscriptionsUnrenewed, [.central: peer.uuidString])
    askToDisconnect(device)
  }

  private func countsAsSubscribed(
    _ peer: PeerIdentifier, _ characteristic: LocalAttributeIdentifier, of manager: ManagerKey
  ) -> Bool {
    remembered.includes(peer, of: characteristic)
      || managers[manager]?.subscribers[characteristic]?.contains(peer) == true
  }
}
