import AppLink
import BluetoothTypes
import Foundation

/// For an app that publishes services and proves its centrals itself, as a lock does. It has `LatchkeyAdmitsCentrals` in its
/// `Info.plist`: then strangers don't pair for it, and the link of a central that it has not admitted ends after 30 s.
///
/// There is nothing of this kind on iOS, where the user is asked about each pairing.
public enum CentralPolicy {
  /// Replaces the earlier call's values. The system keeps them until the app's process ends. If the system restarts,
  /// the library sends them again.
  ///
  /// - Parameters:
  ///   - acceptsPairings: whether any device may pair with this machine now, without a person being asked.
  ///   - proven: the identifiers of the centrals that have proven themselves on their present links. They may pair,
  ///     and their links stay. Only the first 256 count.
  ///   - known: the identifiers of the centrals that have proven themselves on earlier links. Their links stay. Only
  ///     the first 256 count.
  public static func admit(acceptsPairings: Bool, proven: [UUID], known: [UUID]) {
    func peers(_ identifiers: [UUID]) -> [PeerIdentifier] {
      identifiers.prefix(CentralAdmission.limit).map { PeerIdentifier($0) }
    }
    AppSession.active.admit(
      CentralAdmission(acceptsPairings: acceptsPairings, proven: peers(proven), known: peers(known)))
  }
}
