import AppLink
import TimeTypes

/// A central that subscribed a moment ago. bluetoothd may have discovered its services already, so that its link counts as up,
/// while its own side is not ready yet and acts on no change of this machine's services. bluetoothd does not say how old a
/// link is, so this is on disk: a latchkeyd that dies now leaves it to the next one.
package struct NewSubscriber: Sendable, Hashable {
  package var central: PeerIdentifier
  /// By the machine's clock, which begins anew with each of its starts; no link outlives that.
  package var youngUntil: Instant

  package init(central: PeerIdentifier, youngUntil: Instant) {
    (self.central, self.youngUntil) = (central, youngUntil)
  }
}

extension Manager {
  mutating func noteNewSubscriber(_ central: PeerIdentifier, at now: Instant) {
    newSubscribers.removeAll { $0.central == central || $0.youngUntil <= now }
    newSubscribers.append(NewSubscriber(central: central, youngUntil: now + SubscriptionRenewal.patience))
  }

  func isNewSubscriber(_ central: PeerIdentifier, at now: Instant) -> Bool {
    newSubscribers.contains { $0.central == central && $0.youngUntil > now }
  }
}
