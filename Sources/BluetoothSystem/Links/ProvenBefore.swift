import AppLink
import TimeTypes

/// The centrals that had proven themselves to an app's process, on their present links, when it ended.
///
/// Their links are still the same, so the proof holds. The next process hears of it only by the next proof. A central that
/// pairs because it has proven itself would lose its link if the process ended just then.
struct ProvenBefore: Sendable {
  private(set) var centrals: Set<PeerIdentifier> = []
  private var ended: Instant?

  /// A process that let in these centrals has ended.
  mutating func processEnded(_ proven: [PeerIdentifier], at now: Instant) {
    guard !proven.isEmpty else { return }
    centrals.formUnion(proven)
    ended = now
  }

  /// Whoever comes on a later link with the same address may be somebody else.
  mutating func keep(linked: Set<PeerIdentifier>) { centrals.formIntersection(linked) }

  /// The app has a proof of these centrals again, and may take it back.
  mutating func forget(_ proven: [PeerIdentifier]) { centrals.subtract(proven) }

  /// Whether the central has not yet had the time to prove itself to the next process.
  func contains(_ peer: PeerIdentifier, at now: Instant) -> Bool {
    centrals.contains(peer) && (ended.map { now - $0 < UnprovenLinks.patience } ?? false)
  }
}
