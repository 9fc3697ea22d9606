import BluetoothTypes

/// A small deterministic mixer (splitmix64). It stands in for a real controller's randomness and AES-CMAC: in a
/// simulated world, keys only have to be the same on both sides and different everywhere else.
struct Mixer: Sendable {
  private var state: UInt64

  init(_ words: UInt64...) {
    state = 0x9E37_79B9_7F4A_7C15
    for word in words { absorb(word) }
  }

  mutating func absorb(_ word: UInt64) {
    state ^= word
    _ = next()
  }

  mutating func absorb(_ bytes: [UInt8]) {
    absorb(UInt64(bytes.count))
    var index = 0
    while index < bytes.count {
      var word: UInt64 = 0
      for offset in 0..<8 where index + offset < bytes.count { word |= UInt64(bytes[index + offset]) << (8 * offset) }
      absorb(word)
      index += 8
    }
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }

  mutating func bytes(_ count: Int) -> [UInt8] {
    var result: [UInt8] = []
    while result.count < count {
      let word = next()
      for offset in 0..<8 where result.count < count { result.append(UInt8(truncatingIfNeeded: word >> (8 * offset))) }
    }
    return result
  }
}

extension BlueZModel {
  /// A number that this machine has never drawn before, not even before a restart.
  mutating func drawBytes(_ count: Int) -> [UInt8] {
    storage.keyCount += 1
    var mixer = Mixer(configuration.seed, configuration.address.bits, storage.keyCount)
    return mixer.bytes(count)
  }
}
