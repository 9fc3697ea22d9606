import AppLink
import BlueZ
import BluetoothTypes

/// A central app waits for an L2CAP channel.
struct ChannelOpening: Sendable, Hashable {
  let manager: ManagerKey
  let identifier: OperationIdentifier
  let psm: UInt16
  let peer: PeerIdentifier

  var item: OperationQueue.Item {
    .init(manager: manager, identifier: identifier, operation: .openChannel(psm: psm))
  }
}

/// Channels that apps open to peripherals. They need none of ATT's transactions, so they wait in no queue. Once a channel is
/// open, its packets pass between the app and the kernel, and this machine hears no more of it.
extension BluetoothSystem {
  mutating func openChannel(_ psm: UInt16, _ item: OperationQueue.Item, _ peer: PeerIdentifier) {
    guard ChannelLimits.psms.contains(psm) else {
      let error = PeerError.coreBluetooth(.invalidParameters, message: "A PSM is 1 to 255.")
      return finish(item, peer, .failed(error))
    }
    guard openings.count(where: { $0.manager.app == item.manager.app }) < configuration.channelOpeningLimit else {
      let limit = configuration.channelOpeningLimit
      return finish(item, peer, .failed(.limit("An app opens at most \(limit) L2CAP channels at a time.")))
    }
    guard let device = bluez.device(peer) else { return finish(item, peer, .failed(.notConnected)) }
    let opening = ChannelOpening(manager: item.manager, identifier: item.identifier, psm: psm, peer: peer)
    call(device.path, .openChannel(psm: psm), for: .openChannel(opening))
  }

  private var openings: [ChannelOpening] {
    calls.all.compactMap { if case .openChannel(let opening) = $0 { opening } else { nil } }
  }

  mutating func channelReady(_ opening: ChannelOpening, _ result: Result<Reply, BlueZError>) {
    switch result {
    case .success(.creditChannel(let channel, let mtu, _)):
      finish(opening.item, opening.peer, .channel(channel, mtu: mtu))
    case .success:
      let error = PeerError.coreBluetooth(.unknown, message: "bluetoothd's answer makes no sense.")
      finish(opening.item, opening.peer, .failed(error))
    case .failure(let error): finish(opening.item, opening.peer, .failed(PeerError(channel: error)))
    }
  }

  /// Fails the openings. If bluetoothd opens the channel after all, the channel is closed with its file descriptor.
  mutating func failChannelOpenings(_ peer: PeerIdentifier, of key: ManagerKey, _ error: PeerError) {
    let failed = openings.filter { $0.peer == peer && $0.manager == key }
    for opening in failed.sorted(by: { $0.identifier.rawValue < $1.identifier.rawValue }) {
      calls.forget(.openChannel(opening))
      finish(opening.item, peer, .failed(error))
    }
  }

  mutating func forgetChannelOpenings(where matches: (ChannelOpening) -> Bool) {
    for opening in openings where matches(opening) { calls.forget(.openChannel(opening)) }
  }

  /// The app's process has ended or left, and its channels with it.
  mutating func forgetChannels(ofApp name: String) {
    forgetChannelOpenings { $0.manager.app == name }
    for key in managers.keys where key.app == name { removeChannels(of: key) }
  }
}

extension PeerError {
  /// Translates an error about an L2CAP channel.
  init(channel error: BlueZError) {
    switch error.kind {
    case .rejected:
      self = .coreBluetooth(.connectionFailed, message: "The peer has no L2CAP channel with this PSM.")
    case .notPermitted: self = .att(.insufficientEncryption)
    case .notConnected: self = .notConnected
    case .invalidArguments: self = .coreBluetooth(.invalidParameters, message: error.description)
    default: self = .coreBluetooth(.unknown, message: error.description)
    }
  }
}
