/// One end of a socket that AcquireNotify or AcquireWrite made. Who carries messages holds the descriptors; others speak
/// of the number.
public struct ChannelIdentifier: Sendable, Hashable, Comparable {
  public let rawValue: UInt64
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// The end that an application gave bluetoothd, by its descriptor.
  public init(given descriptor: Int32) { self.init(1 << 32 | UInt64(UInt32(bitPattern: descriptor))) }
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// What comes through a channel.
public enum ChannelInput: Sendable, Hashable {
  /// One packet.
  case data([UInt8])
  /// The other end is closed.
  case closed
}
