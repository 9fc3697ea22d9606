/// What an app tells its user about something that it controls, such as a door.
package struct AppReport: Sendable, Hashable {
  package enum Kind: String, Sendable, Hashable, Codable {
    /// Something has moved or was done.
    case movement
    /// The subject is as the text says, from now on.
    case state
    /// The subject is as the text says. It is not known since when.
    case knownState
  }
  package var kind: Kind
  /// What it is about. One subject has one state.
  package var subject: String
  package var text: String
  package init(_ kind: Kind, subject: String, text: String) {
    self.kind = kind
    self.subject = subject
    self.text = text
  }

  /// The most that is kept. Texts are cut to their limits.
  package enum Limit {
    /// Subjects with a state, of one app.
    package static let subjects = 8
    /// Movements of one app.
    package static let movements = 20
    /// The length of a subject, in bytes.
    package static let subjectBytes = 64
    /// The length of a text, in bytes.
    package static let textBytes = 256
  }
}

/// How something that an app controls is, as the app last reported it.
package struct ReportedState: Sendable, Hashable {
  package var app: String
  package var subject: String
  package var text: String
  /// In seconds since 1970. `nil` if it was so before the app or the system started.
  package var sinceUnixSeconds: Double?
  package init(app: String, subject: String, text: String, sinceUnixSeconds: Double? = nil) {
    self.app = app
    self.subject = subject
    self.text = text
    self.sinceUnixSeconds = sinceUnixSeconds
  }
}

/// What has moved or was done, as an app reported it.
package struct ReportedMovement: Sendable, Hashable {
  package var app: String
  package var subject: String
  package var text: String
  /// When the system heard of it, in seconds since 1970.
  package var unixSeconds: Double
  package init(app: String, subject: String, text: String, unixSeconds: Double) {
    self.app = app
    self.subject = subject
    self.text = text
    self.unixSeconds = unixSeconds
  }
}
