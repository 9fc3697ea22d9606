import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// What tells a link that works from one that only looks so.
struct LinkHealth: Sendable {
  /// When the link came up, or was found; `nil` without one.
  var since: Instant?
  /// When a link that still can't be used is ended, or its end is asked for again.
  var checkAt: Instant?
  /// How often in a row that was.
  var ends = 0
  /// Links in a row that were lost before anything could be asked.
  var barrenLinks = 0
  /// It came up with a bond: where services resolve on it, the peer has the key as well.
  var hasBond = false
  /// When the bond came about, where that was on this link.
  var bondedAt: Instant?
  /// Bonds that were removed as half-made.
  var removedBonds = 0
  /// Of those, how many for want of the peer's key, by bluetoothd's word.
  var keyFailures = 0

  /// bluetoothd resolves services in a second or two, over a bad link in ten; its own transactions take 30 s at most.
  static let resolveLimit: Duration = .seconds(45)
  /// `Disconnect` takes 2 s.
  static let disconnectLimit: Duration = .seconds(15)
  /// A link whose encryption is refused is gone within that time.
  static let barrenLimit: Duration = .seconds(5)
  /// Beyond it a half-made bond is not given more links than before to show that it is none.
  static let bondRemovalDoublings = 8
  /// As often bluetoothd 5.86 tries before it gives up.
  static let keyFailureLimit = 3
}

extension BluetoothSystem {
  // MARK: Links that come and go

  func isDoubtful(_ peer: PeerIdentifier) -> Bool {
    (links[peer]?.barrenLinks ?? 0) >= LinkHealth.keyFailureLimit
  }

  /// Whether apps may be told of the link. Where links have broken off before anything could be asked, over and over,
  /// the next one has to show first that it is better: apps are not woken for nothing.
  func isUsable(_ device: Device?) -> Bool {
    guard let device, device.isUsable else { return false }
    return device.isResolved || !isDoubtful(device.peer)
  }

  mutating func healthOfNewLink(_ peer: PeerIdentifier) {
    links[peer, default: LinkHealth()].since = now
    links[peer]?.checkAt = now + LinkHealth.resolveLimit
    links[peer]?.hasBond = bluez.device(peer)?.isBonded == true
    links[peer]?.bondedAt = nil
  }

  mutating func healthOfResolvedLink(_ peer: PeerIdentifier) {
    guard var health = links[peer] else { return }
    health.ends = 0
    health.barrenLinks = 0
    health.keyFailures = 0
    health.checkAt = nil
    links[peer] = health
    if health.hasBond { bondIsProven(peer) }
  }

  mutating func healthOfLostLink(_ peer: PeerIdentifier, wasResolved: Bool) {
    guard var health = links[peer] else { return }
    let since = health.since
    health.since = nil
    health.checkAt = nil
    if let since, !wasResolved, bluez.device(peer)?.isBonded == true, now < since + LinkHealth.barrenLimit {
      health.barrenLinks += 1
      if health.barrenLinks == LinkHealth.keyFailureLimit {
        journal(
          "link.barren",
          [
            "peripheral": peer.uuidString,
            "advice": "If this goes on though the device is near, it may have lost its pairing: "
              + "remove it (bluetoothctl remove) and pair it again.",
          ])
      }
    } else {
      health.barrenLinks = 0
      health.keyFailures = 0
    }
    links[peer] = health
    // Where one side lacks the key a link is gone at once. One that was worn for a while, by whoever walks off now, has
    // shown that both have it, though none has come up with it yet.
    if let since, bluez.device(peer)?.isBonded == true, now >= (health.bondedAt ?? since) + LinkHealth.barrenLimit {
      bondIsProven(peer)
    }
    removeHalfMadeBond(peer)
    // Somebody else's `Disconnect` may have disarmed the device. A device whose links break off over and over is armed.
    if !isDoubtful(peer) { profile.armed.remove(peer) }
  }

  /// bluetoothd says why a link ended (Device1.Disconnected, later than BlueZ 5.82).
  mutating func linkEnded(_ path: ObjectPath, _ reason: String) {
    guard reason == "org.bluez.Reason.Authentication", let device = bluez.devices[path], device.isBonded else { return }
    links[device.peer, default: LinkHealth()].keyFailures += 1
    guard let failures = links[device.peer]?.keyFailures, failures >= LinkHealth.keyFailureLimit else { return }
    pairingIsGone(device.peer)
  }

