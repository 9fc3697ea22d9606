import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import TimeTypes

/// Brings bluetoothd's connections in line with what apps want of them.
extension BluetoothSystem {
  mutating func reconcileConnections() {
    guard bluez.state == .poweredOn else {
      // Once Bluetooth is on, all of them count as changed.
      _ = changes.takeUnjudged()
      return
    }
    judgeConnections()
    if giveUpConnects() { judgeConnections() }
    armBonded()
    let unbonded = connectUnbonded()
    if connections.takeSoughtAnew() { discovery.searchBegins(at: now) }
    if !unbonded { discovery.searchEnds() }
    reconcileDiscovery(needed: unbonded || pairing.wish?.isSearching == true)
    dropUnwanted()
    endUnprovenLinks()
    reconcileRereading()
  }

  var reconcilerDeadline: Instant? {
    guard bluez.isPresent else { return nil }
    var earliest = Earliest()
    func consider(_ time: Instant?) {
      if let time, time > now { earliest.consider(time) }
    }
    consider(attempts.deadline(after: now))
    if connections.firstReady != nil {
      for peer in connections.connecting { consider(attempts[peer]?.turnUntil) }
    }
    consider(held.deadline(after: now))
    for registration in [profile.registration, discovery.registration, pairing.agent] {
      consider(registration.deadline)
    }
    consider(discovery.turn(after: now))
    consider(discovery.eagerUntil)
    consider(discovery.anewDue)
    for deadline in publishing.deadlines { consider(deadline) }
    consider(unproven.deadline)
    return earliest.instant
  }

  mutating func bondChanged(_ peer: PeerIdentifier, isBonded: Bool) {
    guard isBonded else { return }
    rememberSubscriptions(ofBonded: peer)
  }

  // MARK: Peers without a bond: find them by a scan, then connect

  /// Returns whether a scan has to look for any of them.
  private mutating func connectUnbonded() -> Bool {
    let needsScan = connections.isSeeking
    // One at a time: a controller has one initiator.
    guard connections.connecting.isEmpty else { return needsScan }
    if let (peer, path) = connections.firstReady {
      attempts[peer, default: ConnectionAttempt()].begin(at: now)
      if !needsScan, pairing.wish?.isSearching != true { reconcileDiscovery(needed: false) }
      call(path, .connect, for: .connect(peer))
    }
    return needsScan
  }

  mutating func connectCompleted(_ peer: PeerIdentifier, _ result: Result<Reply, BlueZError>) {
    guard var attempt = attempts[peer], attempt.isConnecting else { return }
    guard bluez.device(peer)?.isConnected != true, isWanted(peer) else {
      attempts[peer] = nil
      return
    }
    // Success does not prove that there is a link; the `Connected` property does. If it is not set, the device is
    // read again.
    if case .success = result, let device = bluez.device(peer) { reread(device.path) }
    guard case .failure(let error) = result else {
      attempt.failed(at: now)
      attempts[peer] = attempt
      return
    }
    journal(.connectFailed, [.peripheral: peer.uuidString, .error: error.description])
    if error.kind == .inProgress {
      if attempt.isRefusedForAnother(at: now) { cancelAnothersAttempt(peer) }
    } else {
      attempt.failed(at: now)
    }
    attempts[peer] = attempt
    if error.message.contains("key-missing") { pairingIsGone(peer) }
  }

  private mutating func cancelAnothersAttempt(_ peer: PeerIdentifier) {
    guard let device = bluez.device(peer) else { return }
    journal(.connectCancelled, [.peripheral: peer.uuidString, .because: "another's attempt does not end"])
    disarm(peer)
    call(device.path, .disconnect, for: .ignored)
  }

  /// Gives up `Connect` calls that bluetoothd has forgotten, and those whose turn is over while another peripheral
  /// waits. Returns whether there were any.
  private mutating func giveUpConnects() -> Bool {
    var isAnyLate = false
    let othersWait = connections.firstReady != nil
    for peer in connections.connecting.sorted() {
      guard attempts[peer]?.hasTimedOut(at: now, othersWait: othersWait) == true else { continue }
      isAnyLate = true
      calls.forget(.connect(peer))
      // A link that comes up in this very moment counts as gone: it ends at once, and no app is to hear of it.
      if let device = bluez.device(peer) { askToDisconnect(device) }
      connectCompleted(peer, .failure(.failed("no answer")))
    }
    return isAnyLate
  }

