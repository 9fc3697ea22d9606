import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// What clients do with L2CAP channels, and what becomes of their sockets.
extension BlueZModel {
  /// How long the kernel waits for a peer's answer (L2CAP_CONN_TIMEOUT, net/bluetooth/l2cap.h).
  private static let patience: Duration = .seconds(40)

  mutating func openChannel(_ psm: UInt16, to path: ObjectPath, _ pending: PendingCall) {
    guard let link = devices[path]?.link else { return reply(to: pending, .failure(.notConnected)) }
    guard ChannelLimits.psms.contains(psm) else {
      return reply(to: pending, .failure(.invalidArguments("a PSM over LE is 1 to 255")))
    }
    guard let key = creditChannels.free(on: link) else {
      return reply(to: pending, .failure(.failed("the link has no room for another channel")))
    }
    var channel = CreditChannel()
    channel.opening = .init(call: pending, psm: psm, command: 0)
    creditChannels.all[key] = channel
    ask(for: key)
  }

  private mutating func ask(for key: CreditChannels.Key) {
    guard let opening = creditChannels.all[key]?.opening else { return }
    let command = creditChannels.nextCommand()
    creditChannels.all[key]?.opening?.command = command
    creditChannels.all[key]?.opening?.awaitsSecurity = false
    creditChannels.all[key]?.opening?.deadline = now + Self.patience
    signal(.connectionRequest(command, psm: opening.psm, source: key.channel, CreditChannel.ownTerms), on: key.link)
  }

  mutating func listen(_ psm: UInt16, _ requiresEncryption: Bool, _ pending: PendingCall) {
    if let known = creditChannels.listeners[psm] {
      let isSame = known.client == pending.client && known.requiresEncryption == requiresEncryption
      return reply(to: pending, isSame ? .success(.psm(psm)) : .failure(.alreadyExists))
    }
    guard psm == 0 || ChannelLimits.psms.contains(psm) else {
      return reply(to: pending, .failure(.invalidArguments("a PSM over LE is 1 to 255")))
    }
    let listeners = creditChannels.listeners
    guard let chosen = psm != 0 ? psm : ChannelLimits.dynamicPSMs.first(where: { listeners[$0] == nil }) else {
      return reply(to: pending, .failure(.failed("no PSM is free")))
    }
    creditChannels.listeners[chosen] = .init(client: pending.client, requiresEncryption: requiresEncryption)
    reply(to: pending, .success(.psm(chosen)))
  }

  mutating func acceptChannel(_ psm: UInt16, _ pending: PendingCall) {
    guard let listener = creditChannels.listeners[psm], listener.client == pending.client else {
      return reply(to: pending, .failure(.doesNotExist))
    }
    guard listener.taking == nil else { return reply(to: pending, .failure(.inProgress)) }
    creditChannels.listeners[psm]?.taking = pending
    handOver(psm)
  }

  mutating func stopListening(_ psm: UInt16, _ pending: PendingCall) {
    guard let listener = creditChannels.listeners[psm], listener.client == pending.client else {
      return reply(to: pending, .failure(.doesNotExist))
    }
    endListener(psm)
    reply(to: pending, .success(.none))
  }

  private mutating func endListener(_ psm: UInt16) {
    guard let listener = creditChannels.listeners.removeValue(forKey: psm) else { return }
    if let call = listener.taking { reply(to: call, .failure(.canceled)) }
    for key in listener.waiting { disconnect(key) }
  }

  mutating func forgetListeners(of client: ClientIdentifier) {
    for psm in creditChannels.listeners.keys.sorted() where creditChannels.listeners[psm]?.client == client {
      creditChannels.listeners[psm]?.taking = nil
      endListener(psm)
    }
  }

  /// Gives the oldest channel that waits at a PSM to the call that waits for one.
  mutating func handOver(_ psm: UInt16) {
    guard let listener = creditChannels.listeners[psm], let call = listener.taking, let key = listener.waiting.first
    else { return }
    creditChannels.listeners[psm]?.taking = nil
    creditChannels.listeners[psm]?.waiting.removeFirst()
    giveSocket(key, to: call)
  }

