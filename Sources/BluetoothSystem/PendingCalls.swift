import BlueZ
import HashTreeCollections

/// Calls to bluetoothd that wait for their replies, by the identifiers in the replies.
struct PendingCalls: Sendable {
  private var last: UInt64 = 0
  // A tree: while a turn may have to be undone, a change copies a few nodes and not every call.
  private var open: TreeDictionary<CallIdentifier, PendingCall> = [:]

  var count: Int { open.count }
  var all: some Collection<PendingCall> { open.values }

  /// A call whose reply is ignored is not kept, so it takes no room if the reply never comes.
  mutating func add(_ pending: PendingCall) -> CallIdentifier {
    last += 1
    let identifier = CallIdentifier(last)
    if pending != .ignored { open[identifier] = pending }
    return identifier
  }

  /// The call that a reply belongs to, or `nil` if its reply is no longer awaited.
  mutating func take(_ identifier: CallIdentifier) -> PendingCall? { open.removeValue(forKey: identifier) }

  /// From now on the reply to the first call counts as the reply to the other.
  mutating func replace(_ pending: PendingCall, with other: PendingCall) {
    for (identifier, _) in open.filter({ $0.value == pending }) { open[identifier] = other }
  }

  /// Forgets a call. A reply that still comes is ignored.
  mutating func forget(_ pending: PendingCall) { open = open.filter { $0.value != pending } }

  /// Forgets all calls except those to keep. Returns the forgotten ones in the order in which they were made.
  mutating func forgetAll(but isKept: (PendingCall) -> Bool = { _ in false }) -> [PendingCall] {
    let forgotten = open.filter { !isKept($0.value) }.sorted { $0.key.rawValue < $1.key.rawValue }
    for (identifier, _) in forgotten { open[identifier] = nil }
    return forgotten.map(\.value)
  }
}