  /// The peer has forgotten the bond: no attempt will ever succeed, so the requests end, and say why.
  mutating func pairingIsGone(_ peer: PeerIdentifier) {
    links[peer]?.keyFailures = 0
    guard isWanted(peer) else { return }
    journal(
      "pairing.gone",
      [
        "peripheral": peer.uuidString,
        "advice": "The device has removed its pairing: remove it here too (bluetoothctl remove) and pair it again.",
      ])
    for key in sortedManagers(.central) where managers[key]?.peripherals[peer]?.isWanted == true {
      let error = PeerError.coreBluetooth(.peerRemovedPairingInformation, message: "Peer removed pairing information.")
      failOperations(peer, of: key, error)
      if managers[key]?.peripherals[peer]?.told == .connected {
        tell(
          key,
          .disconnected(peer, error: error, unixSeconds: unixSeconds, isReconnecting: false))
      } else {
        tell(key, .failedToConnect(peer, error))
      }
      managers[key]?.peripherals[peer]?.told = .disconnected
      releaseConnection(key, peer)
      persistPeripheral(key, peer)
    }
  }

  // MARK: Links that are none

  /// A link that was there before this system: bluetoothd may believe in it though the kernel has none. The
  /// controller knows.
  mutating func probeAdoptedLinks() {
    for device in bluez.devices.values.sorted(by: { $0.path < $1.path }) where device.isConnected {
      guard isWanted(device.peer) else { continue }
      if links[device.peer]?.since == nil { links[device.peer, default: LinkHealth()].since = now }
      if !device.isResolved { links[device.peer]?.checkAt = now + LinkHealth.resolveLimit }
      call(device.path, .readConnectionRSSI, for: .probe(device.peer))
    }
  }

  mutating func probed(_ peer: PeerIdentifier, _ result: Result<Reply, BlueZError>) {
    guard case .failure(let error) = result, error.name == BlueZError.notConnected.name,
      let device = bluez.device(peer), device.isUsable
    else { return }
    journal("link.phantom", ["peripheral": peer.uuidString])
    endDeadLink(device)
  }

  mutating func reconcileLinks() {
    for (peer, health) in links.sorted(by: { $0.key < $1.key }) {
      guard let checkAt = health.checkAt, checkAt <= now else { continue }
      links[peer]?.checkAt = nil
      guard let device = bluez.device(peer), device.isConnected else { continue }
      if device.isDisconnecting {
        journal("link.stuck", ["peripheral": peer.uuidString, "times": String(health.ends)])
        endDeadLink(device)
      } else if !device.isResolved, isWanted(peer) {
        journal("link.unresolved", ["peripheral": peer.uuidString])
        endDeadLink(device)
      }
    }
    for (peer, queue) in operations.sorted(by: { $0.key < $1.key }) {
      guard let deadline = queue.deadline, deadline <= now, queue.current != nil else { continue }
      operations[peer]?.deadline = nil
      journal("operation.unanswered", ["peripheral": peer.uuidString])
      failCurrentOperation(peer, .coreBluetooth(.connectionTimeout, message: "The peripheral does not answer."))
      if let device = bluez.device(peer), device.isUsable { endDeadLink(device) }
    }
  }

  /// Asks bluetoothd to end a link; where it does not, again, ever more rarely.
  private mutating func endDeadLink(_ device: Device) {
    let ends = (links[device.peer]?.ends ?? 0) + 1
    links[device.peer, default: LinkHealth()].ends = ends
    links[device.peer]?.checkAt = now + BackOff.patient.wait(afterFailures: ends)
    bluez.devices[device.path]?.isDisconnecting = true
    profile.armed.remove(device.peer)
    call(device.path, .disconnect, for: .disconnect(device.peer))
  }

  // MARK: After the machine slept

  /// The kernel's lists are not always restored (bluez/bluez#1079): what was asked is asked again.
  mutating func wokeFromSleep() {
    journal("machine.resumed")
    profile.armed = []
    for peer in attempts.keys { attempts[peer]?.renew() }
    probeAdoptedLinks()
  }
}
