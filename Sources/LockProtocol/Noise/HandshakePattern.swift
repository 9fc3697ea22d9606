/// One step within a handshake message (Noise, section 7.1).
package enum HandshakeToken: UInt8, Equatable, Sendable {
  /// The sender's ephemeral key.
  case e
  /// The sender's static key.
  case s
  /// Diffie-Hellman. The initiator's key comes first.
  case ee, es, se, ss
  /// The next pre-shared secret.
  case psk
}

/// A handshake in the notation of the Noise specification: which side sends which keys when.
package struct HandshakePattern: Sendable {
  /// The pattern in the protocol's name, with its modifiers: `KXpsk2`.
  package let name: [UInt8]
  /// Whether the responder knows the initiator's static key beforehand.
  let initiatorIsKnown: Bool
  /// Whether the initiator knows the responder's static key beforehand.
  let responderIsKnown: Bool
  /// The messages, the initiator's first.
  let messages: [[HandshakeToken]]
  /// Whether a pre-shared secret takes part.
  let hasSecret: Bool

  private init(
    _ name: StaticString, initiatorIsKnown: Bool = false, responderIsKnown: Bool = false,
    messages: [[HandshakeToken]]
  ) {
    self.name = name.withUTF8Buffer { Array($0) }
    self.initiatorIsKnown = initiatorIsKnown
    self.responderIsKnown = responderIsKnown
    self.messages = messages
    hasSecret = messages.contains { $0.contains(.psk) }
  }

  /// Both sides know each other's key.
  package static var kk: HandshakePattern {
    HandshakePattern(
      "KK", initiatorIsKnown: true, responderIsKnown: true, messages: [[.e, .es, .ss], [.e, .ee, .se]])
  }
  /// The responder knows the initiator and sends it its own key, encrypted. The lock's session uses this pattern.
  package static var kx: HandshakePattern {
    HandshakePattern("KX", initiatorIsKnown: true, messages: [[.e], [.e, .ee, .se, .s, .es]])
  }
  /// Neither knows the other.
  package static var xx: HandshakePattern {
    HandshakePattern("XX", messages: [[.e], [.e, .ee, .s, .es], [.s, .se]])
  }
  /// No static keys, one secret.
  package static var nnpsk0: HandshakePattern {
    HandshakePattern("NNpsk0", messages: [[.psk, .e], [.e, .ee]])
  }
  /// Neither knows the other; both know a secret.
  package static var xxpsk3: HandshakePattern {
    HandshakePattern("XXpsk3", messages: [[.e], [.e, .ee, .s, .es], [.s, .se, .psk]])
  }
  /// `kx` with an additional secret.
  package static var kxpsk2: HandshakePattern {
    HandshakePattern("KXpsk2", initiatorIsKnown: true, messages: [[.e], [.e, .ee, .se, .s, .es, .psk]])
  }

  /// `Noise_KX_25519_ChaChaPoly_SHA256`
  package var protocolName: [UInt8] {
    bytes(of: "Noise_") + name + bytes(of: "_25519_ChaChaPoly_SHA256")
  }

  private func bytes(of text: StaticString) -> [UInt8] { text.withUTF8Buffer { Array($0) } }
}
