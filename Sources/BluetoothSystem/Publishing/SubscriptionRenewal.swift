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
///
/// A latchkeyd that dies while a central's link comes up takes a subscription with it of which it has not heard, or that it
/// has not stored. So the next one expects subscriptions of each central whose link it finds coming up.
///
/// bluetoothd does not say whose a subscription is. On a link that was still coming up, one that another central may have made
/// renews nothing. A central whose link came up at the registration or after it subscribes by itself, so one subscription for
/// each of those renews nothing either.
struct SubscriptionRenewal: Sendable {
  /// Characteristics of which no subscription was reported since their registration.
  private(set) var awaited: Set<LocalAttributeIdentifier> = []
  /// Those that were registered while the link came up, so that the central may not have noticed.
  private var unnoticed: Set<LocalAttributeIdentifier> = []
  /// Those to which the central may have subscribed without anybody's knowledge.
  private var unheard: Set<LocalAttributeIdentifier> = []
  /// The devices whose links were up when a characteristic was registered.
  private var present: [LocalAttributeIdentifier: Set<PeerIdentifier>] = [:]
  /// How many subscriptions were reported since then.
  private var reports: [LocalAttributeIdentifier: Int] = [:]
  private(set) var endsAt: Instant?

  /// A discovery and a subscription take a second or two, or ten over a bad link.
  static let patience: Duration = .seconds(15)

  /// - Parameters:
  ///   - present: the devices whose links are up.
  ///   - isComingUp: whether bluetoothd was still discovering the other side's services, as that side does at the same time.
  ///   - isUnheard: nobody knows whether the central was subscribed.
  mutating func awaits(
    _ characteristic: LocalAttributeIdentifier, present: Set<PeerIdentifier>, isComingUp: Bool, isUnheard: Bool,
    at now: Instant
  ) {
    awaited.insert(characteristic)
    self.present[characteristic] = present
    reports[characteristic] = nil
    if isUnheard { unheard.insert(characteristic) }
    if isComingUp { unnoticed.insert(characteristic) } else { unnoticed.remove(characteristic) }
    endsAt = now + Self.patience
  }

  /// - Parameter makers: those who can have subscribed.
  mutating func renewed(_ characteristic: LocalAttributeIdentifier, by makers: Set<PeerIdentifier>) {
    reports[characteristic, default: 0] += 1
    let newcomers = makers.subtracting(present[characteristic] ?? [])
    let isOfOneThatWasThere = reports[characteristic] ?? 0 > newcomers.count
    if makers.count == 1 || isOfOneThatWasThere && !unnoticed.contains(characteristic) {
      awaited.remove(characteristic)
    }
  }

  /// Whether only a subscription of the central's own renews it, and not that bluetoothd notifies at all.
  func needsOwn(_ characteristic: LocalAttributeIdentifier) -> Bool {
    unnoticed.contains(characteristic) || reports[characteristic] != nil
  }

  /// Whether the central may have subscribed without anybody's knowledge.
  func isUnheard(_ characteristic: LocalAttributeIdentifier) -> Bool { unheard.contains(characteristic) }
}

extension BluetoothSystem {
  /// bluetoothd has registered a service.
  /// - Parameter isNew: nobody can have subscribed to it before.
  mutating func awaitRenewals(of service: PublishedService, isNew: Bool) {
    let characteristics = service.subscribable.subtracting(service.notifying).sorted()
    let present = Set(bluez.devices.connectedDevices.filter(\.isResolved).map(\.peer))
    for device in linkedCentrals {
      // Nobody knows since when the link has been there, so it was there before this latchkeyd.
      let mayBeUnheard = !isNew && !device.isResolved && device.connectedUnixSeconds == nil
      for characteristic in characteristics {
        let isKnown = countsAsSubscribed(device.peer, characteristic, of: service.manager)
        guard isKnown || mayBeUnheard else { continue }
        renewals[device.peer, default: SubscriptionRenewal()]
          .awaits(
            characteristic, present: present, isComingUp: !device.isResolved, isUnheard: !isKnown, at: now)
      }
    }
  }

  /// bluetoothd has reported a subscription. It does not say whose.
  /// - Parameter makers: those who can have made it.
  mutating func subscriptionRenewed(_ characteristic: LocalAttributeIdentifier, by makers: [Device]) {
    let makers = Set(makers.map(\.peer))
    for peer in makers {
      guard var renewal = renewals[peer] else { continue }
      renewal.renewed(characteristic, by: makers)
      renewals[peer] = renewal.awaited.isEmpty ? nil : renewal
    }
  }

  mutating func reconcileRenewals() {
    for peer in renewals.due(at: now) {
      guard let renewal = renewals.removeValue(forKey: peer) else { continue }
      endUnrenewedLink(peer, renewal)
    }
  }

  private mutating func endUnrenewedLink(_ peer: PeerIdentifier, _ renewal: SubscriptionRenewal) {
    guard let device = bluez.device(peer), device.isUsable, !isWanted(peer), !isPairing(device) else { return }
    let isOwed = publishing.services.values.contains { service in
      renewal.awaited.contains { characteristic in
        service.paths[characteristic] != nil
          && (renewal.needsOwn(characteristic) || !service.notifying.contains(characteristic))
          && (renewal.isUnheard(characteristic) || countsAsSubscribed(peer, characteristic, of: service.manager))
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
