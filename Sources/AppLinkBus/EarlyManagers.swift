import AppLink

/// Managers that an app creates before it is attached. Their requests are sent right behind the attachment, so that
/// what the system has for them comes together with its answer.
///
/// A system of a version that takes no request before it has accepted the app refuses them. It is asked again once the
/// app is attached.
struct EarlyManagers {
  private struct Entry {
    let manager: ManagerIdentifier
    let request: Request
    /// Sent with the present attachment, and not answered.
    var isUnderWay = false
  }

  private var entries: [Entry] = []
  /// Managers that the app has released while their requests were under way.
  private var ended: [ManagerIdentifier] = []
  /// Grows with each attachment, so that an answer to an earlier one can be recognised.
  private(set) var attempt: UInt64 = 0

  struct Sent {
    let manager: ManagerIdentifier
    let request: Request
    let attempt: UInt64
  }

  /// - Parameter isAttaching: an attachment is under way, and the request is to follow it at once.
  mutating func add(_ manager: ManagerIdentifier, _ creation: ManagerCreation, isAttaching: Bool) -> Sent? {
    let entry = Entry(manager: manager, request: .createManager(manager, creation), isUnderWay: isAttaching)
    entries.append(entry)
    return isAttaching ? Sent(manager: manager, request: entry.request, attempt: attempt) : nil
  }

  mutating func end(_ manager: ManagerIdentifier) {
    guard let index = entries.firstIndex(where: { $0.manager == manager }) else { return }
    if entries.remove(at: index).isUnderWay { ended.append(manager) }
  }

  /// An attachment was sent. Returns what follows it at once.
  mutating func begin() -> [Sent] {
    attempt += 1
    ended = []
    for index in entries.indices { entries[index].isUnderWay = true }
    return entries.map { Sent(manager: $0.manager, request: $0.request, attempt: attempt) }
  }

  /// A request was answered. Returns whether it is to be sent again now.
  /// - Parameter isTaken: the system was there, and did not refuse it because the app was not attached.
  mutating func answered(_ sent: Sent, isTaken: Bool, isAttached: Bool) -> Bool {
    guard sent.attempt == attempt, let index = entries.firstIndex(where: { $0.manager == sent.manager }) else {
      return false
    }
    entries[index].isUnderWay = false
    guard isTaken || isAttached else { return false }
    entries.remove(at: index)
    return !isTaken
  }

  /// The app is attached. Returns what is to be sent now.
  mutating func attached() -> [Request] {
    defer {
      entries.removeAll { !$0.isUnderWay }
      ended = []
    }
    return entries.filter { !$0.isUnderWay }.map(\.request) + ended.map { .destroyManager($0) }
  }

  /// The library will create its managers anew, so all entries are dropped.
  mutating func forgetAll() {
    entries = []
    ended = []
    attempt += 1
  }
}
