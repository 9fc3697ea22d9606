import Crypto
import Foundation
import LockProtocol

/// The keys and data of one lock.
package struct LockKeys: Sendable {
  /// The file's name within a folder of credentials.
  package static let fileName = "lock-keys.json"

  package let identity: LockIdentity
  package let staticKey: Curve25519.KeyAgreement.PrivateKey
  /// The static public keys of the phones that may open it, 32 bytes each.
  package let enrolledPhones: [[UInt8]]
  /// The code that is printed on the lock, or `nil` if the file is from an earlier release and `addCode` was not called
  /// yet.
  package let code: EnrolmentCode?

  package init(
    identity: LockIdentity, staticKey: Curve25519.KeyAgreement.PrivateKey, enrolledPhones: [[UInt8]],
    code: EnrolmentCode? = nil
  ) {
    self.code = code
    self.identity = identity
    self.staticKey = staticKey
    self.enrolledPhones = enrolledPhones
  }

  private struct Stored: Codable {
    var version: Int
    var identity: String
    var privateKey: String
    var enrolledPhones: [String]
    var enrolmentCode: String?
  }

  /// Reads the keys from a folder. Changes nothing.
  package static func read(fromDirectory directory: String) throws(KeyFileError) -> LockKeys {
    let file = KeyFile(path: directory + "/" + fileName)
    let stored = try file.read(Stored.self)
    guard stored.version == 1 else { throw .unknownVersion(path: file.path, version: stored.version) }
    guard let identity = LockIdentity(try file.bytes(stored.identity, "identity", count: LockIdentity.byteCount))
    else { throw .damaged(path: file.path, problem: "identity") }
    guard stored.enrolledPhones.count <= maximumPhoneCount else {
      throw .damaged(path: file.path, problem: "more than \(maximumPhoneCount) enrolled phones")
    }
    var phones: [[UInt8]] = []
    for text in stored.enrolledPhones {
      phones.append(try file.bytes(text, "enrolledPhones", count: NoiseSize.keyByteCount))
    }
    var code: EnrolmentCode?
    if let text = stored.enrolmentCode {
      do throws(EnrolmentCodeError) { code = try EnrolmentCode(text) } catch {
        throw .damaged(path: file.path, problem: "enrolmentCode")
      }
    }
    return LockKeys(
      identity: identity, staticKey: try file.privateKey(stored.privateKey), enrolledPhones: phones, code: code)
  }

  /// The most phones one lock can have enrolled.
  package static let maximumPhoneCount = 64

  /// Writes the keys into a folder, completely or not at all, readable only by the owner.
  package func write(toDirectory directory: String) throws(KeyFileError) {
    try KeyFile(path: directory + "/" + Self.fileName).write(stored)
  }

  /// Adds a phone to the keys in a folder, which are replaced as a whole. A phone that is already enrolled stays
  /// enrolled.
  /// - Throws: `.tooManyPhones` if the lock has no room for another. As on every error, nothing was changed.
  package static func enroll(_ phone: PhoneIntroduction, inDirectory directory: String) throws(KeyFileError) -> LockKeys
  {
    // Exclusively, because an enrolment by another process between reading and writing would be lost.
    try KeyFile(path: directory + "/" + fileName).exclusively { () throws(KeyFileError) in
      try enrollAlone(phone, inDirectory: directory)
    }
  }

  private static func enrollAlone(
    _ phone: PhoneIntroduction, inDirectory directory: String
  ) throws(KeyFileError) -> LockKeys {
    let keys = try read(fromDirectory: directory)
    guard !keys.enrolledPhones.contains(phone.publicKey) else { return keys }
    let path = directory + "/" + fileName
    guard keys.enrolledPhones.count < maximumPhoneCount else { throw .tooManyPhones(path: path) }
    let enrolled = LockKeys(
      identity: keys.identity, staticKey: keys.staticKey, enrolledPhones: keys.enrolledPhones + [phone.publicKey],
      code: keys.code)
    try KeyFile(path: path).replace(with: enrolled.stored)
    return enrolled
  }

  /// Gives the lock a code, if it has none yet. The file is replaced as a whole.
  package static func addCode(inDirectory directory: String) throws(KeyFileError) -> LockKeys {
    let path = directory + "/" + fileName
    return try KeyFile(path: path).exclusively { () throws(KeyFileError) in
      let keys = try read(fromDirectory: directory)
      guard keys.code == nil else { return keys }
      let new = LockKeys(
        identity: keys.identity, staticKey: keys.staticKey, enrolledPhones: keys.enrolledPhones, code: .draw())
      try KeyFile(path: path).replace(with: new.stored)
      return new
    }
  }

  private var stored: Stored {
    Stored(
      version: 1, identity: Hex.text(identity.bytes), privateKey: Hex.text(Array(staticKey.rawRepresentation)),
      enrolledPhones: enrolledPhones.map(Hex.text),
      enrolmentCode: code?.words)
  }
}

