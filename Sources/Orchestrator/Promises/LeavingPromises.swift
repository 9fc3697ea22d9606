import Journal

/// The owner leaves.
enum LeavingPromises {
  static let all = [
    Promise(
      name: "locked-on-leaving", rows: ["L2"], meaning: "The lock locks by itself when its owner has left, once."
    ) { (evidence) throws(MissingMark) in
      let away = try evidence.away()
      let moves = evidence.all("bolt.moved", of: Recorded.lock, in: away)
      let locked = moves.filter { $0.fields["to"] == "locked" }
      guard let first = locked.first else { return .broken("the bolt did not lock while the owner was away", moves) }
      guard moves.count == 1 else {
        return .broken("the bolt moved \(moves.count) times while the owner was away", moves)
      }
      return .kept("locked \(seconds(from: evidence.entries[away.lowerBound], to: first)) s after leaving", [first])
    },
    Promise(
      name: "link-lost-on-leaving", rows: ["L3"], meaning: "The link goes down when the owner is out of range."
    ) { (evidence) throws(MissingMark) in
      let away = try evidence.away()
      let links = evidence.all(in: away) { Recorded.radios.contains($0.process) }
      let down = links.filter { $0.event == "link.down" }
      let up = links.filter { $0.event == "link.up" }
      guard let first = down.first else { return .broken("no link went down while the owner was away") }
      guard up.isEmpty else { return .broken("a link came up while the owner was away", up) }
      return .kept("link lost, and none came up until the return", [first])
    },
  ]

}
