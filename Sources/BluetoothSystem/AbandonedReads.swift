import BusValue

/// Reads whose reader is gone, and which bluetoothd still answers.
///
/// It shows what it reads as a change of the characteristic's `Value`, as it shows a notification (`characteristic_read_cb` in
/// src/gatt-client.c). For another app that subscribed to the characteristic, it is none.
struct AbandonedReads: Sendable {
  private struct Read: Sendable {
    var count = 0
    /// Values that arrived since. One of them may be the read's own echo.
    var held: [[UInt8]] = []
  }

  private var reads: [ObjectPath: Read] = [:]
  /// More are news, because a read is answered within seconds.
  private static let heldLimit = 32

  /// - Parameter held: values that arrived before its reader went.
  mutating func began(_ path: ObjectPath, held: [[UInt8]]) {
    reads[path, default: Read()].count += 1
    reads[path]?.held += held
  }

  /// - Returns: what to deliver now: the value itself, or the oldest if there are too many.
  mutating func hold(_ value: [UInt8], at path: ObjectPath) -> [UInt8]? {
    guard reads[path] != nil else { return value }
    reads[path]?.held.append(value)
    return reads[path].map { $0.held.count > Self.heldLimit } == true ? reads[path]?.held.removeFirst() : nil
  }

  /// bluetoothd has answered.
  /// - Parameter value: `nil` if the read failed.
  /// - Returns: the values that are no echo.
  mutating func answered(_ path: ObjectPath, _ value: [UInt8]?) -> [[UInt8]] {
    guard var read = reads[path] else { return [] }
    if let echo = read.held.lastIndex(where: { $0 == value }) { read.held.remove(at: echo) }
    read.count -= 1
    let news = read.held
    read.held = []
    reads[path] = read.count > 0 ? read : nil
    return news
  }
}
