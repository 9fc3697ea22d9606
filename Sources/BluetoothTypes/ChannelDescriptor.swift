/// One end of a channel: a file descriptor, or an end inside this process. It is released when nobody refers to it any more, so
/// a channel that nobody takes ends by itself.
package final class ChannelDescriptor: Sendable, Hashable {
  /// -1 for an end inside this process.
  package let number: Int32
  /// The end itself, if its peer is in this process. `nil` for a file descriptor.
  package let end: (any ChannelEnd)?
  private let release: @Sendable (Int32) -> Void

  /// - Parameter release: closes the descriptor.
  package init(owning number: Int32, release: @escaping @Sendable (Int32) -> Void) {
    self.number = number
    self.release = release
    end = nil
  }

  package init(inProcess end: any ChannelEnd) {
    number = -1
    release = { _ in }
    self.end = end
  }

  deinit { release(number) }

  package static func == (left: ChannelDescriptor, right: ChannelDescriptor) -> Bool { left === right }
  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The numbers of L2CAP channels over LE.
package enum ChannelLimits {
  /// PSMs over LE: the Bluetooth SIG's own, and those that a machine chooses (Bluetooth Core, Vol 3, Part A, 4.22).
  package static let psms: ClosedRange<UInt16> = 0x0001...0x00FF
  package static let dynamicPSMs: ClosedRange<UInt16> = 0x0080...0x00FF
  /// The longest packet that this machine takes.
  package static let mtu: UInt16 = 2048
  /// The shortest limit that a machine may set for packets, and for frames.
  package static let minimumMTU: UInt16 = 23
}
