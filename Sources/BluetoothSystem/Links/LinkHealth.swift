import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// Tells working links from links that only look alive. One value per peripheral, over all its links.
struct LinkHealth: Sendable {
  /// When the link came up or was found, or `nil` without a link.
  private var since: Instant?
  /// When to end a link that still can't be used, or to ask again for its end.
  private(set) var checkAt: Instant?
  /// How many times in a row a link was ended as dead.
  private(set) var ends = 0
  var brief = BriefLinks()
  /// Links in a row that were lost before anything could be asked over them.
  private(set) var barrenLinks = 0
  /// The link came up with a bond: if services resolve on it, the peer has the key as well.
  private var hasBond = false
  /// When the bond was made, if it was made on this link.
  private var bondedAt: Instant?
  /// When the link will have lasted long enough to prove its bond, if that is not proven yet.
  private var provesBondAt: Instant?
  /// How many bonds were removed as half-made.
  private var removedBonds = 0
  /// How many links in a row ended because the peer lacked the key, according to bluetoothd.
  private var keyFailures = 0
  /// Links since the last good one that the peer has broken off at once, and did not merely lose.
  private var refusals = 0
  /// The signal with which the present link came up, in dBm, if it was asked for.
  private var signal: Int8?

  /// bluetoothd resolves services in a second or two, or ten over a bad link. Its own transactions take 30 s at most.
  static let resolveLimit: Duration = .seconds(45)
  /// `Disconnect` takes 2 s.
  static let disconnectLimit: Duration = .seconds(15)
  /// A link whose encryption is refused is gone within this time.
  static let barrenLimit: Duration = .seconds(5)
  /// A peer that says something this long after the bond has stored its key.
  static let bondedAnswerLimit: Duration = .seconds(1)
  /// After this many removals, the number of links that prove a bond half-made grows no further.
  static let bondRemovalDoublings = 8
  /// The number of tries bluetoothd 5.86 makes before giving up.
  static let keyFailureLimit = 3
  /// Signals in dBm with which a link is not lost within `barrenLimit`. The weakest is 15 dB above what any usual
  /// controller still receives. Controllers say 0 or 127 before they have received a packet.
  static let nearSignals: ClosedRange<Int8> = -75 ... -1

  /// Several links in a row have broken off before anything could be asked over them.
  var isDoubtful: Bool { barrenLinks >= Self.keyFailureLimit }
  /// The last link has broken off so.
  var hasBarrenLinks: Bool { barrenLinks > 0 }
  /// The peer has broken off several links at once.
  var isRefused: Bool { refusals >= Self.keyFailureLimit }
  /// Some half-made bonds were removed. They count until a bond has carried a link.
  var hasHistory: Bool { removedBonds > 0 }

  mutating func cameUp(isBonded: Bool, at now: Instant) {
    since = now
    checkAt = now + Self.resolveLimit
    hasBond = isBonded
    bondedAt = nil
    provesBondAt = nil
    signal = nil
    brief.linkCameUp(at: now)
  }

  mutating func signalWasRead(_ signal: Int8) { self.signal = signal }

  /// The link existed before this system started.
  mutating func wasFound(isResolved: Bool, isBondUnproven: Bool, at now: Instant) {
    if since == nil { since = now }
    if !isResolved { checkAt = now + Self.resolveLimit }
    if isBondUnproven { provesBondAt = now + Self.barrenLimit }
  }

  /// Services are resolved. Returns whether that proves the bond.
  mutating func resolved() -> Bool {
    ends = 0
    barrenLinks = 0
    keyFailures = 0
    refusals = 0
    checkAt = nil
    return hasBond
  }

  struct Loss {
    /// When the link came up.
    var began: Instant?
    /// This was the link with which links began to count as doubtful.
    var isDoubtfulNow = false
    var provesBond = false
  }

  /// - Parameter reason: why it ended according to bluetoothd, `org.bluez.Reason.*`. `nil` if it does not say.
  mutating func lost(wasResolved: Bool, isBonded: Bool, wasEnded: Bool, reason: String?, at now: Instant) -> Loss {
    let began = since
    since = nil
    checkAt = nil
    provesBondAt = nil
    var loss = Loss(began: began)
    if let began, !wasResolved, isBonded, now < began + Self.barrenLimit {
      barrenLinks += 1
      loss.isDoubtfulNow = barrenLinks == Self.keyFailureLimit
      if !wasEnded, isRefusal(reason) { refusals += 1 }
    } else {
      barrenLinks = 0
      keyFailures = 0
      refusals = 0
    }
    // If one side lacks the key, a link is lost at once. A link that lasted a while shows that both sides have the
    // key, even if no later link has come up with it yet.
    if let began, isBonded { loss.provesBond = now >= (bondedAt ?? began) + Self.barrenLimit }
    return loss
  }