  /// A scan has seen the device, so this is the moment to connect.
  mutating func sighted(_ peer: PeerIdentifier) {
    noteSighting(peer)
    reportSighting(peer)
  }

  mutating func noteSighting(_ peer: PeerIdentifier) {
    // Another client's discovery also blocks the kernel's own scan for the accept list, so its sightings are used
    // like ours.
    if discovery.isRunning || bluez.isDiscovering, isWanted(peer) {
      attempts[peer, default: ConnectionAttempt()].sighted()
    }
  }

  // MARK: Unwanted links

  /// Drops links that no app wants any more and that came up because a device was still on the accept list. If apps
  /// publish services, a link may belong to a central, so it stays unless its end was decided.
  private mutating func dropUnwanted() {
    guard !connections.unwantedLinks.isEmpty else { return }
    let mayBeCentrals = isServing
    let unwanted = connections.unwantedLinks.compactMap { bluez.device($0) }.filter { device in
      !isPairing(device) && (!mayBeCentrals || peers[device.peer]?.isEnding == true && !isServed(device.peer))
    }
    for device in unwanted.sorted(by: { $0.path < $1.path }) { dropLink(device.peer) }
  }

  /// Ends the link and takes the device off the accept list: `Disconnect` disarms only a device that is not trusted.
  mutating func dropLink(_ peer: PeerIdentifier) {
    guard let device = bluez.device(peer) else { return }
    guard !device.isDisconnecting else { return endsForGood(device) }
    let isArmed = disarm(peer)
    // bluetoothd may be trying to connect: for this system, or for an earlier latchkeyd that has died.
    let isUnderWay = attempts[peer]?.isUnderWay == true
    // A trusted device stays on the accept list while Bluetooth is off, and would be connected once it is on.
    guard device.isConnected || isArmed || isUnderWay || device.isTrusted || device.isTrustRequested else { return }
    noteEnding(peer)
    askForEnd(device)
  }

  /// The link is ending already, but the device may stay on the accept list: it was trusted when the end was asked for,
  /// because the link was to be made anew, or it was armed since, because an app asked for it again. So it is taken off
  /// the list now.
  private mutating func endsForGood(_ device: Device) {
    let isArmed = disarm(device.peer)
    noteEnding(device.peer)
    guard distrust(device) || isArmed else { return }
    call(device.path, .disconnect, for: .ignored)
  }

  /// Takes back the device's trust, if it has it or is about to get it. Returns whether that was so.
  @discardableResult mutating func distrust(_ device: Device) -> Bool {
    guard device.isTrusted || device.isTrustRequested else { return false }
    call(device.path, .set(\Device1.trusted, to: false), for: .ignored)
    bluez.devices[device.path]?.isTrustRequested = false
    return true
  }

  /// Asks bluetoothd to end the link and to forget the device's trust. `Disconnect` also ends an attempt to connect
  /// (src/device.c).
  mutating func askForEnd(_ device: Device) {
    distrust(device)
    askToDisconnect(device)
  }

  /// Asks bluetoothd to end the link. From now on the link counts as gone.
  mutating func askToDisconnect(_ device: Device) {
    bluez.devices[device.path]?.isDisconnecting = true
    if device.isConnected { links[device.peer, default: LinkHealth()].isAskedToEnd(at: now) }
    call(device.path, .disconnect, for: .disconnect(device.peer))
  }

  mutating func disconnectCompleted(_ peer: PeerIdentifier, _ result: Result<Reply, BlueZError>) {
    // The answer comes when the link is down. If there is a link by now, it is a new one and judged afresh.
    guard let device = bluez.device(peer) else { return }
    bluez.devices[device.path]?.isDisconnecting = false
    if device.isConnected { reread(device.path) } else { noteEnded(peer) }
  }
}
