import BlueZ
import BluetoothTypes
import Radio

/// What peers say about L2CAP channels.
extension BlueZModel {
  mutating func signal(_ pdu: SignalingPDU, on link: LinkIdentifier) { send(Channel.signaling, pdu.bytes, on: link) }

  mutating func receiveSignaling(_ payload: [UInt8], on link: LinkIdentifier) {
    guard let pdu = SignalingPDU(payload) else {
      if let device = links[link]?.device { outbox.append(.diagnostic(.malformedPDU(device: device))) }
      // Only a request is answered. Requests have even codes, and the rejection itself is not one.
      guard payload.count >= 2, payload[0].isMultiple(of: 2) || payload[0] == 0x14 else { return }
      return signal(.reject(payload[1], reason: SignalingPDU.notUnderstood), on: link)
    }
    switch pdu {
    case .connectionRequest(let command, let psm, let source, let terms):
      let result = admit(psm, source, terms, on: link)
      guard case .success(let key) = result else {
        let none = SignalingPDU.Terms(mtu: 0, mps: 0, credits: 0)
        guard case .failure(let refusal) = result else { return }
        return signal(.connectionResponse(command, destination: 0, none, result: refusal.code), on: link)
      }
      signal(
        .connectionResponse(
          command, destination: key.channel, CreditChannel.ownTerms, result: SignalingPDU.Result.success), on: link)
      creditChannels.listeners[psm]?.waiting.append(key)
      handOver(psm)
    case .connectionResponse(let command, let destination, let terms, let result):
      answered(command, destination, terms, result, on: link)
    case .disconnectionRequest(let command, let destination, let source):
      let key = CreditChannels.Key(link: link, channel: destination)
      guard let channel = creditChannels.all[key], channel.opening == nil else {
        return signal(.reject(command, reason: SignalingPDU.invalidChannel), on: link)
      }
      guard channel.peerChannel == source else { return }
      signal(.disconnectionResponse(command, destination: destination, source: source), on: link)
      end(key, .canceled)
    case .credits(_, let peerChannel, let count):
      guard let key = creditChannels.keys(on: link).first(where: { isOpen($0, to: peerChannel) }) else { return }
      guard creditChannels.all[key]?.gain(count) == true else { return disconnect(key) }
      pump(key)
    case .reject(let command, _):
      for key in creditChannels.keys(on: link) where creditChannels.all[key]?.opening?.command == command {
        refuseOpening(key, .notSupported)
      }
    case .disconnectionResponse: break
    }
  }

  private func isOpen(_ key: CreditChannels.Key, to peerChannel: UInt16) -> Bool {
    creditChannels.all[key].map { $0.opening == nil && $0.peerChannel == peerChannel } ?? false
  }

  private struct Refusal: Error {
    let code: UInt16
    init(_ code: UInt16) { self.code = code }
  }

  /// A peer asks for a channel.
  private mutating func admit(
    _ psm: UInt16, _ source: UInt16, _ terms: SignalingPDU.Terms, on link: LinkIdentifier
  ) -> Result<CreditChannels.Key, Refusal> {
    guard let listener = creditChannels.listeners[psm] else { return .failure(Refusal(SignalingPDU.Result.unknownPSM)) }
    if listener.requiresEncryption, links[link]?.isEncrypted != true {
      let isBonded = links[link].flatMap { devices[$0.device]?.bond } != nil
      return .failure(
        Refusal(
          isBonded ? SignalingPDU.Result.insufficientEncryption : SignalingPDU.Result.insufficientAuthentication))
    }
    guard CreditChannels.identifiers.contains(source) else {
      return .failure(Refusal(SignalingPDU.Result.invalidSource))
    }
    guard !creditChannels.keys(on: link).contains(where: { isOpen($0, to: source) }) else {
      return .failure(Refusal(SignalingPDU.Result.sourceInUse))
    }
    guard terms.mtu >= ChannelLimits.minimumMTU, terms.mps >= ChannelLimits.minimumMTU, terms.mps <= 65533 else {
      return .failure(Refusal(SignalingPDU.Result.unacceptableParameters))
    }
    guard listener.waiting.count < CreditChannels.backlogLimit, let key = creditChannels.free(on: link) else {
      return .failure(Refusal(SignalingPDU.Result.noResources))
    }
    var channel = CreditChannel()
    channel.isOpen(to: source, terms)
    creditChannels.all[key] = channel
    return .success(key)
  }

  private mutating func answered(
    _ command: UInt8, _ destination: UInt16, _ terms: SignalingPDU.Terms, _ result: UInt16, on link: LinkIdentifier
  ) {
    guard
      let key = creditChannels.keys(on: link).first(where: { creditChannels.all[$0]?.opening?.command == command }),
      let opening = creditChannels.all[key]?.opening
    else { return }
    switch result {
    case SignalingPDU.Result.success:
      guard CreditChannels.identifiers.contains(destination), terms.mtu >= ChannelLimits.minimumMTU,
        terms.mps >= ChannelLimits.minimumMTU
      else { return refuseOpening(key, .failed("the peer's answer breaks the rules")) }
      creditChannels.all[key]?.isOpen(to: destination, terms)
      giveSocket(key, to: opening.call)
    case SignalingPDU.Result.insufficientAuthentication, SignalingPDU.Result.insufficientEncryption:
      guard !opening.hasRetried else { return refuseOpening(key, .notPermitted("Not paired")) }
      creditChannels.all[key]?.opening?.hasRetried = true
      creditChannels.all[key]?.opening?.awaitsSecurity = true
      creditChannels.all[key]?.opening?.deadline = nil
      if !raiseSecurity(link) { refuseOpening(key, .notPermitted("Not paired")) }
    case SignalingPDU.Result.noResources: refuseOpening(key, .failed("the peer has no room for another channel"))
    default: refuseOpening(key, .rejected)
    }
  }

  mutating func receiveData(_ frame: [UInt8], on key: CreditChannels.Key) {
    guard let channel = creditChannels.all[key], channel.opening == nil, !channel.isClosing else { return }
    switch creditChannels.all[key]?.take(frame) {
    case .packet(let packet): if let socket = channel.socket { outbox.append(.channel(.data(socket, packet))) }
    case .violation:
      if let device = links[key.link]?.device { outbox.append(.diagnostic(.malformedPDU(device: device))) }
      disconnect(key)
    case .nothing, nil: break
    }
  }
}