  /// Whether a link that ended at once was broken off by the peer, and not lost.
  private func isRefusal(_ reason: String?) -> Bool {
    switch reason {
    case "org.bluez.Reason.Authentication": true
    // One side has ended it, or bluetoothd does not say so (5.82 and before).
    case "org.bluez.Reason.Local", "org.bluez.Reason.Remote", nil: signal.map(Self.nearSignals.contains) ?? false
    default: false
    }
  }

  /// Returns whether the peer has refused the key too often.
  mutating func keyWasRefused() -> Bool {
    keyFailures += 1
    return keyFailures >= Self.keyFailureLimit
  }

  mutating func forgetKeyFailures() { keyFailures = 0 }

  // MARK: Ending

  /// bluetoothd was asked to end the link. It is checked again when the link should be gone.
  mutating func isAskedToEnd(at now: Instant) { checkAt = now + Self.disconnectLimit }

  /// The link is ended as dead. If it stays, this is repeated at ever longer intervals.
  mutating func isEndedAsDead(at now: Instant) {
    ends += 1
    checkAt = now + BackOff.patient.wait(afterFailures: ends)
  }

  /// Returns whether the link is to be checked now.
  mutating func takeCheck(at now: Instant) -> Bool {
    guard let due = checkAt, due <= now else { return false }
    checkAt = nil
    return true
  }

  // MARK: Bonds

  mutating func bonded(at now: Instant) {
    bondedAt = now
    provesBondAt = now + Self.barrenLimit
  }

  /// Returns whether the link has lasted long enough now. That is not left to its end, which this system may not see.
  mutating func takeProof(at now: Instant) -> Bool {
    guard let due = provesBondAt, due <= now else { return false }
    provesBondAt = nil
    return true
  }

  /// When there is something to do.
  var deadline: Instant? { [checkAt, provesBondAt, brief.deadline].compactMap { $0 }.min() }

  /// Whether what the peer says now proves the bond that was made on this link.
  func answerProvesBond(at now: Instant) -> Bool { bondedAt.map { now >= $0 + Self.bondedAnswerLimit } ?? false }

  mutating func bondIsProven() {
    removedBonds = 0
    bondedAt = nil
    provesBondAt = nil
  }

  /// Takes a bond for half-made if enough links have broken off at once: three for the first bond with a peer, six
  /// for the next, and so on. Returns how many did.
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

  /// Whether apps may be told of the link. If several links in a row have broken off before anything could be asked,
  /// the next one must first prove itself by resolving services, or by lasting, so that apps are not woken in vain.
  func isUsable(_ device: Device?) -> Bool {
    guard let device, device.isUsable, links[device.peer]?.brief.isWatching(at: now) != true else { return false }
    return device.isResolved || !isDoubtful(device.peer)
  }

  mutating func healthOfNewLink(_ peer: PeerIdentifier) {
    links[peer, default: LinkHealth()].cameUp(isBonded: bluez.device(peer)?.isBonded == true, at: now)
    askWhetherNear(peer)
  }

  mutating func healthOfResolvedLink(_ peer: PeerIdentifier) {
    if links[peer]?.resolved() == true { bondIsProven(peer) }
  }

  /// - Parameter wasEnded: this machine has asked for its end.
  mutating func healthOfLostLink(_ peer: PeerIdentifier, wasResolved: Bool, wasEnded: Bool) {
    let device = bluez.device(peer)
    let isBonded = device?.isBonded == true
    guard
      let loss = links[peer]?.lost(
        wasResolved: wasResolved, isBonded: isBonded, wasEnded: wasEnded, reason: device?.endReason, at: now)
    else { return }
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
    removeRefusedBond(peer)
    if let began = loss.began, !wasEnded {
      noteBriefLink(peer, since: began, isBonded: isBonded)
    } else {
      links[peer]?.brief.linkWasEnded()
    }
    // Another client's `Disconnect` may have disarmed the device, so it is armed again. If its links keep breaking
    // off, it counts as armed.
    if !isDoubtful(peer) { disarm(peer) }
  }

