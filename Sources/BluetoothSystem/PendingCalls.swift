import BlueZ
import HashTreeCollections

/// Calls to bluetoothd that wait for their replies, by the identifiers in the replies.
struct PendingCalls: Sendable {
  private var last: UInt64 = 0
  // A tree: while a turn may have to be undone, a change copies a few nodes and not every call.
  private var open: TreeDictionary<CallIdentifier, PendingCall> = [:]
  /// Operations that were given up before bluetoothd answered, and the apps that had asked for them. Some are never answered
  /// (docs/bluez.md). A system bus keeps a place for each answer, and has 128 for all of latchkeyd's calls
  /// (dbus-daemon(1), `max_replies_per_connection`).
  private var givenUp: TreeDictionary<CallIdentifier, String> = [:]

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
  mutating func take(_ identifier: CallIdentifier) -> PendingCall? {
    if !givenUp.isEmpty { givenUp[identifier] = nil }
    return open.removeValue(forKey: identifier)
  }

  /// An operation of this app is given up.
  /// - Parameter other: what the reply counts as if it still comes. `nil`: it is ignored.
  mutating func giveUp(_ pending: PendingCall, of app: String, countingAs other: PendingCall? = nil) {
    for (identifier, _) in open.filter({ $0.value == pending }) {
      givenUp[identifier] = app
      open[identifier] = other
    }
  }

  /// How many operations of this app were given up and have not been answered since.
  func givenUpCount(of app: String) -> Int { givenUp.values.count { $0 == app } }

  /// Whether an app may ask for a further operation. Where many are never answered, apps that had none of them still may.
  func hasRoom(for app: String) -> Bool {
    guard !givenUp.isEmpty else { return true }
    let own = givenUpCount(of: app)
    return own == 0 || own < Self.appLimit && givenUp.count < Self.limit
  }

  /// How many operations may be given up and unanswered: of one app, and of all apps.
  static let appLimit = 24
  private static let limit = 96

  /// bluetoothd has left the bus, which has dropped all places for its answers.
  mutating func dropGivenUp() { givenUp = [:] }

  func count(of pending: PendingCall) -> Int { open.values.count { $0 == pending } }

  /// Forgets a call. A reply that still comes is ignored.
  mutating func forget(_ pending: PendingCall) { open = open.filter { $0.value != pending } }

  /// Forgets all calls except those to keep. Returns the forgotten ones in the order in which they were made.
  mutating func forgetAll(but isKept: (PendingCall) -> Bool = { _ in false }) -> [PendingCall] {
    let forgotten = open.filter { !isKept($0.value) }.sorted { $0.key.rawValue < $1.key.rawValue }
    for (identifier, _) in forgotten { open[identifier] = nil }
    return forgotten.map(\.value)
  }
}
