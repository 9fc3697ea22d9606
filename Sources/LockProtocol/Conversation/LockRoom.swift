/// How much room a lock has for guests.
package struct LockRoom: Equatable, Sendable {
  /// The most grants whose uses the lock can count.
  package var countedGrants: UInt16
  /// How many more grants it can count. Grants that are over or revoked make room, and are included.
  package var freeGrants: UInt16

  package init(countedGrants: UInt16, freeGrants: UInt16) {
    self.countedGrants = countedGrants
    self.freeGrants = freeGrants
  }

  /// The encoded length in bytes.
  package static let byteCount = 4

  package var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.write(countedGrants)
    writer.write(freeGrants)
    return writer.bytes
  }

  /// Reads exactly `byteCount` bytes.
  package init(decoding bytes: [UInt8]) throws(LockMessageError) {
    var reader = try ByteReader(bytes, count: Self.byteCount)
    self.init(countedGrants: reader.readUInt16(), freeGrants: reader.readUInt16())
  }
}
