/// Writes integers most significant byte first.
package struct ByteWriter: Sendable {
  package private(set) var bytes: [UInt8] = []

  package init() {}

  /// Reserves memory for this many bytes in all.
  package mutating func reserve(_ count: Int) { bytes.reserveCapacity(count) }

  package mutating func write(_ byte: UInt8) { bytes.append(byte) }

  package mutating func write(_ value: UInt16) {
    write(UInt8(truncatingIfNeeded: value >> 8))
    write(UInt8(truncatingIfNeeded: value))
  }

  package mutating func write(_ value: UInt32) {
    for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
  }

  package mutating func write(_ value: UInt64) {
    write(UInt32(truncatingIfNeeded: value >> 32))
    write(UInt32(truncatingIfNeeded: value))
  }

  package mutating func write(_ more: [UInt8]) { bytes += more }
}

/// Reads what `ByteWriter` wrote, from a number of bytes that was checked.
package struct ByteReader: Sendable {
  private let bytes: [UInt8]
  private var position = 0

  /// Throws `.wrongLength` unless there are exactly `count` bytes. Reading beyond them is a mistake of the caller,
  /// because each message has one fixed length.
  package init(_ bytes: [UInt8], count: Int) throws(LockMessageError) {
    guard bytes.count == count else { throw .wrongLength }
    self.bytes = bytes
  }

  package mutating func readByte() -> UInt8 {
    defer { position += 1 }
    return bytes[position]
  }

  package mutating func readUInt16() -> UInt16 {
    let high = UInt16(readByte())
    return high << 8 | UInt16(readByte())
  }

  package mutating func readUInt32() -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 { value = value << 8 | UInt32(readByte()) }
    return value
  }

  package mutating func readUInt64() -> UInt64 {
    let high = UInt64(readUInt32())
    return high << 32 | UInt64(readUInt32())
  }

  package mutating func readBytes(_ count: Int) -> [UInt8] {
    defer { position += count }
    return Array(bytes[position..<position + count])
  }
}
