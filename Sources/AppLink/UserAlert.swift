/// Something that the user is shown for an app (F5). Opening the app answers it.
package struct UserAlert: Sendable, Hashable, Codable {
  /// Not used for another alert while the system runs. Later alerts have higher numbers.
  package var identifier: UInt64
  /// The app's bundle identifier.
  package var app: String
  /// The app's name for people.
  package var title: String
  /// What happened, on one line.
  package var text: String
  /// When it happened, in seconds since 1970.
  package var unixSeconds: Double
  package init(identifier: UInt64, app: String, title: String, text: String, unixSeconds: Double) {
    self.identifier = identifier
    self.app = app
    self.title = title
    self.text = text
    self.unixSeconds = unixSeconds
  }
}
