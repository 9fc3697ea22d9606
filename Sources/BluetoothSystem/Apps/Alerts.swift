import AppLink
import JournalEvents
import TimeTypes

/// What the user is shown for apps and has not answered yet (F5).
struct Alerts: Sendable {
  /// What an alert is about. There is one alert about each thing at a time.
  enum Subject: Sendable, Hashable {
    /// What the app itself shows.
    case app
    case peripheral(PeerIdentifier, about: String)
  }

  private struct Entry: Sendable {
    let alert: UserAlert
    let subject: Subject
    let time: Instant
  }

  /// Oldest first.
  private var entries: [Entry] = []
  private var lastIdentifier: UInt64 = 0

  /// The user is shown at most one alert about the same thing of a peripheral in this time.
  static let interval: Duration = .seconds(10)

  var shown: [UserAlert] { entries.map(\.alert) }

  /// Adds an alert in place of the app's last one about the same subject. Returns `false`, and changes nothing, if the
  /// user was shown an alert about this peripheral within `interval`.
  mutating func add(
    _ text: String, _ subject: Subject, app: String, title: String, at now: Instant, unixSeconds: Double
  ) -> Bool {
    if let old = entries.first(where: { $0.alert.app == app && $0.subject == subject }) {
      guard subject == .app || now >= old.time + Self.interval else { return false }
      remove(app: app, subject)
    }
    lastIdentifier += 1
    let alert = UserAlert(identifier: lastIdentifier, app: app, title: title, text: text, unixSeconds: unixSeconds)
    entries.append(Entry(alert: alert, subject: subject, time: now))
    if entries.count > SystemStatus.Limit.alerts { entries.removeFirst() }
    return true
  }

  mutating func remove(app: String, _ subject: Subject) {
    entries.removeAll { $0.alert.app == app && $0.subject == subject }
  }

  /// The user has opened the app, and sees there what happened.
  mutating func opened(_ app: String) { entries.removeAll { $0.alert.app == app && $0.subject != .app } }

  mutating func removeAll(of app: String) { entries.removeAll { $0.alert.app == app } }
}

extension BluetoothSystem {
  /// Shows an alert about a peripheral while its app is suspended, if the app asked for it.
  mutating func alert(_ key: ManagerKey, _ peer: PeerIdentifier, _ isWanted: Bool, _ what: String) {
    guard isWanted, let app = apps[key.app], app.state == .suspended else { return }
    let name = self.name(of: peer)?.onOneLine(byteLimit: SystemStatus.Limit.nameBytes)
    let sentence =
      switch what {
      case "connected": "is connected."
      case "disconnected": "is no longer connected."
      default: "has sent a value."
      }
    let text = (name.map { $0.isEmpty ? "A device" : $0 } ?? "A device") + " " + sentence
    guard show(text, .peripheral(peer, about: what), app: key.app) else { return }
    journal(.userAlert, [.app: key.app, .peripheral: peer.uuidString, .about: what, .text: text])
  }

  /// Returns `false` if the user was shown an alert about this peripheral within `Alerts.interval`.
  mutating func show(_ text: String, _ subject: Alerts.Subject, app name: String) -> Bool {
    let title = apps[name]?.declaration.displayName ?? name
    return alerts.add(text, subject, app: name, title: title, at: now, unixSeconds: unixSeconds)
  }
}
