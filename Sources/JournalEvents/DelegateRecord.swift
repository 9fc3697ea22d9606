/// The records that the CoreBluetooth module writes beside the output of a story's own apps, one for each call of a
/// delegate, just before the call.
package enum DelegateRecord {
  /// The file to which an app's calls are appended: the one that its output goes to, or the journal's socket.
  package static let variable = "LATCHKEY_RECORD_CALLS"
  /// Where systemd's journal takes lines, whatever the app has done with its output.
  package static let journal = "/run/systemd/journal/socket"
  /// What a record's line in the output of an app begins with.
  package static let mark = "latchkey: "
  /// The event's name.
  package static let event = "told"

  package enum Field: String, CaseIterable, Sendable {
    /// What the delegate is told: the kind of the system's event, such as `willRestoreState` or `connected`.
    case call
    /// The manager's role, `central` or `peripheral`.
    case role
    /// The manager's restore identifier, or its number if it has none.
    case manager
    /// The peripheral or the central.
    case peer
    /// The manager's new state.
    case state
    /// The app asked for it by itself: it cancelled, or asked for a connection that it had.
    case asked
    /// There was an error.
    case error
    /// How many peripherals or services are restored.
    case restored
    case pid
  }
}
