import Crypto
import Foundation
import LockProtocol

/// The keys of one door that a phone got by an invitation or by a lock's code. Each door has one file, mode 0600, in a
/// folder of the agent.
package struct DoorKeys: Sendable {
  /// The name that the phone's user gave the door.
  package let name: String
  package let keys: PhoneKeys
  /// A guest's grant; an owner has none.
  package let grant: Grant?
  /// The public keys that this phone had earlier as an owner's, if it was enrolled again, and that are still to be
  /// revoked. The list may be empty. `nil` once a revocation list with them waits for the lock. They are in the same
  /// file as the new key, so a crash can't separate the two.
  package let replaces: [[UInt8]]?

  package init(name: String, keys: PhoneKeys, grant: Grant?, replaces: [[UInt8]]? = nil) {
    self.name = name
    self.keys = keys
    self.grant = grant
    self.replaces = replaces
  }

  /// The same keys without the earlier ones, because nothing is left to be revoked.
  package var settled: DoorKeys { DoorKeys(name: name, keys: keys, grant: grant) }

  private struct Stored: Codable {
    var version: Int
    var name: String
    var privateKey: String
    var lockIdentity: String
    var lockPublicKey: String
    /// Never missing in version 1.
    var grant: String?
    /// Missing if nothing is to be revoked, and in files of earlier releases.
    var replaces: [String]?
  }

  /// The name of the door whose keys a phone got at its setup.
  package static let ownName = "door"

  /// Whether a door can have this name: letters, digits, and `-` or `_` between them, at most 32.
  package static func isName(_ name: String) -> Bool {
    (1...32).contains(name.utf8.count) && name.utf8.first != UInt8(ascii: "-")
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
          UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }

  /// A door's name made from what its lock calls itself.
  package static func name(from lockName: String) -> String {
    let letters = lockName.lowercased().utf8.map { byte -> Character in
      let text = Character(UnicodeScalar(byte))
      return isName(String(text)) ? text : "-"
    }
    let name = String(letters.drop { $0 == "-" }.prefix(28))
    return isName(name) ? name : "door"
  }

  /// Reads the keys of all doors in a folder, in the order of their names. There are none if there is no folder.
  package static func read(fromDirectory directory: String) throws(KeyFileError) -> [DoorKeys] {
    guard FileManager.default.fileExists(atPath: directory) else { return [] }
    let names: [String]
    // An unreadable folder is an error. A phone that ignored it would forget what it must still revoke.
    do { names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted() } catch {
      throw .notReadable(path: directory, reason: KeyFileError.words(error))
    }
    var doors: [DoorKeys] = []
    for name in names where name.hasSuffix(".json") { doors.append(try read(file: directory + "/" + name)) }
    return doors
  }

  private static func read(file path: String) throws(KeyFileError) -> DoorKeys {
    let file = KeyFile(path: path)
    let stored = try file.read(Stored.self)
    guard stored.version == 1 || stored.version == 2 else { throw .unknownVersion(path: path, version: stored.version) }
    let lockBytes = try file.bytes(stored.lockPublicKey, "lockPublicKey", count: NoiseSize.keyByteCount)
    guard isName(stored.name), let lockKey = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: lockBytes),
      let identity = LockIdentity(try file.bytes(stored.lockIdentity, "lockIdentity", count: LockIdentity.byteCount))
    else { throw .damaged(path: path, problem: "name or lockPublicKey") }
    let grant = stored.grant.flatMap { Hex.bytes($0) }.flatMap { try? Grant(decoding: $0) }
    guard (grant == nil) == (stored.grant == nil), (grant == nil) == (stored.version == 2) else {
      throw .damaged(path: path, problem: "grant")
    }
    // An entry that can't be read is an error, because a key that is left out here would never be revoked.
    let replaces = try stored.replaces?.map { text throws(KeyFileError) in
      try file.bytes(text, "replaces", count: NoiseSize.keyByteCount)
    }
    let key = try file.privateKey(stored.privateKey)
    return DoorKeys(
      name: stored.name, keys: PhoneKeys(staticKey: key, lockIdentity: identity, lockKey: lockKey), grant: grant,
      replaces: replaces)
  }

  /// Writes the file, completely or not at all. Other keys for the same door are replaced.
  package func write(toDirectory directory: String) throws(KeyFileError) {
    do {
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch { throw .notWritable(path: directory, reason: KeyFileError.words(error)) }
    try KeyFile(path: directory + "/\(name).json").replace(
      with: Stored(
        version: grant == nil ? 2 : 1, name: name, privateKey: Hex.text(Array(keys.staticKey.rawRepresentation)),
        lockIdentity: Hex.text(keys.lockIdentity.bytes), lockPublicKey: Hex.text(Array(keys.lockKey.rawRepresentation)),
        grant: grant.map { Hex.text($0.encoded) }, replaces: replaces?.map(Hex.text)))
  }
}

/// The key with which an owner signs grants and revocation lists.
package struct OwnerKey: Sendable {
  /// The file's name in the agent's folder.
  package static let fileName = "owner-key.json"
  private let key: Curve25519.Signing.PrivateKey

  private struct Stored: Codable {
    var version: Int
    var privateKey: String
  }

  package var publicKey: [UInt8] { Array(key.publicKey.rawRepresentation) }

  /// Reads the key from a folder, or draws one and stores it there.
  package static func readOrMake(inDirectory directory: String) throws(KeyFileError) -> OwnerKey {
    let file = KeyFile(path: directory + "/" + fileName)
    do throws(KeyFileError) {
      let stored = try file.read(Stored.self)
      guard stored.version == 1 else { throw KeyFileError.unknownVersion(path: file.path, version: stored.version) }
      var raw = try file.bytes(stored.privateKey, "privateKey", count: NoiseSize.keyByteCount)
      defer { ProcessMemory.wipe(&raw) }
      guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: raw) else {
        throw KeyFileError.damaged(path: file.path, problem: "privateKey")
      }
      return OwnerKey(key: key)
    } catch {
      guard case .missing = error else { throw error }
      let key = Curve25519.Signing.PrivateKey()
      try file.write(Stored(version: 1, privateKey: Hex.text(Array(key.rawRepresentation))))
      return OwnerKey(key: key)
    }
  }

  package init(key: Curve25519.Signing.PrivateKey) { self.key = key }

  /// The same grant with this owner's signature.
  package func sign(_ grant: Grant) throws -> Grant {
    var grant = grant
    grant.issuer = publicKey
    grant.signature = Array(try key.signature(for: grant.signedBytes))
    return grant
  }

  /// The same list with this owner's signature.
  package func sign(_ list: RevocationList) throws -> RevocationList {
    var list = list
    list.issuer = publicKey
    list.signature = Array(try key.signature(for: list.signedBytes))
    return list
  }
}
