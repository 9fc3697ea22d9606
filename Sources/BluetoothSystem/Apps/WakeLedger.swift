import AppLink
import FoundationEssentials
import TimeTypes

/// Accounts for every time an app is woken or relaunched for Bluetooth: why, for how long, and what it did (W3). Each
/// wake is journaled as `wake.ended`. The last ones are stored with the app, for `latchkey wakes`.
struct WakeLedger: Sendable {
  /// A wake that has not ended yet.
  private struct Open: Sendable {
    let began: Instant
    let unixSeconds: Double
    let because: WakeReason
    var told = 0
    var said = 0

    func record(app: String, until now: Instant, outcome: String?) -> WakeRecord {
      WakeRecord(
        app: app, because: because, unixSeconds: unixSeconds, seconds: (now - began) / .seconds(1), told: told,
        said: said, outcome: outcome)
    }
  }

  private var open: Open?
  /// Oldest first.
  private(set) var ended: [WakeRecord] = []

  init(_ ended: [WakeRecord] = []) { self.ended = ended.suffix(Self.limit) }

  /// The most wakes kept per app.
  static let limit = 20

  /// What the app was woken for, until that wake has ended.
  var because: WakeReason? { open?.because }

  /// A wake within a wake is part of it.
  mutating func begin(because reason: WakeReason, at now: Instant, unixSeconds: Double) {
    if open == nil { open = Open(began: now, unixSeconds: unixSeconds, because: reason) }
  }

  mutating func told() { open?.told += 1 }
  mutating func said() { open?.said += 1 }

  /// Returns the wake that ended, or `nil` if none was open.
  mutating func end(app: String, outcome: String, at now: Instant) -> WakeRecord? {
    guard let wake = open else { return nil }
    open = nil
    let record = wake.record(app: app, until: now, outcome: outcome)
    ended.append(record)
    if ended.count > Self.limit { ended.removeFirst() }
    return record
  }

  /// Oldest first. A wake that has not ended has no outcome yet.
  func records(app: String, at now: Instant) -> [WakeRecord] {
    ended + (open.map { [$0.record(app: app, until: now, outcome: nil)] } ?? [])
  }
}

extension BluetoothSystem {
  mutating func wakeBegan(_ name: String, because reason: WakeReason) {
    apps[name]?.wakes.begin(because: reason, at: now, unixSeconds: unixSeconds)
  }

  mutating func wakeEnded(_ name: String, _ outcome: String) {
    guard let wake = apps[name]?.wakes.end(app: name, outcome: outcome, at: now) else { return }
    journal(
      .wakeEnded,
      [
        .app: name, .because: wake.because.rawValue, .milliseconds: String(Int((wake.seconds * 1000).rounded())),
        .told: String(wake.told), .said: String(wake.said), .outcome: outcome,
      ])
    persistApp(name)
  }

  /// The wakes of all apps, oldest first.
  var wakeRecords: [WakeRecord] {
    appNames.flatMap { apps[$0]?.wakes.records(app: $0, at: now) ?? [] }
      .sorted { ($0.unixSeconds, $0.app) < ($1.unixSeconds, $1.app) }
  }
}
