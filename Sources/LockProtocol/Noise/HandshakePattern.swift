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
package enum HandshakePattern: UInt8, Sendable {
  /// Both sides know each other's key.
  case kk
  /// The responder knows the initiator and sends it its own key, encrypted. The lock's session uses this pattern.
  case kx
  /// Neither knows the other.
  case xx
  /// No static keys, one secret.
  case nnpsk0
  /// Neither knows the other; both know a secret.
  case xxpsk3
  /// `kx` with an additional secret.
  case kxpsk2

  /// The pattern in the protocol's name, with its modifiers: `KXpsk2`.
  private var name: StaticString {
    switch self {
    case .kk: "KK"
    case .kx: "KX"
    case .xx: "XX"
    case .nnpsk0: "NNpsk0"
    case .xxpsk3: "XXpsk3"
    case .kxpsk2: "KXpsk2"
    }
  }

  /// Whether the responder knows the initiator's static key beforehand.
  var initiatorIsKnown: Bool { self == .kk || self == .kx || self == .kxpsk2 }

  /// Whether the initiator knows the responder's static key beforehand.
  var responderIsKnown: Bool { self == .kk }

  /// Whether a pre-shared secret takes part.
  var hasSecret: Bool { self == .nnpsk0 || self == .xxpsk3 || self == .kxpsk2 }

  var messageCount: Int { self == .xx || self == .xxpsk3 ? 3 : 2 }

  /// What is in a message; the first one is the initiator's.
  func message(_ number: Int) -> [HandshakeToken] {
    switch (self, number) {
    case (.kk, 0): [.e, .es, .ss]
    case (.kk, _): [.e, .ee, .se]
    case (.nnpsk0, 0): [.psk, .e]
    case (.nnpsk0, _): [.e, .ee]
    case (_, 0): [.e]
    case (.kx, _): [.e, .ee, .se, .s, .es]
    case (.kxpsk2, _): [.e, .ee, .se, .s, .es, .psk]
    case (_, 1): [.e, .ee, .s, .es]
    case (.xx, _): [.s, .se]
    case (.xxpsk3, _): [.s, .se, .psk]
    }
  }

  /// `Noise_KX_25519_ChaChaPoly_SHA256`
  package var protocolName: [UInt8] {
    bytes(of: "Noise_") + bytes(of: name) + bytes(of: "_25519_ChaChaPoly_SHA256")
  }

  private func bytes(of text: StaticString) -> [UInt8] { text.withUTF8Buffer { Array($0) } }
}
