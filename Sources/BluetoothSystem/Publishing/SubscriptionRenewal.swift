import AppLink
import BlueZ
import BluetoothTypes
import TimeTypes

/// Waits for a central to subscribe again to services that were registered anew while its link was up.
///
/// When a service is registered anew, bluetoothd forgets its subscribers. A central hears of the change (Service
/// Changed) and subscribes again. It does not if it heard of the change before its bluetoothd could act on it, for
/// example while the link came up. It then goes on believing that it is subscribed, and no value reaches it any more.
/// The next link repairs that, because a central subscribes again on each link. So a link on which a subscription was
/// not renewed is ended, once.
///
/// A latchkeyd that dies while a central's link comes up may lose a subscription that it has not heard of, or has not
/// stored. So the next latchkeyd waits for subscriptions of each central whose link it finds coming up.
///
/// bluetoothd does not say whose a subscription is. On a link that was still coming up, or whose central had subscribed only a moment
/// before (`NewSubscriber`), one that another central may have made renews nothing. A central whose link came up at the
/// registration or after it subscribes by itself, so one subscription for each of those renews nothing either. As many
/// subscriptions as there are centrals are everybody's: bluetoothd reports each one (src/gatt-database.c, `ccc_write_cb`).
struct SubscriptionRenewal: Sendable {
  /// Characteristics whose subscription the central has not renewed, as far as is known.
  private(set) var awaited: Set<LocalAttributeIdentifier> = []
  /// Those that were registered while the link came up, or just after it, so that the central may not have noticed.
  private var unnoticed: Set<LocalAttributeIdentifier> = []
  /// Characteristics of which this latchkeyd does not know whether the central was subscribed.
  private var unheard: Set<LocalAttributeIdentifier> = []
  /// For each characteristic, the devices whose links were up, with services resolved, when it was registered.
  private var present: [LocalAttributeIdentifier: Set<PeerIdentifier>] = [:]
  /// How many subscriptions were reported since then.
  private var reports: [LocalAttributeIdentifier: Int] = [:]
  private(set) var endsAt: Instant?

  /// A discovery and a subscription take a second or two, or ten over a bad link.
  static let patience: Duration = .seconds(15)

  /// - Parameters:
  ///   - present: the devices whose links are up.
  ///   - isComingUp: whether bluetoothd was still discovering the other side's services, as that side does at the same time, or
  ///     had just done so.
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

  /// A subscription to the characteristic was reported.
  /// - Parameter makers: the devices that may have made it.
  mutating func renewed(_ characteristic: LocalAttributeIdentifier, by makers: Set<PeerIdentifier>) {
    reports[characteristic, default: 0] += 1
    let newcomers = makers.subtracting(present[characteristic] ?? [])
    let isOfOneThatWasThere = reports[characteristic] ?? 0 > newcomers.count
    let isEverybodys = reports[characteristic] ?? 0 >= makers.count
    if isEverybodys || isOfOneThatWasThere && !unnoticed.contains(characteristic) {
      awaited.remove(characteristic)
    }
  }

  /// A central has left: the next subscriptions may be those of others once more.
  mutating func countsAnew() { for known in reports.keys { reports[known] = 0 } }

  /// bluetoothd says that nobody is subscribed any more. A central that may not have noticed the registration may go on
  /// believing that it is.
  mutating func nobodyIsSubscribed(to characteristic: LocalAttributeIdentifier) {
    if reports[characteristic] != nil { reports[characteristic] = 0 }
    if awaited.contains(characteristic), unnoticed.contains(characteristic) { unheard.insert(characteristic) }
  }

  /// Whether only a subscription of the central's own renews it, and not that bluetoothd notifies at all.
  func needsOwn(_ characteristic: LocalAttributeIdentifier) -> Bool {
    unnoticed.contains(characteristic) || reports[characteristic] != nil
  }

  /// Whether it is not known if the central was subscribed.
  func isUnheard(_ characteristic: LocalAttributeIdentifier) -> Bool { unheard.contains(characteristic) }
}

extension BluetoothSystem {
  /// bluetoothd has registered a service.
  /// - Parameter isNew: nobody can have subscribed to it before.
  mutating func awaitRenewals(of service: PublishedService, isNew: Bool) {
    let characteristics = service.subscribable.subtracting(service.notifying).sorted()
    let present = Set(bluez.devices.connectedDevices.filter(\.isResolved).map(\.peer))
    for device in linkedCentrals {
      // The time at which the link came up is not known, so the link is older than this latchkeyd.
      let mayBeUnheard = !isNew && !device.isResolved && device.connectedUnixSeconds == nil
      let isYoung = managers[service.manager]?.isNewSubscriber(device.peer, at: now) == true
      for characteristic in characteristics {
        let isKnown = countsAsSubscribed(device.peer, characteristic, of: service.manager)
        guard isKnown || mayBeUnheard else { continue }
        renewals[device.peer, default: SubscriptionRenewal()]
          .awaits(
            characteristic, present: present, isComingUp: !device.isResolved || isYoung, isUnheard: !isKnown, at: now)
      }
    }
  }

  /// bluetoothd has reported a subscription. It does not say whose.
  /// - Parameter makers: the devices that may have made it.
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
