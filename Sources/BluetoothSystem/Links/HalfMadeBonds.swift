import AppLink
import BlueZ
import BluetoothTypes
import TimeTypes

/// Bonds that only this side has. Every link breaks off, because its encryption is refused. There are two kinds: half-made bonds with
/// peripherals, and bonds that a central has lost (`removeRefusedBond`).
///
/// A bond is half made when the peer's bluetoothd was killed, or its power was cut, at the moment when both sides were to store the
/// key. It counts as half-made, and is removed so that the two pair again, only if all of these are true:
///
/// - This system made it for an app that asked for the peer, while no user attended, so by Just Works.
/// - Nothing has proven it. A bond is proven by a later link on which services resolve, and on the link on which it
///   was made, by five seconds that the link lasts after it, or by a value of the peer that arrives a second or more
///   after it: a program that was killed in the moment of the bond says nothing. The proof is noted while the link
///   lasts, because this system may be killed before it sees the link's end. Without this rule, three short links at
///   the edge of the range would take a good bond from a phone that left soon, and a peer that has the bond does not
///   bond again (`JustWorksRepairing = never`). If the key of a bond that once worked is refused, the cause is either a
///   peer that was reset, which a user must then pair again, or an attacker with the peer's address who wants to be
///   paired with instead (BLESA, Wu and others, WOOT 2020). Such a bond stays, and the journal says what to do.
/// - Three links in a row have broken off at once. For the next bond with the same peer it takes six links, then
///   twelve and so on.
///
/// In the moments after a pairing an attacker gains no more than the pairing itself offered: Just Works does not
/// authenticate the peer.
extension BluetoothSystem {
  /// A bond was made or removed.
  mutating func noteBond(_ peer: PeerIdentifier, isBonded: Bool) {
    let isOurs = isBonded && isWanted(peer) && !isAttended && pairing.wish == nil
    if isBonded { links[peer]?.bonded(at: now) }
    setBondUnproven(peer, isOurs)
  }

  mutating func bondIsProven(_ peer: PeerIdentifier) {
    links[peer]?.bondIsProven()
    setBondUnproven(peer, false)
  }

  /// A value of the peer has arrived.
  mutating func peerSpoke(_ peer: PeerIdentifier) {
    if links[peer]?.answerProvesBond(at: now) == true { bondIsProven(peer) }
  }

  private mutating func setBondUnproven(_ peer: PeerIdentifier, _ isUnproven: Bool) {
    guard var record = peers[peer], (record.isBondUnproven ?? false) != isUnproven else { return }
    record.isBondUnproven = isUnproven ? true : nil
    peers[peer] = record
    persist(.peer(record))
  }

  /// Removes a half-made bond after a link was lost.
  mutating func removeHalfMadeBond(_ peer: PeerIdentifier) {
    guard let device = bluez.device(peer), let adapter = bluez.adapter, peers[peer]?.isBondUnproven == true,
      device.isBonded, isWanted(peer), let barren = links[peer]?.judgeBond()
    else { return }
    journal(
      .bondHalfMade,
      [
        .peripheral: peer.uuidString, .links: String(barren),
        .because: "the bond never carried a link; it is removed, and made anew",
      ])
    setBondUnproven(peer, false)
    attempts[peer] = nil
    disarm(peer)
    call(adapter, .removeDevice(device.path), for: .ignored)
    tellIfAddressIsPrivate(peer)
  }

  /// A central that has lost its side of the bond can't make another one, because this machine's bluetoothd asks for encryption as
  /// soon as the link is up, and does not replace a bond (`JustWorksRepairing = never`). So its links break off at once, whatever
  /// it wants. While an app lets any central pair, as a lock does after its button was pressed, the bond is removed after three
  /// such links, and the central may make it anew.
  ///
  /// Links that are lost at the edge of the range break off at once as well. They don't count, because the bond is good,
  /// and a central whose bond is removed here keeps its half and is shut out. A link counts only if bluetoothd says that
  /// the key was refused, or if the central is so near that the link can't have been lost.
  mutating func removeRefusedBond(_ peer: PeerIdentifier) {
    guard links[peer]?.isRefused == true, let device = bluez.device(peer), let adapter = bluez.adapter,
      mayRefuseBond(device), isPairingWelcome
    else { return }
    journal(
      .bondLost,
      [
        .peripheral: peer.uuidString, .links: String(LinkHealth.keyFailureLimit),
        .because: "it breaks off its links, as if it no longer had it, and somebody lets centrals pair now",
      ])
    setBondUnproven(peer, false)
    links[peer] = nil
    call(adapter, .removeDevice(device.path), for: .ignored)
  }

  /// Asks for the signal of a central's new link, if the link before has broken off. Most links are good, and then
  /// nobody has to know.
  mutating func askWhetherNear(_ peer: PeerIdentifier) {
    guard links[peer]?.hasBarrenLinks == true, let device = bluez.device(peer), mayRefuseBond(device), admitsCentrals,
      calls.count(of: .signalOfNewLink(peer)) == 0
    else { return }
    call(device.path, .readConnectionRSSI, for: .signalOfNewLink(peer))
  }

  mutating func signalOfNewLinkRead(_ peer: PeerIdentifier, _ result: Result<Reply, BlueZError>) {
    if case .success(.rssi(let signal)) = result { links[peer]?.signalWasRead(signal) }
  }

  /// Whether its bond could be one that a central has lost.
  private func mayRefuseBond(_ device: Device) -> Bool {
    device.isBonded && !isWanted(device.peer) && !device.isTrusted
  }

  /// A peer that hides its address can't be recognised once the bond is gone, so its app has to look for it anew.
  private mutating func tellIfAddressIsPrivate(_ peer: PeerIdentifier) {
    guard let identity = peers[peer]?.address else { return }
    let isPrivate = identifiers.knows(peer, underAnotherAddressThan: identity)
    if isPrivate { pairingIsGone(peer) }
  }
}
