/// The two sides of a handshake.
package enum HandshakeRole: Sendable { case initiator, responder }

/// One side of a handshake (Noise, section 5.3).
///
/// A refused message ends the handshake: everything after it is `.outOfTurn`. So nothing can be learned from trying
/// again.
package struct HandshakeState<Cryptography: NoiseCryptography> {
  package let role: HandshakeRole
  private let pattern: HandshakePattern
  private var symmetric: SymmetricState<Cryptography>
  private let staticKey: Cryptography.PrivateKey?
  private var ephemeralKey: Cryptography.PrivateKey?
  /// The other side's static key, once it is known. It is proven only when the handshake says so.
  package private(set) var remoteStaticKey: Cryptography.PublicKey?
  private var remoteEphemeralKey: Cryptography.PublicKey?
  private let secret: [UInt8]?
  private var nextMessage = 0
  private var hasFailed = false

  /// - Parameters:
  ///   - prologue: what both sides must agree on before they begin. If it differs, nothing decrypts.
  ///   - remoteStaticKey: the other side's key, if the pattern requires it to be known beforehand.
  ///   - secret: 32 bytes, if the pattern has `psk`.
  /// - Throws: `.missingKey` if the pattern needs a key that was not given.
  package init(
    _ pattern: HandshakePattern, role: HandshakeRole, prologue: [UInt8], staticKey: Cryptography.PrivateKey? = nil,
    remoteStaticKey: Cryptography.PublicKey? = nil, secret: [UInt8]? = nil
  ) throws(NoiseError) {
    if pattern.hasSecret {
      guard let secret, secret.count == NoiseSize.keyByteCount else { throw .missingKey }
    }
    self.pattern = pattern
    self.role = role
    self.staticKey = staticKey
    self.remoteStaticKey = remoteStaticKey
    self.secret = secret
    symmetric = SymmetricState(protocolName: pattern.protocolName)
    symmetric.mixHash(prologue)
    if pattern.initiatorIsKnown { symmetric.mixHash(try publicKey(of: .initiator)) }
    if pattern.responderIsKnown { symmetric.mixHash(try publicKey(of: .responder)) }
  }

  /// Whether every message has been written and read.
  package var isComplete: Bool { nextMessage == pattern.messageCount && !hasFailed }

  /// The hash over the whole handshake, which identifies this session uniquely.
  package var handshakeHash: [UInt8] { symmetric.handshakeHash }

  /// This side's next message, with a payload.
  package mutating func writeMessage(
    _ payload: [UInt8], using cryptography: inout Cryptography
  ) throws(NoiseError) -> [UInt8] {
    guard isTurn(toWrite: true) else { throw .outOfTurn }
    hasFailed = true
    var message: [UInt8] = []
    for token in pattern.message(nextMessage) {
      switch token {
      case .e:
        let key = cryptography.makePrivateKey()
        ephemeralKey = key
        let bytes = Cryptography.bytes(of: Cryptography.publicKey(of: key))
        message += bytes
        mixEphemeral(bytes)
      case .s:
        guard let staticKey else { throw .missingKey }
        message += try symmetric.encryptAndHash(Cryptography.bytes(of: Cryptography.publicKey(of: staticKey)))
      case .ee, .es, .se, .ss, .psk: try mix(token)
      }
    }
    message += try symmetric.encryptAndHash(payload)
    guard message.count <= NoiseSize.maximumMessageByteCount else { throw .messageTooLong }
    nextMessage += 1
    hasFailed = false
    return message
  }

  /// Reads the other side's next message. Returns its payload.
  package mutating func readMessage(_ message: [UInt8]) throws(NoiseError) -> [UInt8] {
    guard isTurn(toWrite: false) else { throw .outOfTurn }
    hasFailed = true
    guard message.count <= NoiseSize.maximumMessageByteCount else { throw .messageTooLong }
    var position = 0
    for token in pattern.message(nextMessage) {
      switch token {
      case .e:
        let bytes = try take(NoiseSize.keyByteCount, from: message, at: &position)
        remoteEphemeralKey = try Cryptography.publicKey(from: bytes)
        mixEphemeral(bytes)
      case .s:
        let count = NoiseSize.keyByteCount + (symmetric.hasKey ? NoiseSize.tagByteCount : 0)
        let bytes = try symmetric.decryptAndHash(try take(count, from: message, at: &position))
        remoteStaticKey = try Cryptography.publicKey(from: bytes)
      case .ee, .es, .se, .ss, .psk: try mix(token)
      }
    }
    let payload = try symmetric.decryptAndHash(Array(message[position...]))
    nextMessage += 1
    hasFailed = false
    return payload
  }

  /// The keys for the messages that follow. Throws `.outOfTurn` before the handshake is complete.
  package func split() throws(NoiseError) -> NoiseTransport<Cryptography> {
    guard isComplete else { throw .outOfTurn }
    return symmetric.split()
  }

  private func isTurn(toWrite: Bool) -> Bool {
    guard !hasFailed, nextMessage < pattern.messageCount else { return false }
    let initiatorWrites = nextMessage % 2 == 0
    return (role == .initiator) == (initiatorWrites == toWrite)
  }

  private mutating func mixEphemeral(_ bytes: [UInt8]) {
    symmetric.mixHash(bytes)
    // Section 9.2: if there is a secret, the ephemeral key also randomizes the encryption key.
    if pattern.hasSecret { symmetric.mixKey(bytes) }
  }

  private mutating func mix(_ token: HandshakeToken) throws(NoiseError) {
    let isInitiator = role == .initiator
    switch token {
    case .ee: try mixShared(ephemeralKey, remoteEphemeralKey)
    case .ss: try mixShared(staticKey, remoteStaticKey)
    case .es:
      if isInitiator {
        try mixShared(ephemeralKey, remoteStaticKey)
      } else {
        try mixShared(staticKey, remoteEphemeralKey)
      }
    case .se:
      if isInitiator {
        try mixShared(staticKey, remoteEphemeralKey)
      } else {
        try mixShared(ephemeralKey, remoteStaticKey)
      }
    case .psk:
      guard let secret else { throw .missingKey }
      symmetric.mixKeyAndHash(secret)
    case .e, .s: break
    }
  }

  private mutating func mixShared(
    _ privateKey: Cryptography.PrivateKey?, _ publicKey: Cryptography.PublicKey?
  ) throws(NoiseError) {
    guard let privateKey, let publicKey else { throw .missingKey }
    symmetric.mixKey(try Cryptography.sharedSecret(privateKey, publicKey))
  }

  private func publicKey(of side: HandshakeRole) throws(NoiseError) -> [UInt8] {
    if side == role {
      guard let staticKey else { throw .missingKey }
      return Cryptography.bytes(of: Cryptography.publicKey(of: staticKey))
    }
    guard let remoteStaticKey else { throw .missingKey }
    return Cryptography.bytes(of: remoteStaticKey)
  }

  private func take(_ count: Int, from message: [UInt8], at position: inout Int) throws(NoiseError) -> [UInt8] {
    guard message.count - position >= count else { throw .messageTooShort }
    defer { position += count }
    return Array(message[position..<position + count])
  }
}
