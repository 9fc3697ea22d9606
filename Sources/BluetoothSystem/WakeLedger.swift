import AppLink
import FoundationEssentials
import TimeTypes

/// A wake that lasts.
struct OpenWake: Sendable {
  var began: Instant
  var unixSeconds: Double
  var because: String
  var told = 0
  var said = 0
}

/// Every time that an app is woken or relaunched for Bluetooth is accounted for: why, how long, what it did (W3). Each
/// is in the journal as `wake.ended`; the last ones of this life of the system are kept for the user's command.
extension BluetoothSystem {
  /// Of each app.
  static let wakesKept = 20

  mutating func wakeBegan(_ name: String, because reason: String) {
    guard apps[name]?.wake == nil else { return }
    apps[name]?.wake = OpenWake(began: now, unixSeconds: unixSeconds, because: reason)
  }

  mutating func wakeEnded(_ name: String, _ outcome: String) {
    guard let wake = apps[name]?.wake else { return }
    apps[name]?.wake = nil
    let entry = record(of: wake, app: name, outcome: outcome)
    apps[name]?.wakes.append(entry)
    if let count = apps[name]?.wakes.count, count > Self.wakesKept { apps[name]?.wakes.removeFirst() }
    journal(
      "wake.ended",
      [
        "app": name, "because": entry.because, "milliseconds": String(Int((entry.seconds * 1000).rounded())),
        "told": String(entry.told), "said": String(entry.said), "outcome": outcome,
      ])
  }

  private func record(of wake: OpenWake, app: String, outcome: String?) -> WakeRecord {
    WakeRecord(
      app: app, because: wake.because, unixSeconds: wake.unixSeconds, seconds: (now - wake.began) / .seconds(1),
      told: wake.told, said: wake.said, outcome: outcome)
  }

  /// Of all apps, the oldest first; a wake that lasts has no outcome yet.
  var ledger: [WakeRecord] {
    apps.keys.sorted().flatMap { name -> [WakeRecord] in
      let open = apps[name]?.wake.map { [record(of: $0, app: name, outcome: nil)] } ?? []
      return (apps[name]?.wakes ?? []) + open
    }.sorted { ($0.unixSeconds, $0.app) < ($1.unixSeconds, $1.app) }
  }
}
