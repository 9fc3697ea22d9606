import AppLink
import BlueZ
import BluetoothTypes

/// Links, and attempts to make one, that are to end because nobody wants them any more. latchkeyd may die after it has
/// stored a cancellation and before it has asked bluetoothd. On a machine that publishes services, the next latchkeyd
/// can't tell such a link from that of a central, unless it is written down.
extension BluetoothSystem {
  /// This is written down in the same transaction as the cancellation.
  mutating func noteEnding(_ peer: PeerIdentifier) { setEnding(peer, true) }

  /// There is neither a link nor an attempt any more.
  mutating func noteEnded(_ peer: PeerIdentifier) { setEnding(peer, false) }

  /// bluetoothd's objects were read. bluetoothd may still be trying to connect for a latchkeyd that has died since, or
  /// have the device on its accept list; it does not show that.
  mutating func endWhatWasToEnd() {
    for peer in peers.values.filter({ $0.isEnding == true }).map(\.identifier).sorted() {
      guard let device = bluez.device(peer) else {
        noteEnded(peer)
        continue
      }
      if !isWanted(peer) { askForEnd(device) }
    }
  }

  private mutating func setEnding(_ peer: PeerIdentifier, _ isEnding: Bool) {
    guard var record = peers[peer], (record.isEnding ?? false) != isEnding else { return }
    record.isEnding = isEnding ? true : nil
    peers[peer] = record
    persist(.peer(record))
  }
}
