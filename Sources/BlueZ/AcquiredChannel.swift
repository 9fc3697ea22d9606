/// One end of a socket that AcquireNotify or AcquireWrite has made, or of an L2CAP channel. Only the carrier holds the
/// descriptor. Everything else uses this number.
package struct ChannelIdentifier: Sendable, Hashable, Comparable {
  package let rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// The end that an application gave bluetoothd, identified by its descriptor.
  package init(given descriptor: Int32) { self.init(1 << 32 | UInt64(UInt32(bitPattern: descriptor))) }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Input from a channel.
package enum ChannelInput: Sendable, Hashable {
  /// One packet.
  case data([UInt8])
  /// The other end is closed.
  case closed
  /// The socket of an L2CAP channel has taken the oldest packet that it had not taken.
  case taken
}
