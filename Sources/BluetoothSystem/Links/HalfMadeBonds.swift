import AppLink
import BlueZ
import BluetoothTypes
import TimeTypes

/// Bonds that one side alone has: the peer's bluetoothd was killed, or its power was cut, in the moment in which both
/// were to store the key. Every link then breaks off as its encryption is refused, for ever.
///
/// A bond is taken for half-made, and removed so that the two pair again, only where all of these are true:
///
/// - this system made it, for an app that asked for the peer, and while no user attended, so by Just Works;
/// - no link has come up with it since, and the one on which it was made was lost within seconds. Whoever can refuse the key of a bond that once worked is either the peer, reset by
///   somebody who must then pair it, or an attacker with the peer's address who would like to be paired with instead
///   (BLESA, Wu and others, WOOT 2020): such a bond stays, and the journal says what to do;
/// - three links in a row have broken off at once; of the next bond with the same peer six, then twelve and so on.
///
/// What an attacker gains in the moments after a pairing is what the pairing itself offered: Just Works proves nobody.
extension BluetoothSystem {
  /// A bond has come about, or gone.
  mutating func noteBond(_ peer: PeerIdentifier, isBonded: Bool) {
    let isOurs = isBonded && isWanted(peer) && !isAttended && pairing.wish == nil
    if isBonded { links[peer]?.bonded(at: now) }
    setBondUnproven(peer, isOurs)
  }

  mutating func bondIsProven(_ peer: PeerIdentifier) {
    links[peer]?.bondIsProven()
    setBondUnproven(peer, false)
  }

  private mutating func setBondUnproven(_ peer: PeerIdentifier, _ isUnproven: Bool) {
    guard var record = peers[peer], (record.isBondUnproven ?? false) != isUnproven else { return }
    record.isBondUnproven = isUnproven ? true : nil
    peers[peer] = record
    persist(.peer(record))
  }

  /// After a link was lost.
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
    profile.disarm(peer)
    call(adapter, .removeDevice(device.path), for: .ignored)
    tellIfAddressIsPrivate(peer)
  }

  /// Of a peer that hides its address nobody can tell who it is once the bond is gone: its app looks for it anew.
  private mutating func tellIfAddressIsPrivate(_ peer: PeerIdentifier) {
    guard let identity = peers[peer]?.address else { return }
    let isPrivate = identifiers.knows(peer, underAnotherAddressThan: identity)
    if isPrivate { pairingIsGone(peer) }
  }
}
