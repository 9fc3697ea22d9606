import AppLink
import TimeTypes

/// Finds out whether the status that users see has changed, while somebody watches it. Changes in quick succession count
/// as one, but the last state is always told.
struct StatusWatch {
  /// The shortest time between two comparisons.
  static let interval: Duration = .milliseconds(250)

  /// What was last told. `nil` while nobody watches.
  private var told: SystemStatus?
  private var number: UInt64 = 0
  private var comparedAt: Instant?
  /// When to compare next, if that is not now.
  private var dueAt: Instant?
  private var isDueNew = false

  var isWatched: Bool { told != nil }

  /// Begins to watch. The watchers know this status, or will ask for it.
  mutating func begin(_ status: SystemStatus) {
    told = status.news
    comparedAt = nil
    dueAt = nil
  }

  mutating func end() {
    told = nil
    dueAt = nil
  }

  /// Something has happened. Returns whether to compare now. If not, the comparison is due later, or nobody watches.
  mutating func mayHaveChanged(at now: Instant) -> Bool {
    guard isWatched, dueAt == nil else { return false }
    guard let comparedAt, now < comparedAt + Self.interval else { return true }
    dueAt = comparedAt + Self.interval
    isDueNew = true
    return false
  }

  /// The time for which an alarm has to be set, once.
  mutating func takeNewDeadline() -> Instant? {
    defer { isDueNew = false }
    return isDueNew ? dueAt : nil
  }

  /// Returns whether the time to compare has come.
  mutating func takeDeadline(at now: Instant) -> Bool {
    guard isWatched, let dueAt, dueAt <= now else { return false }
    self.dueAt = nil
    return true
  }

  /// Returns the number of the change, or `nil` if there is none.
  mutating func compare(_ status: SystemStatus, at now: Instant) -> UInt64? {
    comparedAt = now
    let news = status.news
    guard isWatched, news != told else { return nil }
    told = news
    number += 1
    return number
  }
}
