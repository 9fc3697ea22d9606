import Crypto
import Foundation
import LockProtocol

/// Makes a lock and a phone that know each other. It does what enrolment would do, for a demonstration or a test
/// bench with access to both sides' folders.
package enum Provisioning {
  /// Draws new keys and writes them, with mode 0600, into two folders, which are created (0700) if missing: the
  /// lock's identity, static key and list of enrolled phones; and the phone's static key and the lock's public key.
  /// - Returns: the lock's identity, in hexadecimal.
  /// - Throws: `.alreadyThere` if one of the folders already has keys. Nothing was changed then.
  @discardableResult
  package static func provision(lockDirectory: String, phoneDirectory: String) throws(KeyFileError) -> String {
    for path in [lockDirectory + "/" + LockKeys.fileName, phoneDirectory + "/" + PhoneKeys.fileName]
    where FileManager.default.fileExists(atPath: path) {
      throw .alreadyThere(path: path)
    }
    let phoneKey = Curve25519.KeyAgreement.PrivateKey()
    let lock = try makeLock(
      directory: lockDirectory, enrolledPhones: [Array(phoneKey.publicKey.rawRepresentation)])
    try makeFolder(phoneDirectory)
    try PhoneKeys(staticKey: phoneKey, lockIdentity: lock.identity, lockKey: lock.staticKey.publicKey)
      .write(toDirectory: phoneDirectory)
    return Hex.text(lock.identity.bytes)
  }

  /// Draws a lock's keys and writes them into a folder, which is created (0700) if it is missing.
  /// - Throws: `.alreadyThere` if the folder has keys. Nothing was changed then.
  package static func makeLock(directory: String, enrolledPhones: [[UInt8]]) throws(KeyFileError) -> LockKeys {
    try makeFolder(directory)
    var random = SystemRandomNumberGenerator()
    let identityBytes = (0..<LockIdentity.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    guard let identity = LockIdentity(identityBytes) else {
      preconditionFailure("an identity has just as many bytes as were drawn")
    }
    let keys = LockKeys(
      identity: identity, staticKey: Curve25519.KeyAgreement.PrivateKey(), enrolledPhones: enrolledPhones,
      code: .draw())
    try keys.write(toDirectory: directory)
    return keys
  }

  /// Draws a phone's key, which will wait for its lock, and writes it into a folder, which is created (0700) if it is
  /// missing.
  /// - Throws: `.alreadyThere` if a key is already waiting. Nothing was changed then.
  package static func makePendingPhone(directory: String) throws(KeyFileError) -> PendingPhoneKey {
    try makeFolder(directory)
    let key = PendingPhoneKey(staticKey: Curve25519.KeyAgreement.PrivateKey())
    try key.write(toDirectory: directory)
    return key
  }

  /// Draws another key in the place of the one that waits in a folder, which is created (0700) if it is missing.
  package static func replacePendingPhone(directory: String) throws(KeyFileError) -> PendingPhoneKey {
    try makeFolder(directory)
    let key = PendingPhoneKey.draw()
    try key.replace(inDirectory: directory)
    return key
  }

  /// Writes a phone's key, with its lock, into a folder, which is created (0700) if it is missing. Uses the key that
  /// is waiting there, or a new one.
  /// - Throws: `.alreadyThere` if the key already has a lock. Nothing was changed then.
  package static func makePhone(directory: String, lock: LockIntroduction) throws(KeyFileError) -> PhoneKeys {
    try makeFolder(directory)
    let pending = directory + "/" + PendingPhoneKey.fileName
    let key =
      FileManager.default.fileExists(atPath: pending)
      ? try PendingPhoneKey.read(fromDirectory: directory).staticKey : Curve25519.KeyAgreement.PrivateKey()
    let keys = PhoneKeys(staticKey: key, lock: lock)
    try keys.write(toDirectory: directory)
    // If this is interrupted, the file stays behind and is ignored.
    unlink(pending)
    return keys
  }

  private static func makeFolder(_ directory: String) throws(KeyFileError) {
    do {
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch { throw .notWritable(path: directory, reason: KeyFileError.words(error)) }
  }
}
