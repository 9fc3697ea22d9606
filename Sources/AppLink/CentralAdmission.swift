import BluetoothTypes

/// Which centrals an app lets in. It is for an app that publishes services and proves its centrals itself, as a lock
/// does. The app sends the whole value each time.
package struct CentralAdmission: Sendable, Hashable {
  /// Whether any device may pair with this machine without a person being asked, because this app publishes services.
  package var acceptsPairings: Bool
  /// The centrals that have proven themselves on their present links. They may pair, and their links stay.
  package var proven: [PeerIdentifier]
  /// The centrals that have proven themselves on earlier links. Their links stay as well. Links of all other centrals
  /// end soon.
  package var known: [PeerIdentifier]

  package init(acceptsPairings: Bool = false, proven: [PeerIdentifier] = [], known: [PeerIdentifier] = []) {
    self.acceptsPairings = acceptsPairings
    self.proven = proven
    self.known = known
  }

  /// The most centrals in either list.
  package static let limit = 256
}
