import BluetoothTypes

/// The kernel's `sockaddr_l2` for LE (include/net/bluetooth/l2cap.h).
struct ChannelAddress: Sendable, Hashable {
  var address: DeviceAddress
  /// 0: the kernel chooses.
  var psm: UInt16

  private static let family: UInt8 = 31
  private static let byteCount = 14

  init(address: DeviceAddress, psm: UInt16) { (self.address, self.psm) = (address, psm) }

  /// `nil` for what is not an address of an LE device.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.byteCount - 1, bytes[0] == Self.family, bytes[12] == 1 || bytes[12] == 2 else {
      return nil
    }
    psm = UInt16(bytes[2]) | UInt16(bytes[3]) << 8
    let bits = bytes[4..<10].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    address = DeviceAddress(bits: bits, kind: bytes[12] == 1 ? .public : .random)
  }

  /// The family in the machine's order (little-endian machines only, as Latchkey's are), the PSM with its low byte first,
  /// the address likewise, no fixed channel, and the kind of address.
  var bytes: [UInt8] {
    [Self.family, 0, UInt8(psm & 0xFF), UInt8(psm >> 8)]
      + (0..<6).map { UInt8(truncatingIfNeeded: address.bits >> (8 * UInt64($0))) }
      + [0, 0, address.kind == .public ? 1 : 2, 0]
  }
}
