import JournalEvents

/// Finds failed starts of apps that no longer matter, because the app was started later and stayed up. Before a machine
/// is set up, latchkeyd tries in vain to start an app that has no keys yet, and the journal keeps that for days.
struct AppStarts {
  /// A start that the app survives for so long, in seconds, has lasted.
  static let lastingSeconds: Double = 60
  /// How often an app may need several attempts within the days of the journal. If it happens more often, it is a
  /// trouble, although the app came up each time.
  static let episodeLimit = 2

  /// When the latest start that lasted was, in seconds since 1970-01-01 UTC, by app.
  private var lasting: [String: Double] = [:]

  init(_ events: [JournaledEvent], now: Double) {
    /// An app's latest start that has not ended yet.
    var starts: [String: Double] = [:]
    var failing: Set<String> = []
    var episodes: [String: Int] = [:]
    func lasted(_ app: String, until end: Double) {
      guard let start = starts.removeValue(forKey: app), end - start >= Self.lastingSeconds else { return }
      lasting[app] = start
      if failing.remove(app) != nil { episodes[app, default: 0] += 1 }
    }
    for event in events {
      guard let app = event.fields[JournalField.app.rawValue] else { continue }
      switch Recorded.Daemon(rawValue: event.event) {
      case .appLaunched:
        lasted(app, until: event.unixSeconds)
        starts[app] = event.unixSeconds
      case .appEnded: lasted(app, until: event.unixSeconds)
      case .appLaunchFailed:
        lasted(app, until: event.unixSeconds)
        failing.insert(app)
      default: break
      }
    }
    for app in starts.keys { lasted(app, until: now) }
    for (app, count) in episodes where count > Self.episodeLimit { lasting[app] = nil }
  }

  /// Whether this is a failed start, and a later one of the same app has lasted.
  func isOvercome(_ event: JournaledEvent) -> Bool {
    guard event.event == Recorded.Daemon.appLaunchFailed.rawValue, let app = event.fields[JournalField.app.rawValue],
      let lasting = lasting[app]
    else { return false }
    return event.unixSeconds < lasting
  }
}
