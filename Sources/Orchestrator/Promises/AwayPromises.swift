import Journal

/// What holds while the owner is away.
enum AwayPromises {
  static let all = [
    Promise(
      name: "request-held", rows: ["L3", "S3", "S8", "C3"],
      meaning: "The connection request is held for days without the app's renewing it, and completes on arrival."
    ) { (evidence) throws(MissingMark) in
      let away = try evidence.away()
      let home = try evidence.home()
      let completed = evidence.all("request.completed", of: Recorded.daemon, in: home).filter {
        $0.concerns(Recorded.agentIdentifier)
      }
      guard let first = completed.first else { return .broken("no request of the agent completed after the return") }
      let early = evidence.all("request.completed", of: Recorded.daemon, in: away).filter {
        $0.concerns(Recorded.agentIdentifier)
      }
      guard early.isEmpty else { return .broken("a request completed while the owner was away", early) }
      guard completed.count == 1 else { return .broken("\(completed.count) requests completed on arrival", completed) }
      // Whoever holds the request: the app must not have been there to ask again.
      let silenced = evidence.first(in: away) {
        ($0.process == Marks.process && [Marks.appKilled, Marks.appReclaimed].contains($0.event)
          && $0.concerns(Recorded.agentIdentifier))
          || ($0.event == "app.suspended" && $0.concerns(Recorded.agentIdentifier))
      }
      guard let silenced else { return .broken("the agent was neither suspended nor killed, so it could have renewed") }
      // By their times, since two processes may write of one moment in either order.
      let active = evidence.all(in: (silenced + 1)..<home.upperBound) {
        $0.process == Recorded.agent && $0.t < first.t
      }
      guard active.isEmpty else {
        return .broken("the agent ran before its request completed, so it could have renewed it", active)
      }
      let held = seconds(from: evidence.entries[silenced], to: first)
      return .kept("completed after \(held) s of silence", [evidence.entries[silenced], first])
    },
    Promise(
      name: "agent-not-running-while-away", rows: ["L3"],
      meaning: "Between its death and the arrival the agent does not run at all."
    ) { (evidence) throws(MissingMark) in
      let away = try evidence.away()
      guard
        let killed = evidence.first(
          in: away,
          where: {
            $0.process == Marks.process && [Marks.appKilled, Marks.appReclaimed].contains($0.event)
              && $0.concerns(Recorded.agentIdentifier)
          })
      else { return .broken("the agent was not killed while the owner was away") }
      let lines = evidence.all(in: (killed + 1)..<away.upperBound) {
        $0.process == Recorded.agent || ($0.event == "app.launched" && $0.concerns(Recorded.agentIdentifier))
      }
      guard lines.isEmpty else { return .broken("the agent ran while its owner was away", lines) }
      return .kept("not one line from it until the arrival", [evidence.entries[killed]])
    },
    Promise(
      name: "daemon-came-back", rows: ["L3"], meaning: "latchkeyd starts again after each time it was killed."
    ) { (evidence) throws(MissingMark) in
      let kills = evidence.window.filter {
        evidence.entries[$0].process == Marks.process && evidence.entries[$0].event == Marks.daemonKilled
      }
      guard !kills.isEmpty else { return .broken("latchkeyd was never killed") }
      var starts: [JournalEntry] = []
      for kill in kills {
        let killed = evidence.entries[kill]
        guard
          let start = evidence.first(
            in: kill..<evidence.window.upperBound,
            where: {
              $0.event == "daemon.started" && $0.process == Recorded.daemon && $0.machine == killed.machine
            })
        else { return .broken("latchkeyd did not come back", [killed]) }
        starts.append(evidence.entries[start])
      }
      return .kept("\(starts.count) times", starts)
    },
    Promise(
      name: "lock-relaunched", rows: ["L1"],
      meaning: "The lock's own system relaunches the lock after its death, and the lock restores what it published."
    ) { (evidence) throws(MissingMark) in
      guard
        let killed = evidence.first(where: {
          $0.process == Marks.process && $0.event == Marks.appKilled && $0.concerns(Recorded.lockIdentifier)
        })
      else { return .broken("the lock was never killed") }
      let after = killed..<evidence.window.upperBound
      guard
        let launched = evidence.first(
          in: after,
          where: {
            $0.event == "app.launched" && $0.process == Recorded.daemon && $0.concerns(Recorded.lockIdentifier)
          })
      else { return .broken("the lock was not relaunched", [evidence.entries[killed]]) }
      // Its first lines may stand before the daemon's own about the launch.
      guard let started = evidence.first("lock.started", of: Recorded.lock, in: after) else {
        return .broken("the relaunched lock did not start", [evidence.entries[launched]])
      }
      let pid = evidence.entries[started].pid
      guard evidence.entries[killed].fields["pid"] != "\(pid)" else {
        return .broken("the lock that runs is the one that was killed", [evidence.entries[started]])
      }
      guard let restored = evidence.first("willRestoreState", of: Recorded.lock, in: after) else {
        return .broken("the relaunched lock restored nothing", [evidence.entries[started]])
      }
      return .kept("relaunched and restored", [launched, restored].map { evidence.entries[$0] })
    },
    Promise(
      name: "away-long-enough", rows: ["L3"],
      meaning: "The owner was away for the scenario's days, by the world's clock."
    ) { (evidence) throws(MissingMark) in
      let away = try evidence.away()
      let left = evidence.entries[away.lowerBound]
      let returned = evidence.entries[away.upperBound]
      guard let wanted = Int64(returned.fields["away.at-least"] ?? "") else {
        return .broken("the return does not say how long the owner was to be away", [returned])
      }
      let took = returned.t - left.t
      guard took >= wanted else { return .broken("away for \(took / 1_000_000_000) s only", [left, returned]) }
      return .kept("away for \(seconds(from: left, to: returned)) s", [left, returned])
    },
  ]
}
