import CSystemd

/// The calls that a connection has received and not answered yet.
struct OpenCalls {
  private struct Call {
    let message: OpaquePointer
    let sender: String
  }

  private var calls: [UInt64: Call] = [:]
  private var counts: [String: Int] = [:]
  private var lastToken: UInt64 = 0

  var count: Int { calls.count }

  func count(of sender: String) -> Int { counts[sender, default: 0] }

  /// Keeps a call, with a reference to its message. The token identifies the call.
  mutating func insert(_ message: OpaquePointer, from sender: String) -> UInt64 {
    lastToken += 1
    calls[lastToken] = Call(message: sd_bus_message_ref(message), sender: sender)
    counts[sender, default: 0] += 1
    return lastToken
  }

  /// Gives up a call, whose message the caller then has to release.
  mutating func remove(_ token: UInt64) -> OpaquePointer? {
    guard let call = calls.removeValue(forKey: token) else { return nil }
    let left = count(of: call.sender) - 1
    counts[call.sender] = left > 0 ? left : nil
    return call.message
  }

  mutating func removeAll(from sender: String) {
    for (token, call) in calls where call.sender == sender {
      calls[token] = nil
      sd_bus_message_unref(call.message)
    }
    counts[sender] = nil
  }

  mutating func removeAll() {
    for call in calls.values { sd_bus_message_unref(call.message) }
    calls = [:]
    counts = [:]
  }
}
