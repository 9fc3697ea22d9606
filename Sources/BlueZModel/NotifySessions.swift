import BlueZ
import Radio

/// The clients that have started notifications of one of a peer's values. Sessions outlive links: bluetoothd
/// subscribes again on every link.
struct NotifySessions: Sendable {
  private struct Session: Sendable {
    var client: ClientIdentifier
    /// The call to answer when the peer has confirmed.
    var call: CallIdentifier?
    /// Whether the peer has confirmed on this link.
    var isActive = false
  }
  private var sessions: [Session] = []

  /// The result of StartNotify.
  enum Start {
    case answered(Result<Reply, BlueZError>)
    /// Waits for the peer, which is asked unless that has already happened.
    case waits(asksPeer: Bool)
  }

  var isEmpty: Bool { sessions.isEmpty }
  var count: Int { sessions.count }
  /// The value of `Notifying`: a session was confirmed, and no client has ended its own since. It stays `true` when
  /// sessions get lost.
  private(set) var isNotifying = false
  func has(_ client: ClientIdentifier) -> Bool { sessions.contains { $0.client == client } }

  /// The calls that wait for the peer's confirmation.
  var waiting: [PendingCall] {
    sessions.compactMap { session in session.call.map { PendingCall(client: session.client, call: $0) } }
  }

  mutating func start(_ pending: PendingCall, isLinked: Bool) -> Start {
    if let mine = sessions.first(where: { $0.client == pending.client }) {
      // A session that the peer was asked for counts, before its answer (`notify_id` in src/gatt-client.c).
      return .answered(mine.isActive || mine.call != nil ? .success(.none) : .failure(.inProgress))
    }
    guard isLinked else {
      // Recorded. The peer is asked when it is back.
      sessions.append(Session(client: pending.client))
      return .answered(.success(.none))
    }
    let isActive = sessions.contains(where: \.isActive)
    let asksPeer = sessions.isEmpty
    sessions.append(Session(client: pending.client, call: isActive ? nil : pending.call, isActive: isActive))
    return isActive ? .answered(.success(.none)) : .waits(asksPeer: asksPeer)
  }

  mutating func end(_ client: ClientIdentifier) {
    sessions.removeAll { $0.client == client }
    if sessions.isEmpty { isNotifying = false }
  }

  /// The peer has confirmed, so no call waits any more.
  mutating func confirm() {
    sessions = sessions.map { Session(client: $0.client, isActive: true) }
    isNotifying = true
  }

  /// The peer has refused, or the link was lost before it answered. The sessions that waited for it are lost, without a
  /// signal, even those that bluetoothd was renewing by itself (`register_notify_cb` in src/gatt-client.c; seen on
  /// bluetoothd 5.82).
  mutating func fail() { sessions.removeAll { !$0.isActive } }

  /// The link is gone.
  mutating func loseLink() {
    for index in sessions.indices {
      sessions[index].isActive = false
      sessions[index].call = nil
    }
  }
}
