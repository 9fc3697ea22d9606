import BlueZ
import BusValue
import Radio

/// Starts encryption with a key that both sides have. Only the part of link layer control that this needs is simulated
/// (Bluetooth Core, Vol 6, Part B, 5.1.3). The request carries a digest of the key; real controllers prove the key to
/// each other with AES-CCM.
enum LinkControl {
  /// LL_FEATURE_REQ of the central, LL_PERIPHERAL_FEATURE_REQ, and LL_FEATURE_RSP (5.1.4).
  static let featureRequest: UInt8 = 0x08
  static let peripheralFeatureRequest: UInt8 = 0x0E
  static let featureResponse: UInt8 = 0x09
  static let encryptionRequest: UInt8 = 0x03
  static let encryptionStarted: UInt8 = 0x06
  static let reject: UInt8 = 0x0D

  static func digest(_ key: [UInt8]) -> [UInt8] {
    var mixer = Mixer(0x656E_6372_7970_7421)
    mixer.absorb(key)
    return mixer.bytes(8)
  }
}

extension BlueZModel {
  /// The key for a link: from the pairing under way if it has made one, else from the bond.
  private func key(for link: Link) -> [UInt8]? {
    link.pairing?.longTermKey ?? devices[link.device]?.bond?.longTermKey
  }

  /// Asks for the peer's features. The kernel of each side does this first on every link.
  mutating func askForFeatures(_ identifier: LinkIdentifier) {
    guard let link = links[identifier] else { return }
    let request = link.role == .central ? LinkControl.featureRequest : LinkControl.peripheralFeatureRequest
    send(Channel.linkLayer, [request], on: identifier)
  }

  /// The controller answers by itself, whether a bluetoothd runs or not. Returns `false` if the frame is something else.
  mutating func answersFeatureRequest(_ frame: Frame, on identifier: LinkIdentifier) -> Bool {
    guard frame.channel == Channel.linkLayer, let code = frame.payload.first,
      [LinkControl.featureRequest, LinkControl.peripheralFeatureRequest].contains(code)
    else { return false }
    send(Channel.linkLayer, [LinkControl.featureResponse], on: identifier)
    return true
  }

  /// Begins encryption. A peripheral can only ask the central to begin.
  mutating func startEncryption(_ identifier: LinkIdentifier) {
    guard let link = links[identifier], !link.isEncrypted else { return }
    guard link.role == .central else {
      return send(Channel.security, [SecurityManager.securityRequest, SecurityManager.authentication], on: identifier)
    }
    guard let key = key(for: link), !link.isEncrypting else { return }
    links[identifier]?.isEncrypting = true
    send(Channel.linkLayer, [LinkControl.encryptionRequest] + LinkControl.digest(key), on: identifier)
  }

  mutating func receiveLinkLayer(_ payload: [UInt8], on identifier: LinkIdentifier) {
    guard let link = links[identifier] else { return }
    switch (payload.first, link.role) {
    case (LinkControl.featureResponse, _): featuresAreKnown(identifier)
    case (LinkControl.encryptionRequest, .peripheral):
      guard let key = key(for: link) else {
        return send(Channel.linkLayer, [LinkControl.reject, DisconnectReason.keyMissing.rawValue], on: identifier)
      }
      guard Array(payload.dropFirst()) == LinkControl.digest(key) else {
        return send(
          Channel.linkLayer, [LinkControl.reject, DisconnectReason.authenticationFailure.rawValue], on: identifier)
      }
      send(Channel.linkLayer, [LinkControl.encryptionStarted], on: identifier)
      encryptionStarted(identifier)
    case (LinkControl.encryptionStarted, .central) where link.isEncrypting: encryptionStarted(identifier)
    case (LinkControl.reject, .central) where link.isEncrypting: encryptionFailed(identifier)
    default: outbox.append(.diagnostic(.malformedPDU(device: link.device)))
    }
  }

  private mutating func encryptionStarted(_ identifier: LinkIdentifier) {
    guard let link = links[identifier], !link.isEncrypted else { return }
    links[identifier]?.isEncrypted = true
    links[identifier]?.isEncrypting = false
    // The responder distributes its keys first, then the initiator.
    if link.pairing?.isInitiator == false { distributeKeys(identifier) }
    releaseHeld(identifier)
    askAgain(identifier)
    askForChannelsAgain(on: identifier)
    connected(identifier)
  }

  /// The peer has lost the key or has another one. The link can't be used until a user pairs again.
  private mutating func encryptionFailed(_ identifier: LinkIdentifier) {
    guard let device = links[identifier]?.device else { return }
    outbox.append(.diagnostic(.encryptionFailed(device: device)))
    tell(.disconnect(configuration.controller, identifier, .authenticationFailure))
    endLink(identifier, .authenticationFailure)
  }

  /// A peer refused a request for lack of security. Returns `true` if the request can be repeated later.
  mutating func raiseSecurity(_ identifier: LinkIdentifier) -> Bool {
    guard let link = links[identifier], !link.isEncrypted else { return false }
    if link.pairing != nil { return true }
    if devices[link.device]?.bond != nil {
      startEncryption(identifier)
      return true
    }
    startPairing(identifier)
    return true
  }
}
