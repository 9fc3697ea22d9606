import Crypto
import LockProtocol

/// What a phone must know about a lock before they meet. None of it is secret, but an attacker who replaces it with
/// another lock's data makes the phone open that lock.
package struct LockIntroduction: Sendable, Equatable {
  package let identity: LockIdentity
  /// The lock's static public key, 32 bytes.
  package let publicKey: [UInt8]

  package init(_ keys: LockKeys) {
    identity = keys.identity
    publicKey = Array(keys.staticKey.publicKey.rawRepresentation)
  }

  /// - Throws: `IntroductionError` if the bytes are not a valid public key.
  init(identity: LockIdentity, publicKey: [UInt8]) throws(IntroductionError) {
    self.identity = identity
    self.publicKey = publicKey
    try IntroductionText.lock.check(key: publicKey)
  }

  /// The lock that a phone's keys belong to.
  package init(_ keys: PhoneKeys) {
    identity = keys.lockIdentity
    publicKey = Array(keys.lockKey.rawRepresentation)
  }

  /// Reads what `text` wrote, even with white space around it.
  package init(_ text: String) throws(IntroductionError) {
    let bytes = try IntroductionText.lock.read(text, count: LockIdentity.byteCount + NoiseSize.keyByteCount)
    guard let identity = LockIdentity(Array(bytes.prefix(LockIdentity.byteCount))) else {
      preconditionFailure("the bytes were counted")
    }
    self.identity = identity
    publicKey = Array(bytes.dropFirst(LockIdentity.byteCount))
    try IntroductionText.lock.check(key: publicKey)
  }

  /// One word, to be copied to the phone's machine.
  package var text: String { IntroductionText.lock.write(identity.bytes + publicKey) }
}

/// What a lock must know about a phone to open for it: the phone's static public key. It is not secret either, but
/// the lock opens for every phone that it has been told about.
package struct PhoneIntroduction: Sendable, Equatable {
  /// The phone's static public key, 32 bytes.
  package let publicKey: [UInt8]

  package init(_ keys: PhoneKeys) { publicKey = Array(keys.staticKey.publicKey.rawRepresentation) }
  package init(_ key: PendingPhoneKey) { publicKey = Array(key.staticKey.publicKey.rawRepresentation) }

  /// Reads what `text` wrote, even with white space around it.
  package init(_ text: String) throws(IntroductionError) {
    publicKey = try IntroductionText.phone.read(text, count: NoiseSize.keyByteCount)
    try IntroductionText.phone.check(key: publicKey)
  }

  /// One word, to be copied to the lock's machine.
  package var text: String { IntroductionText.phone.write(publicKey) }
}

/// What is wrong with a text that should introduce a lock or a phone.
package enum IntroductionError: Error, Equatable, CustomStringConvertible {
  /// It does not begin like an introduction.
  case unknown(expected: String)
  /// It introduces a phone where a lock was expected, or a lock where a phone was.
  case otherSide(expected: String, found: String)
  /// Characters are missing, surplus or changed.
  case damaged(what: String)

  package var description: String {
    switch self {
    case .unknown(let expected):
      "this is not the \(expected)'s text, which `latchkey setup \(expected)` prints and which begins with \(expected)-1-"
    case .otherSide(let expected, let found): "this is the \(found)'s text; the \(expected)'s is wanted"
    case .damaged(let what):
      "the \(what)'s text is not whole, or not as it was printed: copy it again from `latchkey setup \(what)`"
    }
  }
}

/// The form of both texts: `SIDE-1-` and hexadecimal digits, of which the last eight are a check sum.
private enum IntroductionText: String {
  case lock, phone

  private static let checkByteCount = 4
  /// Longer than any introduction. Longer text is not examined.
  private static let maximumCharacterCount = 256
  private var other: IntroductionText { self == .lock ? .phone : .lock }
  private var prefix: String { "\(rawValue)-1-" }

  func write(_ bytes: [UInt8]) -> String { prefix + Hex.text(bytes + checkSum(bytes)) }

  func read(_ text: String, count: Int) throws(IntroductionError) -> [UInt8] {
    var word = Substring(text)
    while word.first?.isWhitespace == true { word.removeFirst() }
    while word.last?.isWhitespace == true { word.removeLast() }
    let lower = word.lowercased()
    if lower.hasPrefix(other.prefix) { throw .otherSide(expected: rawValue, found: other.rawValue) }
    guard lower.hasPrefix(prefix) else { throw .unknown(expected: rawValue) }
    guard lower.utf8.count <= Self.maximumCharacterCount,
      let bytes = Hex.bytes(String(lower.dropFirst(prefix.count))), bytes.count == count + Self.checkByteCount,
      Array(bytes.suffix(Self.checkByteCount)) == checkSum(Array(bytes.dropLast(Self.checkByteCount)))
    else { throw .damaged(what: rawValue) }
    return Array(bytes.dropLast(Self.checkByteCount))
  }

  func check(key: [UInt8]) throws(IntroductionError) {
    guard (try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: key)) != nil else {
      throw .damaged(what: rawValue)
    }
  }

  /// Protects against typing errors, not against forgery.
  private func checkSum(_ bytes: [UInt8]) -> [UInt8] {
    var hash = SHA256()
    hash.update(data: Array(prefix.utf8))
    hash.update(data: bytes)
    return Array(hash.finalize().prefix(Self.checkByteCount))
  }
}
