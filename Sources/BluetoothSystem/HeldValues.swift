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
  /// - Returns: the held values without the echo.
  func news(besides echo: [UInt8]?) -> [[UInt8]] {
    var news = values
    if let last = news.lastIndex(where: { $0 == echo }) { news.remove(at: last) }
    return news
  }
}
