/// How much room a lock has for guests.
package struct LockRoom: Equatable, Sendable {
  /// How many grants' uses it counts at most.
  package var countedGrants: UInt16
  /// How many more it can count, with those that make room because they are over or revoked.
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
