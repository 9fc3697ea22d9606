import Crypto
import Foundation
import LockProtocol

/// Makes a lock and a phone that know each other: what enrolment would do, for a demonstration or a test bench
/// where both sides' folders are at hand.
public enum Provisioning {
  /// Draws fresh keys and writes them, 0600, into two folders, which are created (0700) where missing: the lock's
  /// identity, static key and list of enrolled phones; the phone's static key and the lock's public key.
  /// - Returns: the lock's identity, in hexadecimal.
  /// - Throws: `.alreadyThere` where one of them has keys; then nothing was changed.
  @discardableResult
  public static func provision(lockDirectory: String, phoneDirectory: String) throws(KeyFileError) -> String {
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

  /// Draws a lock's keys and writes them into a folder, which is created (0700) where it is missing.
  /// - Throws: `.alreadyThere` where it has keys; then nothing was changed.
  public static func makeLock(directory: String, enrolledPhones: [[UInt8]]) throws(KeyFileError) -> LockKeys {
    try makeFolder(directory)
    var random = SystemRandomNumberGenerator()
    let identityBytes = (0..<LockIdentity.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    guard let identity = LockIdentity(identityBytes) else {
      preconditionFailure("an identity has just as many bytes as were drawn")
    }
    let keys = LockKeys(
      identity: identity, staticKey: Curve25519.KeyAgreement.PrivateKey(), enrolledPhones: enrolledPhones)
    try keys.write(toDirectory: directory)
    return keys
  }

  /// Draws a phone's key and writes it into a folder, which is created (0700) where it is missing, to wait for its lock.
  /// - Throws: `.alreadyThere` where one waits already; then nothing was changed.
  public static func makePendingPhone(directory: String) throws(KeyFileError) -> PendingPhoneKey {
    try makeFolder(directory)
    let key = PendingPhoneKey(staticKey: Curve25519.KeyAgreement.PrivateKey())
    try key.write(toDirectory: directory)
    return key
  }

  /// Writes a phone's key, with the lock that it is for, into a folder, which is created (0700) where it is missing: the
  /// key that waits there, or a fresh one.
  /// - Throws: `.alreadyThere` where it has a lock; then nothing was changed.
  public static func makePhone(directory: String, lock: LockIntroduction) throws(KeyFileError) -> PhoneKeys {
    guard let lockKey = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: lock.publicKey) else {
      preconditionFailure("an introduction has been read, and its key with it")
    }
    try makeFolder(directory)
    let pending = directory + "/" + PendingPhoneKey.fileName
    let key =
      FileManager.default.fileExists(atPath: pending)
      ? try PendingPhoneKey.read(fromDirectory: directory).staticKey : Curve25519.KeyAgreement.PrivateKey()
    let keys = PhoneKeys(staticKey: key, lockIdentity: lock.identity, lockKey: lockKey)
    try keys.write(toDirectory: directory)
    // Cut short here it stays behind, and is looked at by nobody.
    unlink(pending)
    return keys
  }

  private static func makeFolder(_ directory: String) throws(KeyFileError) {
    do {
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch { throw .notWritable(path: directory, reason: "\(error)") }
  }
}
