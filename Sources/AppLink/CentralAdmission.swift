import BluetoothTypes

/// Which centrals an app lets in that publishes services and proves its centrals itself, as a lock does. The app tells all of it
/// each time.
package struct CentralAdmission: Sendable, Hashable {
  /// Whether any device may pair with this machine without a person being asked, because this app publishes services.
  package var acceptsPairings: Bool
  /// The centrals that have proven themselves on their links of now. They may pair, and their links stay.
  package var proven: [PeerIdentifier]
  /// The centrals that did so before. Their links stay as well; links of others end soon.
  package var known: [PeerIdentifier]

  package init(acceptsPairings: Bool = false, proven: [PeerIdentifier] = [], known: [PeerIdentifier] = []) {
    self.acceptsPairings = acceptsPairings
    self.proven = proven
    self.known = known
  }

  /// The most centrals in either list.
  package static let limit = 256
}
