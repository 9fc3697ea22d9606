import BlueZ
import Radio

/// Who has started notifications of one of a peer's values. They outlive links: bluetoothd subscribes again on every one.
struct NotifySessions: Sendable {
  private struct Session: Sendable {
    var client: ClientIdentifier
    /// The call that is answered when the peer has confirmed.
    var call: CallIdentifier?
    /// Whether the peer confirmed on this link.
    var isActive = false
    /// Whether it ever did: what `Notifying` says.
    var wasActive = false
  }
  private var sessions: [Session] = []

  /// What StartNotify comes to.
  enum Start {
    case answered(Result<Reply, BlueZError>)
    /// The peer is asked, if it is not being asked already.
    case waits(asksPeer: Bool)
  }

  var isEmpty: Bool { sessions.isEmpty }
  var count: Int { sessions.count }
  /// What `Notifying` says.
  var isNotifying: Bool { sessions.contains(where: \.wasActive) }
  func has(_ client: ClientIdentifier) -> Bool { sessions.contains { $0.client == client } }

  /// Those who wait for the peer's word.
  var waiting: [PendingCall] {
    sessions.compactMap { session in session.call.map { PendingCall(client: session.client, call: $0) } }
  }

  mutating func start(_ pending: PendingCall, isLinked: Bool) -> Start {
    if let mine = sessions.first(where: { $0.client == pending.client }) {
      return .answered(mine.isActive ? .success(.none) : .failure(.inProgress))
    }
    guard isLinked else {
      // Taken down; the peer hears of it when it is back.
      sessions.append(Session(client: pending.client))
      return .answered(.success(.none))
    }
    let isActive = sessions.contains(where: \.isActive)
    let asksPeer = sessions.isEmpty
    sessions.append(
      Session(client: pending.client, call: isActive ? nil : pending.call, isActive: isActive, wasActive: isActive))
    return isActive ? .answered(.success(.none)) : .waits(asksPeer: asksPeer)
  }

  mutating func end(_ client: ClientIdentifier) { sessions.removeAll { $0.client == client } }

  /// The peer has confirmed: nobody waits any more.
  mutating func confirm() {
    sessions = sessions.map { Session(client: $0.client, isActive: true, wasActive: true) }
  }

  /// The peer has refused: those who wait lose their session, others keep theirs for the next link.
  mutating func fail() { sessions.removeAll { $0.call != nil } }

  /// The link is gone.
  mutating func loseLink() {
    for index in sessions.indices {
      sessions[index].isActive = false
      sessions[index].call = nil
    }
  }
}
