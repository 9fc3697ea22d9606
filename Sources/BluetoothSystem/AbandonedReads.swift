import BusValue

/// Reads whose reader is gone, and which bluetoothd still answers. Their echoes are no notifications for others that subscribed.
struct AbandonedReads: Sendable {
  private struct Read: Sendable {
    /// How many of this characteristic: bluetoothd refuses a second one while the first is under way, and answers both.
    var count = 0
    var held: HeldValues
  }

  private var reads: [ObjectPath: Read] = [:]

  /// - Parameter held: values that arrived before its reader went.
  mutating func began(_ path: ObjectPath, held: HeldValues) {
    reads[path, default: Read(held: held)].count += 1
  }

  /// - Returns: what to deliver now: the value itself, or the oldest if there are too many.
  mutating func hold(_ value: [UInt8], at path: ObjectPath) -> [UInt8]? {
    guard reads[path] != nil else { return value }
    return reads[path]?.held.hold(value)
  }

  /// bluetoothd has answered.
  /// - Parameter value: `nil` if the read failed.
  /// - Returns: the values that are no echo.
  mutating func answered(_ path: ObjectPath, _ value: [UInt8]?) -> [[UInt8]] {
    guard var read = reads[path] else { return [] }
    let news = read.held.news(besides: value)
    read.count -= 1
    read.held = HeldValues()
    reads[path] = read.count > 0 ? read : nil
    return news
  }
}
