/// Reads little-endian fields. Every step reports if there are too few bytes.
struct ByteReader {
  private var remaining: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { remaining = bytes[...] }

  var isAtEnd: Bool { remaining.isEmpty }

  mutating func byte() -> UInt8? { remaining.popFirst() }

  mutating func word() -> UInt16? {
    guard let low = remaining.popFirst(), let high = remaining.popFirst() else { return nil }
    return UInt16(high) << 8 | UInt16(low)
  }

  mutating func bytes(_ count: Int) -> [UInt8]? {
    guard remaining.count >= count else { return nil }
    defer { remaining = remaining.dropFirst(count) }
    return Array(remaining.prefix(count))
  }

  mutating func rest() -> [UInt8] {
    defer { remaining = [] }
    return Array(remaining)
  }
}

/// Writes little-endian fields.
struct ByteWriter {
  private(set) var bytes: [UInt8]

  init(_ bytes: [UInt8] = []) { self.bytes = bytes }

  mutating func write(_ byte: UInt8) { bytes.append(byte) }
  mutating func write(_ word: UInt16) { bytes += [UInt8(truncatingIfNeeded: word), UInt8(word >> 8)] }
  mutating func write(_ more: [UInt8]) { bytes += more }
}
