/// Why an app is woken or relaunched.
///
/// Its raw value appears in the journal and on the bus. A value unknown to this program comes from a later version.
package enum WakeReason: Sendable, Hashable, RawRepresentable, Codable {
  /// The first event that the app is told.
  case event(Event.Kind)
  /// The app was awake already when the system started: an earlier run of the system woke it.
  case adopted
  /// It is relaunched for events that its previous process had already been told.
  case restore
  case unknown(String)

  package init(rawValue: String) {
    self =
      switch rawValue {
      case "adopted": .adopted
      case "restore": .restore
      default: Event.Kind(rawValue: rawValue).map { .event($0) } ?? .unknown(rawValue)
      }
  }

  package var rawValue: String {
    switch self {
    case .event(let kind): kind.rawValue
    case .adopted: "adopted"
    case .restore: "restore"
    case .unknown(let name): name
    }
  }
}

/// One time that an app was woken or relaunched for Bluetooth.
package struct WakeRecord: Sendable, Hashable, Codable {
  package var app: String
  package var because: WakeReason
  /// When the wake began, in seconds since 1970.
  package var unixSeconds: Double
  /// How long it lasted, or has lasted so far.
  package var seconds: Double
  /// The number of events that the app was told.
  package var told: Int
  /// The number of requests that the app made.
  package var said: Int
  /// `suspended`, `overran`, `opened` by the user, or how its process ended. `nil` while it lasts.
  package var outcome: String?
  package init(
    app: String, because: WakeReason, unixSeconds: Double, seconds: Double, told: Int, said: Int, outcome: String?
  ) {
    self.app = app
    self.because = because
    self.unixSeconds = unixSeconds
    self.seconds = seconds
    self.told = told
    self.said = said
    self.outcome = outcome
  }
}
