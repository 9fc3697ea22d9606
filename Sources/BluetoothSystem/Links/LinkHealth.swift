import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// What tells a link that works from one that only looks so; of one peripheral, over its links.
struct LinkHealth: Sendable {
  /// When the link came up, or was found; `nil` without one.
  private var since: Instant?
  /// When a link that still can't be used is ended, or its end is asked for again.
  private(set) var checkAt: Instant?
  /// How often in a row that was.
  private(set) var ends = 0
  /// Links in a row that were lost before anything could be asked.
  private(set) var barrenLinks = 0
  /// It came up with a bond: where services resolve on it, the peer has the key as well.
  private var hasBond = false
  /// When the bond came about, where that was on this link.
  private var bondedAt: Instant?
  /// Bonds that were removed as half-made.
  private var removedBonds = 0
  /// How many links in a row ended for want of the peer's key, by bluetoothd's word.
  private var keyFailures = 0

  /// bluetoothd resolves services in a second or two, over a bad link in ten; its own transactions take 30 s at most.
  static let resolveLimit: Duration = .seconds(45)
  /// `Disconnect` takes 2 s.
  static let disconnectLimit: Duration = .seconds(15)
  /// A link whose encryption is refused is gone within that time.
  static let barrenLimit: Duration = .seconds(5)
  /// From then on a half-made bond gets no more links than the last one to show that it is whole.
  static let bondRemovalDoublings = 8
  /// The number of tries bluetoothd 5.86 makes before giving up.
  static let keyFailureLimit = 3

  /// Links have broken off before anything could be asked, over and over.
  var isDoubtful: Bool { barrenLinks >= Self.keyFailureLimit }
  /// How often a half-made bond was removed counts until one has carried a link.
  var hasHistory: Bool { removedBonds > 0 }

  mutating func cameUp(isBonded: Bool, at now: Instant) {
    since = now
    checkAt = now + Self.resolveLimit
    hasBond = isBonded
    bondedAt = nil
  }

  /// A link that was there before this system.
  mutating func wasFound(isResolved: Bool, at now: Instant) {
    if since == nil { since = now }
    if !isResolved { checkAt = now + Self.resolveLimit }
  }

  /// Services are resolved. Returns whether that proves the bond.
  mutating func resolved() -> Bool {
    ends = 0
    barrenLinks = 0
    keyFailures = 0
    checkAt = nil
    return hasBond
  }

  struct Loss {
    /// From this link on, links count as doubtful.
    var isDoubtfulNow = false
    var provesBond = false
  }

  mutating func lost(wasResolved: Bool, isBonded: Bool, at now: Instant) -> Loss {
    let began = since
    since = nil
    checkAt = nil
    var loss = Loss()
    if let began, !wasResolved, isBonded, now < began + Self.barrenLimit {
      barrenLinks += 1
      loss.isDoubtfulNow = barrenLinks == Self.keyFailureLimit
    } else {
      barrenLinks = 0
      keyFailures = 0
    }
    // Where one side lacks the key a link is gone at once. One that was kept for a while has shown that both have it,
    // though none has come up with it yet.
    if let began, isBonded { loss.provesBond = now >= (bondedAt ?? began) + Self.barrenLimit }
    return loss
  }

  /// Returns whether the peer has refused the key too often.
  mutating func keyWasRefused() -> Bool {
    keyFailures += 1
    return keyFailures >= Self.keyFailureLimit
  }

  mutating func forgetKeyFailures() { keyFailures = 0 }

  // MARK: Ending

  /// bluetoothd was asked to end the link: it is looked at again when it must be gone.
  mutating func isAskedToEnd(at now: Instant) { checkAt = now + Self.disconnectLimit }

  /// The link is ended for what it is; where it stays, that is asked again, ever more rarely.
  mutating func isEndedAsDead(at now: Instant) {
    ends += 1
    checkAt = now + BackOff.patient.wait(afterFailures: ends)
  }

  /// Returns whether the link is to be looked at now.
  mutating func takeCheck(at now: Instant) -> Bool {
    guard let due = checkAt, due <= now else { return false }
    checkAt = nil
    return true
  }

  // MARK: Bonds

  mutating func bonded(at now: Instant) { bondedAt = now }
  mutating func bondIsProven() { removedBonds = 0 }

  /// Takes a bond for half-made where enough links have broken off at once: three of the first with a peer, six of the next,
  /// and so on. Returns how many did.
  mutating func judgeBond() -> Int? {
    guard barrenLinks >= Self.keyFailureLimit << min(removedBonds, Self.bondRemovalDoublings) else { return nil }
    let links = barrenLinks
    removedBonds += 1
    barrenLinks = 0
    return links
  }
}

extension BluetoothSystem {
  // MARK: Links that come and go

  func isDoubtful(_ peer: PeerIdentifier) -> Bool {
    links[peer]?.isDoubtful ?? false
  }

  /// Whether apps may be told of the link. Where links have broken off before anything could be asked, over and over,
  /// the next one has to show first that it is better: apps are not woken for nothing.
  func isUsable(_ device: Device?) -> Bool {
    guard let device, device.isUsable else { return false }
    return device.isResolved || !isDoubtful(device.peer)
  }

