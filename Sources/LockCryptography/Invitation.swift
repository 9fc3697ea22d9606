import Crypto
import Foundation
import LockProtocol

/// What an owner gives a guest: the lock and the grant, and also a private key unless the guest's phone has made one of
/// its own. An invitation with a key is secret, because anyone who has it can open the door as the grant allows.
package struct Invitation: Sendable, Equatable {
  package let lock: LockIntroduction
  package let grant: Grant
  /// The guest's private key, 32 bytes, or `nil` if the guest's phone has it.
  package let privateKey: [UInt8]?

  private static let prefix = "invite-1-"
  private static let checkByteCount = 4
  private static let maximumCharacterCount = 2048

  package init(lock: LockIntroduction, grant: Grant, privateKey: [UInt8]?) {
    self.lock = lock
    self.grant = grant
    self.privateKey = privateKey
  }

  /// One word, to be copied to the guest's machine.
  package var text: String {
    let bytes = [privateKey == nil ? 0 : 1] + lock.identity.bytes + lock.publicKey + (privateKey ?? []) + grant.encoded
    return Self.prefix + Hex.text(bytes + Self.checkSum(bytes))
  }

  /// Reads what `text` wrote, even with white space around it.
  package init(_ text: String) throws(InvitationError) {
    let word = text.trimmingCharacters(in: .whitespacesAndNewlines).lowercased()
    guard word.hasPrefix(Self.prefix) else { throw .unknown }
    guard word.utf8.count <= Self.maximumCharacterCount, let all = Hex.bytes(String(word.dropFirst(Self.prefix.count))),
      all.count > 1 + LockIdentity.byteCount + 2 * NoiseSize.keyByteCount + Self.checkByteCount,
      Array(all.suffix(Self.checkByteCount)) == Self.checkSum(Array(all.dropLast(Self.checkByteCount))), all[0] <= 1
    else { throw .damaged }
    var rest = all.dropFirst().dropLast(Self.checkByteCount)
    func take(_ count: Int) -> [UInt8] {
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }
    guard let identity = LockIdentity(take(LockIdentity.byteCount)),
      let lock = try? LockIntroduction(identity: identity, publicKey: take(NoiseSize.keyByteCount))
    else { throw .damaged }
    self.lock = lock
    privateKey = all[0] == 1 ? take(NoiseSize.keyByteCount) : nil
    guard let grant = try? Grant(decoding: Array(rest)), grant.lock == identity else { throw .damaged }
    self.grant = grant
  }

  /// The keys for the guest's phone.
  /// - Parameter waiting: returns the key that the phone has made for invitations. Called only if the invitation has no
  ///   key.
  /// - Throws: `InvitationError.otherPhone` if the grant is not for that key.
  package func keys(waiting: () throws -> PendingPhoneKey) throws -> PhoneKeys {
    let key: Curve25519.KeyAgreement.PrivateKey
    if let privateKey {
      guard let found = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: privateKey) else {
        throw InvitationError.damaged
      }
      key = found
    } else {
      key = try waiting().staticKey
    }
    guard Array(key.publicKey.rawRepresentation) == grant.phone else { throw InvitationError.otherPhone }
    guard let lockKey = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: lock.publicKey) else {
      throw InvitationError.damaged
    }
    return PhoneKeys(staticKey: key, lockIdentity: lock.identity, lockKey: lockKey)
  }

  /// Protects against typing errors, not against forgery.
  private static func checkSum(_ bytes: [UInt8]) -> [UInt8] {
    Array(SHA256.hash(data: Array(prefix.utf8) + bytes).prefix(checkByteCount))
  }
}

/// Why a text is not a usable invitation.
package enum InvitationError: Error, Equatable, CustomStringConvertible {
  case unknown
  case damaged
  /// It is for a key that this phone does not have.
  case otherPhone

  package var description: String {
    switch self {
    case .unknown: "this is not an invitation, which `latchkey guests invite` prints and which begins with invite-1-"
    case .damaged: "the invitation is not whole, or not as it was printed: copy it again"
    case .otherPhone:
      "the invitation is for another phone's key: the owner needs what `latchkey guests key` prints here"
    }
  }
}