/// The keys and data that a phone needs to open one lock.
package struct PhoneKeys: Sendable {
  /// The file's name within a folder of credentials.
  package static let fileName = "phone-keys.json"

  package let staticKey: Curve25519.KeyAgreement.PrivateKey
  package let lockIdentity: LockIdentity
  package let lockKey: Curve25519.KeyAgreement.PublicKey

  package init(
    staticKey: Curve25519.KeyAgreement.PrivateKey, lockIdentity: LockIdentity,
    lockKey: Curve25519.KeyAgreement.PublicKey
  ) {
    self.staticKey = staticKey
    self.lockIdentity = lockIdentity
    self.lockKey = lockKey
  }

  /// A phone's key for an introduced lock.
  package init(staticKey: Curve25519.KeyAgreement.PrivateKey, lock: LockIntroduction) {
    guard let lockKey = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: lock.publicKey) else {
      preconditionFailure("an introduction has been read, and its key with it")
    }
    self.init(staticKey: staticKey, lockIdentity: lock.identity, lockKey: lockKey)
  }

  /// Keys with a new private key. They are not written to a file.
  package static func draw(for lock: LockIntroduction) -> PhoneKeys {
    PhoneKeys(staticKey: Curve25519.KeyAgreement.PrivateKey(), lock: lock)
  }

  private struct Stored: Codable {
    var version: Int
    var privateKey: String
    var lockIdentity: String
    var lockPublicKey: String
  }

  /// Reads the keys from a folder. Changes nothing.
  package static func read(fromDirectory directory: String) throws(KeyFileError) -> PhoneKeys {
    let file = KeyFile(path: directory + "/" + fileName)
    let stored = try file.read(Stored.self)
    guard stored.version == 1 else { throw .unknownVersion(path: file.path, version: stored.version) }
    let lockBytes = try file.bytes(stored.lockPublicKey, "lockPublicKey", count: NoiseSize.keyByteCount)
    guard let lockKey = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: lockBytes),
      let identity = LockIdentity(try file.bytes(stored.lockIdentity, "lockIdentity", count: LockIdentity.byteCount))
    else { throw .damaged(path: file.path, problem: "lockPublicKey") }
    return PhoneKeys(staticKey: try file.privateKey(stored.privateKey), lockIdentity: identity, lockKey: lockKey)
  }

  /// Writes the keys into a folder, completely or not at all, readable only by the owner.
  package func write(toDirectory directory: String) throws(KeyFileError) {
    try KeyFile(path: directory + "/" + Self.fileName).write(
      Stored(
        version: 1, privateKey: Hex.text(Array(staticKey.rawRepresentation)),
        lockIdentity: Hex.text(lockIdentity.bytes), lockPublicKey: Hex.text(Array(lockKey.rawRepresentation))))
  }
}

/// A phone's key before its lock is known. The lock is told about it first, so that it accepts the phone when they
/// meet.
package struct PendingPhoneKey: Sendable {
  /// The file's name within a folder of credentials.
  package static let fileName = "pending-phone-key.json"

  package let staticKey: Curve25519.KeyAgreement.PrivateKey

  package init(staticKey: Curve25519.KeyAgreement.PrivateKey) { self.staticKey = staticKey }

  /// A new private key. It is not written to a file.
  package static func draw() -> PendingPhoneKey { PendingPhoneKey(staticKey: Curve25519.KeyAgreement.PrivateKey()) }

  private struct Stored: Codable {
    var version: Int
    var privateKey: String
  }

  /// Reads the key from a folder. Changes nothing.
  package static func read(fromDirectory directory: String) throws(KeyFileError) -> PendingPhoneKey {
    let file = KeyFile(path: directory + "/" + fileName)
    let stored = try file.read(Stored.self)
    guard stored.version == 1 else { throw .unknownVersion(path: file.path, version: stored.version) }
    return PendingPhoneKey(staticKey: try file.privateKey(stored.privateKey))
  }

  /// Writes the key into a folder, completely or not at all, readable only by the owner.
  package func write(toDirectory directory: String) throws(KeyFileError) {
    try KeyFile(path: directory + "/" + Self.fileName).write(
      Stored(version: 1, privateKey: Hex.text(Array(staticKey.rawRepresentation))))
  }

  /// Writes the key in the place of the one that is there, if there is one.
  func replace(inDirectory directory: String) throws(KeyFileError) {
    try KeyFile(path: directory + "/" + Self.fileName).replace(
      with: Stored(version: 1, privateKey: Hex.text(Array(staticKey.rawRepresentation))))
  }
}
