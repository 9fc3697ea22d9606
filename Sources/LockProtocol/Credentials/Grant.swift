/// An owner's signed permission for one phone to use one lock. The phone brings it with each command. The lock checks
/// it without a network, and stores only how often a grant with a limited number of uses was used.
package struct Grant: Equatable, Sendable {
  /// What the guest may do.
  package struct Permissions: OptionSet, Equatable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let unlock = Permissions(rawValue: 1)
    package static let lock = Permissions(rawValue: 2)
    /// Reading the lock's log, and the names in it.
    package static let readLog = Permissions(rawValue: 4)
    static let known: Permissions = [.unlock, .lock, .readLog]
  }

  package var lock: LockIdentity
  /// Drawn at random for this grant: 16 bytes. A revocation list names the grant by it.
  package var identifier: [UInt8]
  /// The guest's static public key, 32 bytes.
  package var phone: [UInt8]
  /// The Ed25519 key of the owner who signed it, 32 bytes.
  package var issuer: [UInt8]
  package var schedule: GrantSchedule
  /// How many times it unlocks the bolt; 0 for any number.
  package var uses: UInt16
  package var permissions: Permissions
  /// The guest's name in UTF-8, at most `KeyName.nameByteLimit` bytes.
  package var name: [UInt8]
  /// Over everything before it, 64 bytes.
  package var signature: [UInt8]

  /// The first 8 bytes of the random identifier. They are enough to tell a few grants apart where there is little
  /// memory.
  package var mark: UInt64 { Self.mark(of: identifier[...]) }

  static func mark(of identifier: ArraySlice<UInt8>) -> UInt64 {
    identifier.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  package static let identifierByteCount = 16
  package static let signatureByteCount = 64
  package static let version: UInt8 = 1
  /// Without the name.
  private static let fixedByteCount =
    1 + LockIdentity.byteCount + identifierByteCount + 32 + 32 + GrantSchedule.byteCount
    + 2 + 1 + 1 + signatureByteCount
  /// The longest grant, in bytes.
  package static let maximumByteCount = fixedByteCount + KeyName.nameByteLimit
  /// The lengths that grants have.
  package static var byteCounts: ClosedRange<Int> { fixedByteCount...maximumByteCount }
  private static let purpose: StaticString = "Latchkey grant"

  package init(
    lock: LockIdentity, identifier: [UInt8], phone: [UInt8], issuer: [UInt8], schedule: GrantSchedule, uses: UInt16,
    permissions: Permissions, name: [UInt8], signature: [UInt8] = [UInt8](repeating: 0, count: signatureByteCount)
  ) {
    self.lock = lock
    self.identifier = identifier
    self.phone = phone
    self.issuer = issuer
    self.schedule = schedule
    self.uses = uses
    self.permissions = permissions
    self.name = name
    self.signature = signature
  }

  private var unsigned: [UInt8] {
    var writer = ByteWriter()
    writer.write(Self.version)
    writer.write(lock.bytes)
    writer.write(identifier)
    writer.write(phone)
    writer.write(issuer)
    schedule.write(to: &writer)
    writer.write(uses)
    writer.write(permissions.rawValue)
    let name = Array(name.prefix(KeyName.nameByteLimit))
    writer.write(UInt8(clamping: name.count))
    writer.write(name)
    return writer.bytes
  }

  /// What the owner signs: the purpose, and everything but the signature.
  package var signedBytes: [UInt8] { Self.purpose.withUTF8Buffer { Array($0) } + unsigned }

  package var encoded: [UInt8] { unsigned + signature }

  /// Reads one grant of this version, without looking at its signature.
  package init(decoding bytes: [UInt8]) throws(LockMessageError) {
    guard bytes.count >= Self.fixedByteCount, bytes.count <= Self.maximumByteCount else { throw .wrongLength }
    var reader = try ByteReader(bytes, count: bytes.count)
    guard reader.readByte() == Self.version else { throw .unknownVersion }
    guard let lock = LockIdentity(reader.readBytes(LockIdentity.byteCount)) else { throw .wrongLength }
    self.lock = lock
    identifier = reader.readBytes(Self.identifierByteCount)
    phone = reader.readBytes(NoiseSize.keyByteCount)
    issuer = reader.readBytes(NoiseSize.keyByteCount)
    schedule = try GrantSchedule(reading: &reader)
    uses = reader.readUInt16()
    permissions = Permissions(rawValue: reader.readByte())
    guard permissions.isSubset(of: .known) else { throw .unknownValue }
    let count = Int(reader.readByte())
    guard bytes.count == Self.fixedByteCount + count else { throw .wrongLength }
    name = reader.readBytes(count)
    guard KeyName.isName(name) else { throw .unknownValue }
    signature = reader.readBytes(Self.signatureByteCount)
  }

  /// Whether the owner with the key `issuer` signed exactly this.
  package func isSigned<Cryptography: NoiseCryptography>(using cryptography: Cryptography.Type) -> Bool {
    Cryptography.isValid(signature, of: signedBytes, by: issuer)
  }
}
