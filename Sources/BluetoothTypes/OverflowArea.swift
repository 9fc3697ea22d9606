/// The overflow area of an advertisement: which services an app in the background offers, in few bytes (B6).
///
/// It holds one bit of 128 for each service, so a scanner can only ask it about services that it knows. Two services may
/// share a bit: a scanner then finds a device that has another service. docs/background.md describes the format.
package struct OverflowArea: Sendable, Hashable {
  /// The Bluetooth SIG's company identifier for tests and for those who have none of their own.
  package static let defaultCompany: UInt16 = 0xFFFF
  package static let bitCount = 128

  /// Tells these data from others with the same company identifier: "LK", and the format's version.
  private static let marker: [UInt8] = [0x4C, 0x4B, 0x01]
  private var mask: [UInt8]

  package init(services: some Sequence<BluetoothUUID>) {
    mask = [UInt8](repeating: 0, count: Self.bitCount / 8)
    for service in services {
      let bit = Self.bit(of: service)
      mask[bit / 8] |= 1 << UInt8(bit % 8)
    }
  }

  /// Reads the company's manufacturer data. `nil` if they are something else.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.marker.count + Self.bitCount / 8, bytes.starts(with: Self.marker) else { return nil }
    mask = Array(bytes.dropFirst(Self.marker.count))
  }

  /// The manufacturer data, after the company identifier.
  package var bytes: [UInt8] { Self.marker + mask }

  /// Whether the service may be among those that are offered. If not, it is not.
  package func mayContain(_ service: BluetoothUUID) -> Bool {
    let bit = Self.bit(of: service)
    return mask[bit / 8] & 1 << UInt8(bit % 8) != 0
  }

  /// The bit of a service: FNV-1a (64 bits) of its 128-bit form, most significant byte first, folded to 7 bits.
  package static func bit(of service: BluetoothUUID) -> Int {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for word in [service.high, service.low] {
      for shift in stride(from: UInt64(56), through: 0, by: -8) {
        hash = (hash ^ (word >> shift & 0xFF)) &* 0x100_0000_01B3
      }
    }
    let folded = hash ^ hash >> 32
    return Int((folded ^ folded >> 16) % UInt64(bitCount))
  }
}
