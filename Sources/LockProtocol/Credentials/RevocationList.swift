/// The grants and phones that one owner revokes at one lock. Of each owner, the newest list counts. Any phone may bring
/// it, because a list is signed, and a lock accepts none that is older than the one it has.
package struct RevocationList: Equatable, Sendable {
  package enum Entry: Equatable, Sendable {
    /// A grant, by its identifier.
    case grant([UInt8])
    /// A phone, an owner's or a guest's, by the first 16 bytes of its static public key.
    case phone([UInt8])

    fileprivate init?(packed: ArraySlice<UInt8>) {
      switch packed.first {
      case 1: self = .grant(Array(packed.dropFirst()))
      case 2: self = .phone(Array(packed.dropFirst()))
      default: return nil
      }
    }

    fileprivate var packed: [UInt8] { [kind] + bytes }

    fileprivate var kind: UInt8 {
      switch self {
      case .grant: 1
      case .phone: 2
      }
    }

    package var bytes: [UInt8] {
      switch self {
      case .grant(let bytes), .phone(let bytes): bytes
      }
    }
  }

  package var lock: LockIdentity
  /// The Ed25519 key of the owner who signed it, 32 bytes.
  package var issuer: [UInt8]
  /// Grows with each list of this owner for this lock, from 1 on.
  package var version: UInt64
  /// The entries in their encoded form, because a board has no room for them as separate values.
  private var packed: [UInt8]
  package var entries: [Entry] {
    stride(from: 0, to: packed.count, by: Self.packedEntryByteCount).compactMap {
      Entry(packed: packed[$0..<$0 + Self.packedEntryByteCount])
    }
  }
  package var entryCount: Int { packed.count / Self.packedEntryByteCount }
  /// Over everything before it, 64 bytes.
  package var signature: [UInt8]

  package static let entryByteCount = 16
  /// With its kind.
  package static let packedEntryByteCount = 1 + entryByteCount
  package static let formatVersion: UInt8 = 1
  /// The most entries of one list.
  package static let maximumCount = 128
  private static let fixedByteCount =
    1 + LockIdentity.byteCount + NoiseSize.keyByteCount + 8 + 1 + Grant.signatureByteCount
  /// The longest list, in bytes.
  package static let maximumByteCount = fixedByteCount + maximumCount * packedEntryByteCount
  private static let purpose: StaticString = "Latchkey revocation list"

  package init(
    lock: LockIdentity, issuer: [UInt8], version: UInt64, entries: [Entry],
    signature: [UInt8] = [UInt8](repeating: 0, count: Grant.signatureByteCount)
  ) {
    self.lock = lock
    self.issuer = issuer
    self.version = version
    packed = entries.flatMap { $0.packed }
    self.signature = signature
  }

  private var unsigned: [UInt8] {
    var writer = ByteWriter()
    writer.write(Self.formatVersion)
    writer.write(lock.bytes)
    writer.write(issuer)
    writer.write(version)
    writer.write(UInt8(clamping: entryCount))
    writer.write(packed)
    return writer.bytes
  }

  /// What the owner signs.
  package var signedBytes: [UInt8] { Self.purpose.withUTF8Buffer { Array($0) } + unsigned }

  package var encoded: [UInt8] { unsigned + signature }

  /// The length of `encoded`.
  package var encodedByteCount: Int { Self.fixedByteCount + packed.count }

  /// Reads one list of this format, without looking at its signature.
  package init(decoding bytes: [UInt8]) throws(LockMessageError) {
    guard bytes.count >= Self.fixedByteCount, bytes.count <= Self.maximumByteCount else { throw .wrongLength }
    var reader = try ByteReader(bytes, count: bytes.count)
    guard reader.readByte() == Self.formatVersion else { throw .unknownVersion }
    guard let lock = LockIdentity(reader.readBytes(LockIdentity.byteCount)) else { throw .wrongLength }
    self.lock = lock
    issuer = reader.readBytes(NoiseSize.keyByteCount)
    version = reader.readUInt64()
    let count = Int(reader.readByte())
    guard bytes.count == Self.fixedByteCount + count * Self.packedEntryByteCount else { throw .wrongLength }
    guard version > 0, Self.areKnown(bytes, from: Self.fixedByteCount - Grant.signatureByteCount, count) else {
      throw .unknownValue
    }
    packed = reader.readBytes(count * Self.packedEntryByteCount)
    signature = reader.readBytes(Grant.signatureByteCount)
  }

  /// Whether each of these entries has a known kind.
  private static func areKnown(_ bytes: [UInt8], from start: Int, _ count: Int) -> Bool {
    (0..<count).allSatisfy { (1...2).contains(bytes[start + $0 * packedEntryByteCount]) }
  }

  package func revokes(grant identifier: [UInt8]) -> Bool { contains(1, identifier[...]) }

  /// As `revokes(grant:)`, for a grant of which only the mark is known (`Grant.mark`).
  package func revokes(grantMarked mark: UInt64) -> Bool {
    for place in stride(from: 0, to: packed.count, by: Self.packedEntryByteCount) where packed[place] == 1 {
      if Grant.mark(of: packed[(place + 1)...]) == mark { return true }
    }
    return false
  }

  package func revokes(phone key: [UInt8]) -> Bool { contains(2, key.prefix(Self.entryByteCount)) }

  private func contains(_ kind: UInt8, _ value: ArraySlice<UInt8>) -> Bool {
    guard value.count == Self.entryByteCount else { return false }
    for place in stride(from: 0, to: packed.count, by: Self.packedEntryByteCount) where packed[place] == kind {
      if packed[place + 1..<place + Self.packedEntryByteCount] == value { return true }
    }
    return false
  }

  /// Whether the owner with the key `issuer` signed exactly this.
  package func isSigned<Cryptography: NoiseCryptography>(using cryptography: Cryptography.Type) -> Bool {
    Cryptography.isValid(signature, of: signedBytes, by: issuer)
  }
}
