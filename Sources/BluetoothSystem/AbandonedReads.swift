import BusValue

/// Reads whose app no longer waits for the answer, while bluetoothd still carries them out. bluetoothd shows what it
/// has read as a change of the characteristic's value (`HeldValues`). Other apps that are subscribed must not take that
/// echo for a notification.
struct AbandonedReads: Sendable {
  private struct Read: Sendable {
    /// How many abandoned reads of this characteristic are under way. There may be two: bluetoothd refuses a second
    /// read while the first is under way, and answers both.
    var count = 0
    let device: ObjectPath
    var held: HeldValues
  }

  private var reads: [ObjectPath: Read] = [:]

  /// - Parameter held: values that arrived while an app still waited for the read.
  mutating func began(_ path: ObjectPath, of device: ObjectPath, held: HeldValues) {
    reads[path, default: Read(device: device, held: held)].count += 1
  }

  /// The device's link has ended. bluetoothd does not answer a read that ends with its link for lack of security
  /// (docs/bluez.md), and nothing that comes on a later link is an echo of this one.
  /// - Returns: the held values of each characteristic. These are notifications.
  mutating func linkEnded(of device: ObjectPath) -> [(path: ObjectPath, values: [[UInt8]])] {
    let ended = reads.filter { $0.value.device == device }
    for path in ended.keys { reads[path] = nil }
    return ended.sorted { $0.key < $1.key }.map { ($0.key, Array($0.value.held.news(around: nil).before)) }
  }

  /// - Returns: what to deliver now: the value itself if no read of this characteristic is abandoned, the oldest held
  ///   value if there are too many, otherwise `nil`.
  mutating func hold(_ value: [UInt8], at path: ObjectPath) -> [UInt8]? {
    guard reads[path] != nil else { return value }
    return reads[path]?.held.hold(value)
  }

  /// bluetoothd has answered the oldest abandoned read of this characteristic.
  /// - Parameter value: `nil` if the read failed.
  /// - Returns: the held values without the read's echo. These are notifications.
  mutating func answered(_ path: ObjectPath, _ value: [UInt8]?) -> [[UInt8]] {
    guard var read = reads[path] else { return [] }
    let news = read.held.news(around: value)
    read.count -= 1
    read.held = HeldValues()
    reads[path] = read.count > 0 ? read : nil
    return Array(news.before + news.after)
  }
}
