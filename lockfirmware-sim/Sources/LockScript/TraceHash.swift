/// FNV-1a, 64 bits. Different traces have the same value only by a very unlikely accident.
package struct TraceHash {
  package private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  package init() {}

  package mutating func mix(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }

  package mutating func mix(_ number: UInt64) {
    for shift in 0..<8 as Range<UInt64> { mix(UInt8(truncatingIfNeeded: number >> (8 * shift))) }
  }

  package mutating func mix(_ bytes: [UInt8]) {
    mix(UInt64(bytes.count))
    for byte in bytes { mix(byte) }
  }
}
