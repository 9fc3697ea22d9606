/// Values of a characteristic that arrived during a read of it, in their order.
///
/// One of them may be the read's own echo: bluetoothd shows what it has read as a change of the characteristic's
/// `Value`, just as it shows a notification, and then answers the call (`chrc_read_cb` in src/gatt-client.c). So the
/// echo is the last value that equals the answer. All others are notifications.
struct HeldValues: Sendable {
  private var values: [[UInt8]] = []
  /// bluetoothd answers within seconds, so no more than these need to wait for it.
  private static let limit = 32

  var count: Int { values.count }

  /// - Returns: the oldest value if there are too many, to be delivered now.
  mutating func hold(_ value: [UInt8]) -> [UInt8]? {
    values.append(value)
    return count > Self.limit ? values.removeFirst() : nil
  }

  /// - Parameter echo: what was read, or `nil` if the read failed.
  /// - Returns: the held values without the echo: those that the peripheral sent before it was read, and those that it
  ///   sent later. Without an echo all came before the answer.
  func news(around echo: [UInt8]?) -> (before: ArraySlice<[UInt8]>, after: ArraySlice<[UInt8]>) {
    guard let last = values.lastIndex(where: { $0 == echo }) else { return (values[...], []) }
    return (values[..<last], values[(last + 1)...])
  }
}
