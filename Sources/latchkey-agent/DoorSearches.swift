/// Tells each door's search for its lock how the searches of the phone's other doors stand.
final class DoorSearches {
  // Everything here happens on the main queue.
  private var centrals: [(central: AgentCentral, standing: LockSearch.Standing)] = []

  /// A door's search has changed its standing, or is mentioned for the first time.
  func note(_ central: AgentCentral) {
    let standing = central.standing
    if let index = centrals.firstIndex(where: { $0.central === central }) {
      guard centrals[index].standing != standing else { return }
      centrals[index].standing = standing
    } else {
      centrals.append((central, standing))
      central.see(others(than: central))
    }
    for (other, _) in centrals where other !== central { other.see(others(than: other)) }
  }

  private func others(than central: AgentCentral) -> [LockSearch.Standing] {
    centrals.filter { $0.central !== central }.map(\.standing)
  }
}
