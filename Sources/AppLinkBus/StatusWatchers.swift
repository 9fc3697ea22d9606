import AppLink
import SystemBus

/// The clients that watch the status.
struct StatusWatchers {
  private struct Watcher {
    var watch: Bus.NameWatch
    var user: UInt32
    /// The client was told of a change and has not asked for the status since. So a client that does not read, such as
    /// a suspended one, has at most one signal waiting.
    var isTold = false
  }

  /// By their names on the bus.
  private var watchers: [String: Watcher] = [:]

  var count: Int { watchers.count }

  func contains(_ name: String) -> Bool { watchers[name] != nil }

  /// - Throws: `limitReached` if there is no room for another watcher of this user.
  func checkRoom(for user: UInt32) throws(AppLinkError) {
    guard watchers.values.count(where: { $0.user == user }) < Flow.userWatcherLimit else {
      throw AppLinkError(
        .limitReached, "\(Flow.userWatcherLimit) programs of this user watch the status already; end one of them")
    }
    guard watchers.count < Flow.watcherLimit else {
      throw AppLinkError(.limitReached, "\(Flow.watcherLimit) programs watch the status already; end one of them")
    }
  }

  mutating func add(_ name: String, of user: UInt32, _ watch: Bus.NameWatch) {
    watchers[name] = Watcher(watch: watch, user: user)
  }

  /// - Returns: the watch that is not needed any more, or `nil` if this client did not watch the status.
  mutating func remove(_ name: String) -> Bus.NameWatch? { watchers.removeValue(forKey: name)?.watch }

  /// The client asks for the status. If it watches, it is told of the next change.
  mutating func asked(_ name: String) { watchers[name]?.isTold = false }

  /// - Returns: the names of those that are to be told of a change now.
  mutating func takeUntold() -> [String] {
    let untold = watchers.filter { !$0.value.isTold }.map(\.key)
    for name in untold { watchers[name]?.isTold = true }
    return untold
  }
}