  mutating func healthOfNewLink(_ peer: PeerIdentifier) {
    links[peer, default: LinkHealth()].cameUp(isBonded: bluez.device(peer)?.isBonded == true, at: now)
  }

  mutating func healthOfResolvedLink(_ peer: PeerIdentifier) {
    if links[peer]?.resolved() == true { bondIsProven(peer) }
  }

  mutating func healthOfLostLink(_ peer: PeerIdentifier, wasResolved: Bool) {
    let isBonded = bluez.device(peer)?.isBonded == true
    guard let loss = links[peer]?.lost(wasResolved: wasResolved, isBonded: isBonded, at: now) else { return }
    if loss.isDoubtfulNow {
      journal(
        .linkBarren,
        [
          .peripheral: peer.uuidString,
          .advice: "If this goes on though the device is near, it may have lost its pairing: "
            + "remove it (bluetoothctl remove) and pair it again.",
        ])
    }
    if loss.provesBond { bondIsProven(peer) }
    removeHalfMadeBond(peer)
    // Somebody else's `Disconnect` may have disarmed the device. A device whose links break off over and over is armed.
    if !isDoubtful(peer) { profile.disarm(peer) }
  }

  /// bluetoothd says why a link ended (Device1.Disconnected, later than BlueZ 5.82).
  mutating func linkEnded(_ path: ObjectPath, _ reason: String) {
    guard reason == "org.bluez.Reason.Authentication", let device = bluez.devices[path], device.isBonded else { return }
    if links[device.peer, default: LinkHealth()].keyWasRefused() { pairingIsGone(device.peer) }
  }

  /// The peer has forgotten the bond: no attempt will ever succeed, so the requests end, and say why.
  mutating func pairingIsGone(_ peer: PeerIdentifier) {
    links[peer]?.forgetKeyFailures()
    guard isWanted(peer) else { return }
    journal(
      .pairingGone,
      [
        .peripheral: peer.uuidString,
        .advice: "The device has removed its pairing: remove it here too (bluetoothctl remove) and pair it again.",
      ])
    for key in sortedManagers(.central) where managers[key]?.peripherals[peer]?.isWanted == true {
      let error = PeerError.coreBluetooth(.peerRemovedPairingInformation, message: "Peer removed pairing information.")
      failOperations(peer, of: key, error)
      if managers[key]?.peripherals[peer]?.isConnected == true {
        tell(
          key,
          .disconnected(peer, error: error, unixSeconds: unixSeconds, isReconnecting: false))
      } else {
        tell(key, .failedToConnect(peer, error))
      }
      managers[key]?.peripherals[peer]?.hasFailed()
      releaseConnection(key, peer)
      persistPeripheral(key, peer)
    }
  }

  // MARK: Dead links

  /// A link that was there before this system: bluetoothd may believe in it though the kernel has none. The
  /// controller knows.
  mutating func probeAdoptedLinks() {
    for device in bluez.devices.values.sorted(by: { $0.path < $1.path }) where device.isConnected {
      guard isWanted(device.peer) else { continue }
      links[device.peer, default: LinkHealth()].wasFound(isResolved: device.isResolved, at: now)
      call(device.path, .readConnectionRSSI, for: .probe(device.peer))
    }
  }

  mutating func probed(_ peer: PeerIdentifier, _ result: Result<Reply, BlueZError>) {
    guard case .failure(let error) = result, error.kind == .notConnected,
      let device = bluez.device(peer), device.isUsable
    else { return }
    journal(.linkPhantom, [.peripheral: peer.uuidString])
    endDeadLink(device)
  }

  mutating func reconcileLinks() {
    for (peer, health) in links.sorted(by: { $0.key < $1.key }) where links[peer]?.takeCheck(at: now) == true {
      guard let device = bluez.device(peer), device.isConnected else { continue }
      if device.isDisconnecting {
        journal(.linkStuck, [.peripheral: peer.uuidString, .times: String(health.ends)])
        endDeadLink(device)
      } else if !device.isResolved, isWanted(peer) {
        journal(.linkUnresolved, [.peripheral: peer.uuidString])
        endDeadLink(device)
      }
    }
    for (peer, queue) in operations.sorted(by: { $0.key < $1.key }) where queue.hasTimedOut(at: now) {
      journal(.operationUnanswered, [.peripheral: peer.uuidString])
      failCurrentOperation(peer, .coreBluetooth(.connectionTimeout, message: "The peripheral does not answer."))
      if let device = bluez.device(peer), device.isUsable { endDeadLink(device) }
    }
  }

  /// Asks bluetoothd to end a link; where it does not, again, ever more rarely.
  private mutating func endDeadLink(_ device: Device) {
    links[device.peer, default: LinkHealth()].isEndedAsDead(at: now)
    bluez.devices[device.path]?.isDisconnecting = true
    profile.disarm(device.peer)
    call(device.path, .disconnect, for: .disconnect(device.peer))
  }

  // MARK: After the machine slept

  /// The kernel's lists are not always restored (bluez/bluez#1079): what was asked is asked again.
  mutating func wokeFromSleep() {
    journal(.machineResumed)
    profile.disarmAll()
    for peer in attempts.keys { attempts[peer]?.renew() }
    probeAdoptedLinks()
  }
}
