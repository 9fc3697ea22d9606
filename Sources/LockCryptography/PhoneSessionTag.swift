import LockProtocol

extension PhoneSession where Cryptography == SwiftCryptography {
  /// Begins a session and seals its command.
  ///
  /// - Parameters:
  ///   - grant: a guest's grant; empty for an owner.
  ///   - avoidedTag: the tag of a conversation that goes on. The session's own conversation gets another one, because a
  ///     lock takes fragments with a tag of two conversations for the newer one's.
  /// - Returns: the session, and the bytes to write as the Command.
  package static func begin(
    _ command: LockCommand, grant: [UInt8] = [], offer: [UInt8], identity: LockIdentity,
    lockKey: Cryptography.PublicKey,
    phoneKey: Cryptography.PrivateKey, avoiding avoidedTag: UInt8?, using cryptography: inout Cryptography
  ) throws(LockSessionError) -> (session: Self, message: [UInt8]) {
    // Each try has another ephemeral key. One of 256 has the tag, so all of them fail once in 2^128 times.
    for _ in 0..<16 {
      var session = try Self(offer: offer, identity: identity, lockKey: lockKey, phoneKey: phoneKey)
      let message = try session.seal(command, grant: grant, using: &cryptography)
      if avoidedTag == nil || session.tag != avoidedTag { return (session, message) }
    }
    throw .authenticationFailed
  }
}