  /// bluetoothd says why a link ended (Device1.Disconnected, later than BlueZ 5.82).
  mutating func linkEnded(_ path: ObjectPath, _ reason: String) {
    bluez.devices[path]?.linkEnded(because: reason)
    guard reason == "org.bluez.Reason.Authentication", let device = bluez.devices[path], device.isBonded else { return }
    // A half-made bond is removed and made anew, and the requests go on.
    guard peers[device.peer]?.isBondUnproven != true else { return }
    if links[device.peer, default: LinkHealth()].keyWasRefused() { pairingIsGone(device.peer) }
  }

  /// The peer has forgotten the bond. No attempt can succeed any more, so the requests end with an error that says
  /// so.
  mutating func pairingIsGone(_ peer: PeerIdentifier) {
    links[peer]?.forgetKeyFailures()
    guard isWanted(peer) else { return }
    journal(
      .pairingGone,
      [
        .peripheral: peer.uuidString,
        .advice: "The device has removed its pairing: remove it here too (bluetoothctl remove) and pair it again.",
      ])
    endRequests(
      for: peer,
      .coreBluetooth(.peerRemovedPairingInformation, message: "Peer removed pairing information."))
  }

  /// The peripheral does not let this machine connect.
  mutating func connectionRefused(_ path: ObjectPath, _ error: PeerError) {
    guard let peer = bluez.devices[path]?.peer, isWanted(peer) else { return }
    journal(.connectFailed, [.peripheral: peer.uuidString, .error: "\(error)"])
    endRequests(for: peer, error)
  }

  private mutating func endRequests(for peer: PeerIdentifier, _ error: PeerError) {
    for key in sortedManagers(.central) where held[key, peer]?.isWanted == true {
      failOperations(peer, of: key, error)
      if held[key, peer]?.isConnected == true {
        tell(
          key,
          .disconnected(peer, error: error, unixSeconds: unixSeconds, isReconnecting: false))
      } else {
        tell(key, .failedToConnect(peer, error))
      }
      held[key, peer]?.hasFailed()
      releaseConnection(key, peer)
      persistPeripheral(key, peer)
    }
  }

  // MARK: Dead links

  /// Checks links that existed before this system started: bluetoothd may believe in a link that the kernel does not
  /// have. The controller knows.
  mutating func probeAdoptedLinks() {
    for device in bluez.devices.connectedDevices {
      guard isWanted(device.peer) else { continue }
      links[device.peer, default: LinkHealth()].wasFound(
        isResolved: device.isResolved, isBondUnproven: device.isBonded && peers[device.peer]?.isBondUnproven == true,
        at: now)
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
    for peer in links.due(at: now) {
      links[peer]?.brief.passTime(at: now)
      if links[peer]?.takeProof(at: now) == true, bluez.device(peer)?.isConnected == true { bondIsProven(peer) }
      guard let health = links[peer], links[peer]?.takeCheck(at: now) == true else { continue }
      guard let device = bluez.device(peer), device.isConnected else { continue }
      if device.isDisconnecting {
        journal(.linkStuck, [.peripheral: peer.uuidString, .times: String(health.ends)])
        endDeadLink(device)
      } else if !device.isResolved, isWanted(peer) {
        journal(.linkUnresolved, [.peripheral: peer.uuidString])
        endDeadLink(device)
      }
    }
    for peer in operations.due(at: now) where operations[peer]?.hasTimedOut(at: now) == true {
      journal(.operationUnanswered, [.peripheral: peer.uuidString])
      failCurrentOperation(peer, .coreBluetooth(.connectionTimeout, message: "The peripheral does not answer."))
      if let device = bluez.device(peer), device.isUsable { endDeadLink(device) }
    }
  }

  /// Asks bluetoothd to end a link, and repeats that at ever longer intervals while the link stays.
  private mutating func endDeadLink(_ device: Device) {
    links[device.peer, default: LinkHealth()].isEndedAsDead(at: now)
    bluez.devices[device.path]?.isDisconnecting = true
    disarm(device.peer)
    // A bluetoothd that has not answered any of these answers no further one, and the bus keeps a place for each.
    guard calls.count(of: .disconnect(device.peer)) < Self.unansweredEnds else { return }
    call(device.path, .disconnect, for: .disconnect(device.peer))
  }

  private static let unansweredEnds = 16

  // MARK: After the machine slept

  /// The kernel's lists are not always restored (bluez/bluez#1079), so everything is asked for again.
  mutating func wokeFromSleep() {
    journal(.machineResumed)
    profile.disarmAll()
    for peer in Array(attempts.keys) { attempts[peer]?.renew() }
    changedEverything()
    probeAdoptedLinks()
  }
}
