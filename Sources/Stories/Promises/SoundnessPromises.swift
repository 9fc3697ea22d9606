import Journal
import JournalEvents

/// What holds in every story.
enum SoundnessPromises {
  static let all = [
    Promise(
      name: "nothing-crashed", rows: ["H1"],
      meaning: "No process of the world ended by itself, and only steps of the story ended one: no app, no "
        + "latchkeyd, no bus, no Bluetooth.", isAboutDoors: false
    ) { evidence in
      if let finding = silent(evidence) { return finding }
      let ends = evidence.unexplainedEnds().filter { evidence.window.contains($0.index) }
      guard ends.isEmpty else {
        var lines: [JournalEntry] = []
        for end in ends {
          lines.append(evidence.entries[end.index])
          for word in evidence.lastWords(before: end) where !lines.contains(word) { lines.append(word) }
        }
        func who(_ ends: [Evidence.UnexplainedEnd]) -> String {
          Set(ends.map { end in end.because.map { "\(end.what), which \($0)" } ?? end.what }).sorted()
            .joined(separator: ", ")
        }
        let (own, systems) = (ends.filter { $0.because == nil }, ends.filter { $0.because != nil })
        var parts: [String] = []
        if own.count == 1 { parts.append("1 process ended by itself: \(who(own))") }
        if own.count > 1 { parts.append("\(own.count) processes ended by themselves: \(who(own))") }
        if !systems.isEmpty {
          parts.append("\(count(systems.count, "process", plural: "processes")) ended by the system: \(who(systems))")
        }
        return .broken(parts.joined(separator: "; "), lines)
      }
      return .kept("none")
    },
    Promise(
      name: "told-nothing-twice", rows: ["S10"],
      meaning: "The agent is told of each connection once: connections and disconnections alternate.",
      isAboutDoors: false
    ) { evidence in
      /// The process that is told, and the peripheral that it is told about.
      struct Listener: Hashable {
        var machine: String
        var pid: Int32
        var peripheral: String?
        /// The door that the record names, on a phone with several doors.
        var door: String?
      }
      var latest: [Listener: JournalEntry] = [:]
      var told: [JournalEntry] = []
      for entry in evidence.entries[evidence.window] where entry.process == Recorded.agent {
        if entry.isAgent(.stateUpdated) {
          // When the radio goes off, its links end without being reported.
          latest = latest.filter { $0.key.machine != entry.machine || $0.key.pid != entry.pid }
        }
        guard entry.isAgent(.didConnect) || entry.isAgent(.didDisconnect) else { continue }
        let listener = Listener(
          machine: entry.machine, pid: entry.pid, peripheral: entry[.peripheral], door: entry[.door])
        if let earlier = latest[listener], earlier.event == entry.event {
          return .broken("\(entry.event ?? "") twice in a row", [earlier, entry])
        }
        latest[listener] = entry
        told.append(entry)
      }
      guard !told.isEmpty else {
        return evidence.phones.isEmpty
          ? evidence.neverJudged("no phone in the story has the agent")
          : evidence.notJudged("the agent was told of no connection")
      }
      return .kept("\(count(told.count, "event")), each once", told)
    },
    Promise(
      name: "no-errors-logged", rows: ["H1"], meaning: "No process logged an error.", isAboutDoors: false
    ) { evidence in
      if let finding = silent(evidence) { return finding }
      let errors = evidence.all { ["error", "critical"].contains($0.level) && $0.process != Recorded.orchestrator }
      guard errors.isEmpty else {
        return .broken("\(count(errors.count, "error")) \(errors.count == 1 ? "was" : "were") logged", errors)
      }
      return .kept("none")
    },
  ]

  /// Why there is nothing to judge, or `nil` if there was a process that could crash and write records.
  private static func silent(_ evidence: Evidence) -> Finding? {
    let range = 0..<evidence.window.upperBound
    // A system that could not even start counts as ended.
    if evidence.first(in: range, where: { $0.isMark(.processFailed) }) != nil { return nil }
    guard evidence.first(in: range, where: { $0.process == Recorded.daemon }) != nil else {
      return evidence.notJudged("no process of the world has recorded anything")
    }
    return nil
  }
}
