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
      guard !isWanted(peer) else { continue }
      if isServed(peer) { letGo(peer) } else { askForEnd(device) }
    }
  }

  // MARK: Links that centrals use

  /// No app asks for the peripheral any more. Its link ends, unless it is a central of an app: the same link carries both
  /// roles. Such a link ends with the last subscription.
  /// - Parameter isLinkNew: the link that was asked for is gone. On a machine that publishes services, the present one may be that
  ///   of a central, which ends it itself.
  mutating func letGo(_ peer: PeerIdentifier, isLinkNew: Bool = false) {
    guard let device = bluez.device(peer), device.isConnected, !device.isDisconnecting,
      isServed(peer) || isLinkNew && isServing
    else { return dropLink(peer) }
    if !isLinkNew { noteEnding(peer) }
    disarm(peer)
    distrust(device)
    leftLinks.insert(peer)
  }

  /// Whether the peripheral is a central as well: it is subscribed to what an app publishes, or waits for an app's answer.
  func isServed(_ peer: PeerIdentifier) -> Bool {
    managers.serving.contains { key in managers[key]?.subscribers.values.contains { $0.contains(peer) } ?? false }
      || remoteRequests.hasOne(of: peer)
  }

  /// A link that was left to a central has ended. Only `Disconnect` takes the device off the accept list.
  mutating func leftLinkHasEnded(_ peer: PeerIdentifier, wasAskedToEnd: Bool) {
    guard leftLinks.remove(peer) != nil, !wasAskedToEnd, !isWanted(peer), let device = bluez.device(peer) else {
      return
    }
    call(device.path, .disconnect, for: .ignored)
  }

  private mutating func setEnding(_ peer: PeerIdentifier, _ isEnding: Bool) {
    guard var record = peers[peer], (record.isEnding ?? false) != isEnding else { return }
    record.isEnding = isEnding ? true : nil
    peers[peer] = record
    persist(.peer(record))
  }
}
