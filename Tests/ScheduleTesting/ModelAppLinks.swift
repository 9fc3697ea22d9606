import AppLink
import BluetoothTypes

/// What an app does with links beside its connections: L2CAP channels in both roles, and links that it watches.
extension ModelApp {
  // MARK: Channels that it publishes

  mutating func listen() -> [Request] {
    guard let number = publisher, mayCall(number), managers[number]?.channel == nil else { return [] }
    managers[number]?.channel = ModelManager.PublishedChannel()
    return [publication(number, psm: 0)]
  }

  mutating func stopListening() -> [Request] {
    guard let number = publisher, mayCall(number), let psm = managers[number]?.channel?.psm else { return [] }
    managers[number]?.channel = nil
    return [.peripheral(ManagerIdentifier(UInt32(number)), .unpublishChannel(psm: psm))]
  }

  private func publication(_ number: Int, psm: UInt16) -> Request {
    let needsBond = actor.target?.needsBond == true
    return .peripheral(ManagerIdentifier(UInt32(number)), .publishChannel(psm: psm, requiresEncryption: needsBond))
  }

  /// The PSM of its channel, if it was told of one.
  var psm: UInt16? { publisher.flatMap { managers[$0]?.channel?.psm } }

  /// The library ends channels with the radio.
  mutating func endListening(_ number: Int) -> [Request] {
    guard managers[number]?.channel != nil else { return [] }
    managers[number]?.channel = nil
    return [.peripheral(ManagerIdentifier(UInt32(number)), .unpublishChannel(psm: 0))]
  }

  mutating func channelPublished(_ psm: UInt16, _ error: PeerError?, _ number: Int) {
    // Given up in the meantime.
    guard let channel = managers[number]?.channel else { return }
    if let known = channel.psm {
      // The system came back, and publishes it again. An earlier one may have been given up before it was told.
      if known == psm, let error { complain("its channel is lost: \(error)") }
      return
    }
    if let error { complain("no channel: \(error)") }
    managers[number]?.channel = error == nil ? ModelManager.PublishedChannel(psm: psm) : nil
  }

  mutating func channelUnpublished(_ psm: UInt16, _ error: PeerError?, _ number: Int) {
    guard managers[number]?.channel?.psm == psm else { return }
    managers[number]?.channel = nil
    complain("its channel is lost: \(error.map { "\($0)" } ?? "no reason given")")
  }

  // MARK: Channels that it opens

  mutating func openChannel(_ number: Int, _ target: Target, psm: UInt16) -> [Request] {
    guard mayCall(number), let peer = disk.identifiers[target], managers[number]?.state(of: peer) == .connected else {
      return []
    }
    return perform(.openChannel(psm: psm), peer, number)
  }

  mutating func keepChannel(_ descriptor: ChannelDescriptor, _ target: Target, _ peer: PeerIdentifier, _ number: Int) {
    managers[number]?.openChannels.append(.init(target: target, peer: peer, descriptor: descriptor))
  }

  mutating func channelEnded(_ descriptor: ChannelDescriptor) {
    for number in managers.keys { managers[number]?.openChannels.removeAll { $0.descriptor == descriptor } }
  }

  // MARK: Links that it watches

  mutating func watch(_ number: Int) -> [Request] {
    guard mayCall(number) else { return [] }
    managers[number]?.watched = [:]
    return [watching(number)]
  }

  mutating func stopWatching(_ number: Int) -> [Request] {
    guard mayCall(number), managers[number]?.watched != nil else { return [] }
    managers[number]?.watched = nil
    return [.central(ManagerIdentifier(UInt32(number)), .watchConnections(nil))]
  }

  private func watching(_ number: Int) -> Request {
    .central(
      ManagerIdentifier(UInt32(number)), .watchConnections(ConnectionWatch(services: targets.map(\.service))))
  }

  mutating func linkSeen(_ peer: PeerIdentifier, _ isConnected: Bool, _ number: Int) {
    // Taken back while the event was on its way.
    guard let told = managers[number]?.watched else { return }
    if told[peer] == isConnected { complain("told twice that a link is \(isConnected ? "there" : "gone")") }
    managers[number]?.watched?[peer] = isConnected
  }

  // MARK: A system that came back

  /// What a system that came back does not know from its disk.
  mutating func askAgain(_ number: Int) -> [Request] {
    var requests: [Request] = []
    if let channel = managers[number]?.channel { requests.append(publication(number, psm: channel.psm ?? 0)) }
    if managers[number]?.watched != nil {
      // Links that are there already are no news to it.
      managers[number]?.watched = [:]
      requests.append(watching(number))
    }
    return requests
  }
}
