import AppLink

/// Counts the requests of users that have no answer yet. No user can take the room of another: a request to an app waits
/// for as long as that app likes.
struct WaitingControls {
  /// Requests whose user is not known yet, because the bus has not said.
  private var unknown = 0
  private var users: [UInt32: Int] = [:]

  private var known: Int { users.values.reduce(0, +) }

  /// A request has come.
  /// - Throws: `limitReached` if too many wait for the bus to say whose they are.
  mutating func arrived() throws(AppLinkError) {
    guard unknown < Flow.unknownControlLimit else {
      throw AppLinkError(.limitReached, "\(unknown) requests of users came at once; try again")
    }
    unknown += 1
  }

  /// The bus does not know whose this request was. Nobody waits for its answer.
  mutating func forget() { unknown -= 1 }

  /// The bus has said whose a request is. From now on, it waits for its answer.
  /// - Throws: `limitReached` if there is no room for another request of this user. Then the request is forgotten.
  mutating func accept(_ user: UInt32) throws(AppLinkError) {
    unknown -= 1
    let count = users[user, default: 0]
    guard count < Flow.userControlLimit else {
      throw AppLinkError(.limitReached, "\(count) requests of this user wait already; try again")
    }
    guard known < Flow.controlLimit else {
      throw AppLinkError(.limitReached, "\(Flow.controlLimit) requests of users wait already; try again")
    }
    users[user] = count + 1
  }

  /// A request of this user has its answer.
  mutating func answered(_ user: UInt32) {
    guard let count = users[user] else { return }
    users[user] = count > 1 ? count - 1 : nil
  }
}
