/// Why a session refused a message.
package enum LockSessionError: Error, Equatable, Sendable {
  /// The length is not valid for this message.
  case wrongLength
  /// The session has been used: it is good for one command and its answer.
  case used
  /// The message is not from an enrolled phone, is not for this lock, version or offer, or was changed on its way.
  case authenticationFailed
  /// The phone proved its key, but the key is not on the lock's list.
  case notEnrolled
  /// The message is authentic, but is not a message of this version.
  case malformed
  /// The message is authentic, but answers a different command.
  case otherOperation
}

/// The lock's side: one offer, one command, one answer.
///
/// The lock is the initiator of `Noise_KX_25519_ChaChaPoly_SHA256`. So its fresh ephemeral key comes first, and
/// whatever the phone writes is bound to it.
package struct LockSession<Cryptography: NoiseCryptography> {
  /// The bytes to send as the Offer.
  package let offer: [UInt8]
  private var handshake: HandshakeState<Cryptography>
  private var transport: NoiseTransport<Cryptography>?
  /// What follows the answer, once it is sealed.
  package private(set) var conversation: Conversation<Cryptography>?

  /// A session with a fresh offer.
  package init(
    identity: LockIdentity, staticKey: Cryptography.PrivateKey, using cryptography: inout Cryptography
  ) throws(LockSessionError) {
    do {
      handshake = try HandshakeState(
        .kx, role: .initiator, prologue: LockService.prologue(identity), staticKey: staticKey)
      offer = try handshake.writeMessage([], using: &cryptography)
    } catch { throw .authenticationFailed }
  }

  /// Accepts the one command, if it comes from an enrolled phone. Any other message ends the session, except that a
  /// message of the wrong length leaves it unchanged.
  /// - Returns: the phone's static key, which is proven, and its command.
  package mutating func accept(
    _ message: [UInt8], isEnrolled: ([UInt8]) -> Bool
  ) throws(LockSessionError) -> (phoneKey: [UInt8], command: LockCommand) {
    let accepted = try accept(message) { key, grant in grant.isEmpty && isEnrolled(key) }
    return (accepted.phoneKey, accepted.command)
  }

  /// As `accept(_:isEnrolled:)`, but also for a guest, who brings a grant with the command.
  /// - Parameter admits: whether the phone with this key is enrolled or this grant is for it. The grant is empty if
  ///   there is none.
  package mutating func accept(
    _ message: [UInt8], admits: (_ phoneKey: [UInt8], _ grant: [UInt8]) -> Bool
  ) throws(LockSessionError) -> (phoneKey: [UInt8], command: LockCommand, grant: [UInt8]) {
    let length = message.count - LockService.commandByteCount
    guard length == 0 || Grant.byteCounts.contains(length) else { throw .wrongLength }
    let payload: [UInt8]
    do { payload = try handshake.readMessage(message) } catch {
      throw error == .outOfTurn ? .used : .authenticationFailed
    }
    guard let remoteKey = handshake.remoteStaticKey else { throw .authenticationFailed }
    let phoneKey = Cryptography.bytes(of: remoteKey)
    let grant = Array(payload.dropFirst(LockCommand.byteCount))
    guard admits(phoneKey, grant) else { throw .notEnrolled }
    let command: LockCommand
    do { command = try LockCommand(decoding: Array(payload.prefix(LockCommand.byteCount))) } catch { throw .malformed }
    do { transport = try handshake.split() } catch { throw .authenticationFailed }
    return (phoneKey, command, grant)
  }

  /// Seals the one answer. Throws `.used` if there is no command to answer.
  package mutating func seal(_ answer: LockAnswer) throws(LockSessionError) -> [UInt8] {
    guard var transport else { throw .used }
    self.transport = nil
    do {
      let message = try transport.fromInitiator.encrypt(answer.encoded)
      conversation = Conversation(transport, role: .initiator, handshakeHash: handshake.handshakeHash)
      return message
    } catch { throw .authenticationFailed }
  }
}

/// The phone's side of one session: made from an offer, good for one command and its answer.
package struct PhoneSession<Cryptography: NoiseCryptography> {
  private var handshake: HandshakeState<Cryptography>
  private var transport: NoiseTransport<Cryptography>?
  private var operation: UInt64?
  /// The conversation that may follow the answer, once the answer has been read.
  package private(set) var conversation: Conversation<Cryptography>?
  /// The tag of that conversation, once a command is sealed.
  package var tag: UInt8? { operation == nil ? nil : handshake.handshakeHash.first }

  /// - Parameter lockKey: the static public key of the lock at which this phone was enrolled. Only that lock can read
  ///   what this session writes, or learn which phone wrote it.
  package init(
    offer: [UInt8], identity: LockIdentity, lockKey: Cryptography.PublicKey, phoneKey: Cryptography.PrivateKey
  ) throws(LockSessionError) {
    guard offer.count == LockService.offerByteCount else { throw .wrongLength }
    do {
      handshake = try HandshakeState(
        .kx, role: .responder, prologue: LockService.prologue(identity), staticKey: phoneKey,
        remoteStaticKey: lockKey)
      _ = try handshake.readMessage(offer)
    } catch { throw .authenticationFailed }
  }

  /// The bytes to write as the Command.
  /// - Parameter grant: a guest's grant; empty for an owner.
  package mutating func seal(
    _ command: LockCommand, grant: [UInt8] = [], using cryptography: inout Cryptography
  ) throws(LockSessionError) -> [UInt8] {
    guard operation == nil, !handshake.isComplete else { throw .used }
    do {
      let message = try handshake.writeMessage(command.encoded + grant, using: &cryptography)
      transport = try handshake.split()
      operation = command.operation
      return message
    } catch { throw .authenticationFailed }
  }

  /// Reads the lock's answer, which proves that it came from this lock. A forged answer leaves the session unchanged,
  /// so that the true one can still come.
  package mutating func open(_ message: [UInt8]) throws(LockSessionError) -> LockAnswer {
    guard message.count == LockService.answerByteCount else { throw .wrongLength }
    guard var transport, let operation else { throw .used }
    let plaintext: [UInt8]
    do { plaintext = try transport.fromInitiator.decrypt(message) } catch { throw .authenticationFailed }
    self.transport = nil
    conversation = Conversation(transport, role: .responder, handshakeHash: handshake.handshakeHash)
    let answer: LockAnswer
    do { answer = try LockAnswer(decoding: plaintext) } catch { throw .malformed }
    guard answer.operation == operation else { throw .otherOperation }
    return answer
  }
}
