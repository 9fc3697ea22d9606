import Journal

/// The bolt.
enum DoorPromises {
  static let all = [
    Promise(
      name: "unlocked-once", rows: ["L2", "L3"],
      meaning: "The arrival unlocks the door exactly once: one write, one accepted command, one movement of the bolt."
    ) { (evidence) throws(MissingMark) in
      let home = try evidence.home()
      let written = evidence.all("unlock.written", of: Recorded.agent, in: home)
      // A phone also says that it is there, by a status, which moves nothing.
      let accepted = evidence.all("command.accepted", of: Recorded.lock, in: home).filter {
        $0.fields["command"] != "status"
      }
      let moved = evidence.all("bolt.moved", of: Recorded.lock, in: home)
      let opened = moved.filter { $0.fields["to"] == "unlocked" }
      guard let open = opened.first else { return .broken("the bolt did not open on arrival", moved) }
      guard opened.count == 1, moved.count == 1 else {
        return .broken("the bolt moved \(moved.count) times on arrival", moved)
      }
      guard written.count == 1 else { return .broken("\(written.count) unlocks were written", written) }
      guard accepted.count == 1 else { return .broken("\(accepted.count) commands were accepted", accepted) }
      let took = seconds(from: evidence.entries[home.lowerBound], to: open)
      return .kept("one write, one movement, \(took) s after the return", written + accepted + opened)
    },
    Promise(
      name: "opened-once", rows: ["L3"],
      meaning:
        "Whatever dies meanwhile, the arrival opens the door once and it stays open: a repeated command is the same one."
    ) { (evidence) throws(MissingMark) in
      let home = try evidence.home()
      let moved = evidence.all("bolt.moved", of: Recorded.lock, in: home)
      guard let open = moved.first else { return .broken("the bolt did not move on arrival") }
      guard moved.count == 1, open.fields["to"] == "unlocked" else {
        return .broken("the bolt moved \(moved.count) times on arrival", moved)
      }
      let written = evidence.all("unlock.written", of: Recorded.agent, in: home)
      guard Set(written.map { $0.fields["operation"] }).count == 1 else {
        return .broken("the unlocks written are not one operation", written)
      }
      let took = seconds(from: evidence.entries[home.lowerBound], to: open)
      return .kept("open after \(took) s", written + [open])
    },
    Promise(
      name: "unlock-answered", rows: ["L4"],
      meaning: "The lock's authenticated answer to the unlock reaches the agent and says that it was done."
    ) { (evidence) throws(MissingMark) in
      let home = try evidence.home()
      let answers = evidence.all("unlock.answered", of: Recorded.agent, in: home)
      guard let answer = answers.first else { return .broken("no answer reached the agent") }
      guard answers.count == 1 else { return .broken("\(answers.count) answers", answers) }
      guard ["ok", "done", "unlocked", "success"].contains(answer.fields["result"]?.lowercased()) else {
        return .broken("the answer is \(answer.fields["result"] ?? "empty")", answers)
      }
      return .kept("answered \(answer.fields["result"] ?? "")", answers)
    },
    Promise(
      name: "never-unlocked-while-away", rows: ["L4"], meaning: "While its owner is away nothing opens the door."
    ) { (evidence) throws(MissingMark) in
      let away = try evidence.away()
      let opened = evidence.all("bolt.moved", of: Recorded.lock, in: away).filter { $0.fields["to"] != "locked" }
      guard opened.isEmpty else { return .broken("the bolt opened while the owner was away", opened) }
      return .kept("no movement but the locking")
    },
    Promise(
      name: "every-movement-recorded", rows: ["L5"],
      meaning: "The lock wrote a record for every movement of the bolt before it moved; no two share one."
    ) { (evidence) throws(MissingMark) in
      let moves = evidence.all("bolt.moved", of: Recorded.lock)
      guard !moves.isEmpty else { return .broken("the bolt never moved, so nothing was recorded") }
      var last: Int64?
      for move in moves {
        guard let number = Int64(move.fields["record"] ?? "") else {
          return .broken("a movement has no record", [move])
        }
        if let last, number <= last { return .broken("record \(number) comes after record \(last)", [move]) }
        last = number
      }
      return .kept("\(moves.count) movements, \(moves.count) records", moves)
    },
    Promise(
      name: "nothing-refused", rows: ["L4"], meaning: "The lock refused no command in this story."
    ) { (evidence) throws(MissingMark) in
      let refused = evidence.all("command.refused", of: Recorded.lock)
      guard refused.isEmpty else { return .broken("\(refused.count) commands were refused", refused) }
      guard evidence.first("command.accepted", of: Recorded.lock) != nil else {
        return .broken("the lock was never commanded, so it had nothing to refuse")
      }
      return .kept("none")
    },
  ]
}