  mutating func giveSocket(_ key: CreditChannels.Key, to call: PendingCall) {
    guard let device = links[key.link]?.device, let mtu = creditChannels.all[key]?.peerTerms.mtu else { return }
    let socket = creditChannels.makeSocket()
    creditChannels.all[key]?.socket = socket
    flushChanges()
    outbox.append(.channel(.openCredit(socket, for: call.client, call.call, mtu: mtu, device: device)))
    for packet in creditChannels.all[key]?.takeEarly() ?? [] { outbox.append(.channel(.data(socket, packet))) }
    outbox.append(.channel(.read(socket)))
  }

  // MARK: Sockets

  mutating func receive(_ input: ChannelInput, through key: CreditChannels.Key) {
    guard let channel = creditChannels.all[key], let socket = channel.socket else { return }
    switch input {
    case .data(let packet):
      guard packet.count <= Int(channel.peerTerms.mtu) else {
        // The kernel refuses such a packet with EMSGSIZE. This socket can't, so the channel ends.
        outbox.append(.channel(.close(socket)))
        return disconnect(key)
      }
      creditChannels.all[key]?.queue(packet)
      pump(key)
    case .taken:
      guard let credits = creditChannels.all[key]?.packetTaken(), credits > 0 else { return }
      let command = creditChannels.nextCommand()
      // The peer's name for the channel's sender is this side's own (Vol 3, Part A, 4.24).
      signal(.credits(command, channel: key.channel, count: credits), on: key.link)
    case .closed:
      outbox.append(.channel(.close(socket)))
      creditChannels.all[key]?.isClosing = true
      pump(key)
    }
  }

  /// Sends what the peer has given credits for.
  mutating func pump(_ key: CreditChannels.Key) {
    guard let peerChannel = creditChannels.all[key]?.peerChannel else { return }
    let wasIdle = creditChannels.all[key]?.isIdle ?? true
    while let frame = creditChannels.all[key]?.nextFrame() { send(peerChannel, frame, on: key.link) }
    guard let channel = creditChannels.all[key], channel.isIdle else { return }
    if channel.isClosing {
      disconnect(key)
    } else if !wasIdle, let socket = channel.socket {
      outbox.append(.channel(.read(socket)))
    }
  }

  // MARK: The end

  mutating func channelTimedOut(_ key: CreditChannels.Key) { refuseOpening(key, .failed("Connection timed out")) }

  mutating func refuseOpening(_ key: CreditChannels.Key, _ error: BlueZError) {
    guard let opening = creditChannels.all.removeValue(forKey: key)?.opening else { return }
    reply(to: opening.call, .failure(error))
  }

  /// This side ends a channel, and tells the peer.
  mutating func disconnect(_ key: CreditChannels.Key) {
    guard let channel = creditChannels.all[key] else { return }
    if channel.opening == nil {
      let command = creditChannels.nextCommand()
      signal(
        .disconnectionRequest(command, destination: channel.peerChannel, source: key.channel), on: key.link)
    }
    end(key, .canceled)
  }

  /// A channel has ended. Its client finds the end after what came before.
  mutating func end(_ key: CreditChannels.Key, _ error: BlueZError) {
    guard let channel = creditChannels.all.removeValue(forKey: key) else { return }
    if let opening = channel.opening { reply(to: opening.call, .failure(error)) }
    if let socket = channel.socket, !channel.isClosing { outbox.append(.channel(.close(socket))) }
    for psm in creditChannels.listeners.keys { creditChannels.listeners[psm]?.waiting.removeAll { $0 == key } }
  }

  mutating func endCreditChannels(of link: LinkIdentifier) {
    for key in creditChannels.keys(on: link) { end(key, .notConnected) }
  }

  mutating func endAllCreditChannels() {
    for key in creditChannels.all.keys.sorted() {
      creditChannels.all[key]?.opening = nil
      disconnect(key)
    }
    creditChannels.listeners = [:]
  }

  // MARK: Security

  mutating func askForChannelsAgain(on link: LinkIdentifier) {
    for key in creditChannels.keys(on: link) where creditChannels.all[key]?.opening?.awaitsSecurity == true {
      ask(for: key)
    }
  }

  mutating func refuseInsecureChannels(on link: LinkIdentifier) {
    for key in creditChannels.keys(on: link) where creditChannels.all[key]?.opening?.awaitsSecurity == true {
      refuseOpening(key, .notPermitted("Not paired"))
    }
  }
}
