import BlueZ

/// Calls to bluetoothd that wait for their replies, by the numbers that replies name.
struct PendingCalls: Sendable {
  private var last: UInt64 = 0
  private var open: [CallIdentifier: PendingCall] = [:]

  var count: Int { open.count }
  var all: some Collection<PendingCall> { open.values }

  /// Nobody waits for a reply that is ignored, so that one that never comes takes no room.
  mutating func add(_ pending: PendingCall) -> CallIdentifier {
    last += 1
    let identifier = CallIdentifier(last)
    if pending != .ignored { open[identifier] = pending }
    return identifier
  }

  /// Whose reply has come; `nil` where nobody waits for it any longer.
  mutating func take(_ identifier: CallIdentifier) -> PendingCall? { open.removeValue(forKey: identifier) }

  /// Its reply, should one come, belongs to nobody.
  mutating func forget(_ pending: PendingCall) { open = open.filter { $0.value != pending } }

  /// Forgets all calls but those to keep, and returns the others in the order in which they were made.
  mutating func forgetAll(but isKept: (PendingCall) -> Bool = { _ in false }) -> [PendingCall] {
    let forgotten = open.filter { !isKept($0.value) }.sorted { $0.key.rawValue < $1.key.rawValue }
    for (identifier, _) in forgotten { open[identifier] = nil }
    return forgotten.map(\.value)
  }
}
