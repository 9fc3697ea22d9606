import Journal

/// What holds in every story.
enum SoundnessPromises {
  static let all = [
    Promise(
      name: "nothing-crashed", rows: ["H1"], meaning: "No process of the world ended by itself; only faults ended any."
    ) { (evidence) throws(MissingMark) in
      let failed = evidence.all(Marks.processFailed, of: Marks.process)
      guard failed.isEmpty else { return .broken("\(failed.count) processes ended by themselves", failed) }
      return .kept("none")
    },
    Promise(
      name: "told-nothing-twice", rows: ["S10"],
      meaning: "The agent is told of each connection once: connections and disconnections alternate."
    ) { (evidence) throws(MissingMark) in
      let told = evidence.all { $0.process == Recorded.agent && ["didConnect", "didDisconnect"].contains($0.event) }
      guard !told.isEmpty else { return .broken("the agent was told of no connection") }
      for (earlier, later) in zip(told, told.dropFirst())
      where earlier.pid == later.pid && earlier.event == later.event
        && earlier.fields["peripheral"] == later.fields["peripheral"]
      {
        return .broken("\(later.event ?? "") twice in a row", [earlier, later])
      }
      return .kept("\(told.count) events, each once", told)
    },
    Promise(
      name: "no-errors-logged", rows: ["H1"], meaning: "No process logged an error."
    ) { (evidence) throws(MissingMark) in
      let errors = evidence.all { ["error", "critical"].contains($0.level) && $0.process != Marks.process }
      guard errors.isEmpty else { return .broken("\(errors.count) errors were logged", errors) }
      return .kept("none")
    },
  ]
}
