/// FNV-1a with 64 bits: two traces with the same sum are the same trace, as far as accidents go.
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
