import BluetoothTypes
import TimeTypes

/// An Identity Resolving Key, 128 bits.
package struct IdentityResolvingKey: Sendable, Hashable, Codable {
  package let high: UInt64
  package let low: UInt64
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}

/// Resolvable private addresses, as far as a simulated radio needs them: 24 bits that change with time, the two most
/// significant being 01, and 24 bits that only the key's owner can relate to them (Bluetooth Core, Vol 6, Part B,
/// 1.3.2.2).
///
/// Where Bluetooth uses AES-128, this uses a mixing function without any secrecy. The simulation needs an address to
/// change and to be recognised, not to be secret; a real controller makes its own addresses.
package enum ResolvableAddress {
  /// How long an address stays (Vol 3, Part C, Appendix A: TGAP(private_addr_int)).
  package static let rotation = Duration.seconds(900)

  /// The address of this key's owner at a given time. Different keys change at different moments.
  package static func address(of key: IdentityResolvingKey, at now: Instant) -> DeviceAddress {
    let changes = epoch(of: key, at: now)
    let random = mix(key, UInt64(bitPattern: changes) ^ 0x7072_616E_6421_0001) & 0x3F_FFFF | 0x40_0000
    return DeviceAddress(bits: random << 24 | hash(key, random), kind: .random)
  }

  /// When that address changes next.
  package static func nextChange(of key: IdentityResolvingKey, after now: Instant) -> Instant {
    Instant(nanoseconds: (epoch(of: key, at: now) + 1) * rotation.wholeNanoseconds - phase(of: key))
  }

  /// Whether the key's owner made this address, at any time. Another address matches by chance once in 16 million.
  package static func resolves(_ address: DeviceAddress, with key: IdentityResolvingKey) -> Bool {
    address.isResolvablePrivate && hash(key, address.bits >> 24) == address.bits & 0xFF_FFFF
  }

  private static func epoch(of key: IdentityResolvingKey, at now: Instant) -> Int64 {
    let (nanoseconds, length) = (now.nanoseconds + phase(of: key), rotation.wholeNanoseconds)
    // Rounds down for negative times as well.
    return nanoseconds / length - (nanoseconds % length < 0 ? 1 : 0)
  }

  /// 0 to just below `rotation`, in nanoseconds.
  private static func phase(of key: IdentityResolvingKey) -> Int64 {
    Int64(mix(key, 0x7068_6173_6521_0002) % UInt64(rotation.wholeNanoseconds))
  }

  private static func hash(_ key: IdentityResolvingKey, _ random: UInt64) -> UInt64 {
    mix(key, random ^ 0x6861_7368_2121_0003) & 0xFF_FFFF
  }

  private static func mix(_ key: IdentityResolvingKey, _ value: UInt64) -> UInt64 {
    [key.high, key.low, value].reduce(0x243F_6A88_85A3_08D3) { state, word in
      var state = (state ^ word) &* 0x9E37_79B9_7F4A_7C15
      state = (state ^ state >> 29) &* 0xBF58_476D_1CE4_E5B9
      return state ^ state >> 32
    }
  }
}
