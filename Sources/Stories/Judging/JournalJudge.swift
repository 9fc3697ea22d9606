import Journal
import JournalEvents
import TimeTypes
import Worlds

/// Judges a story that did not run here, by the journals of its machines. Promises and checks are the same as for a
/// story that runs here.
package struct JournalJudge {
  private let scenario: Scenario
  private let journals: [ExportedJournal]
  private let entries: [JournalEntry]
  private let remarks: [String]

  /// - Throws: `ScenarioError` if a machine has no journal, `JournalExportError` if the journals don't belong together or
  ///   tell no story.
  package static func judge(_ scenario: Scenario, _ journals: [ExportedJournal]) throws -> Report {
    try check(journals.map(\.machine), of: scenario)
    return try JournalJudge(scenario, journals).report()
  }

  /// - Throws: `ScenarioError` if these are not the scenario's machines, each once.
  package static func check(_ machines: [String], of scenario: Scenario) throws(ScenarioError) {
    let known = scenario.machines.map(\.name)
    for (index, machine) in machines.enumerated() {
      guard known.contains(machine) else {
        throw ScenarioError(
          file: scenario.name, line: nil, problem: "the scenario has no machine '\(machine)'", choices: known)
      }
      guard !machines[..<index].contains(machine) else {
        throw ScenarioError(file: scenario.name, line: nil, problem: "machine '\(machine)' has two journals")
      }
    }
    if let missing = known.first(where: { !machines.contains($0) }) {
      throw ScenarioError(
        file: scenario.name, line: nil, problem: "machine '\(missing)' has no journal: --journal \(missing)=FILE")
    }
  }

  private init(_ scenario: Scenario, _ journals: [ExportedJournal]) throws(JournalExportError) {
    self.scenario = scenario
    try Self.checkTogether(journals)
    for journal in journals { try Self.check(marksOf: journal, scenario) }
    (self.journals, remarks) = try MachineClocks.align(journals, scenario.machines)
    // The sort is stable: what one machine did in one moment stays in its order.
    let all = self.journals.flatMap(\.entries)
    entries = Self.withoutExpectedEnds(
      all.enumerated().sorted { ($0.element.t, $0.offset) < ($1.element.t, $1.offset) }.map(\.element))
  }

  /// Refuses journals that share a line, because that line would count as two events.
  private static func checkTogether(_ journals: [ExportedJournal]) throws(JournalExportError) {
    for (index, journal) in journals.enumerated() {
      for earlier in journals[..<index] where !earlier.cursors.isDisjoint(with: journal.cursors) {
        throw JournalExportError(
          file: journal.file, line: nil,
          problem: "has lines that \(earlier.file) has, too: a journal must have only its own machine's lines")
      }
    }
  }

  /// The recorded steps must be in the vocabulary, because a misspelt one would not count.
  private static func check(marksOf journal: ExportedJournal, _ scenario: Scenario) throws(JournalExportError) {
    func refusal(_ problem: String, _ choices: [String]) -> JournalExportError {
      JournalExportError(
        file: journal.file, line: nil, problem: "\(problem) (valid: \(choices.joined(separator: ", ")))")
    }
    for entry in journal.entries where entry.process == Recorded.orchestrator {
      guard let event = entry.mark else {
        let names = Set(Recorded.Story.allCases.map(\.rawValue))
        throw refusal(
          "the orchestrator records no event '\(entry.event ?? "")'",
          EventNames.nearest(to: entry.event ?? "", among: names))
      }
      let fields = Set(event.fields.map(\.rawValue))
      if let field = entry.fields.keys.sorted().first(where: { !fields.contains($0) }) {
        throw refusal("the event '\(event.rawValue)' has no field '\(field)'", fields.sorted())
      }
      let machines = scenario.machines.map(\.name)
      guard entry.machine.isEmpty || machines.contains(entry.machine) else {
        throw refusal(
          "'\(event.rawValue)' is about a machine '\(entry.machine)', which is not in the scenario", machines)
      }
    }
  }

  /// How long after a step, in nanoseconds, systemd may still report the end that the step caused.
  private static let endDelay: Int64 = 60_000_000_000

  /// Leaves out the ends that steps of the story caused. systemd reports every end that was not orderly, but those are
  /// no failures.
  private static func withoutExpectedEnds(_ entries: [JournalEntry]) -> [JournalEntry] {
    struct Part: Hashable {
      var machine: String
      var isDaemon: Bool
    }
    // When each part was last ended by a step, while that end has not been reported yet.
    var deeds: [Part: Int64] = [:]
    var down: Set<String> = []
    return entries.filter { entry in
      switch entry.mark {
      case .daemonKilled: deeds[Part(machine: entry.machine, isDaemon: true)] = entry.t
      case .fault: deeds[Part(machine: entry.machine, isDaemon: false)] = entry.t
      case .machineDown: down.insert(entry.machine)
      case .machineUp: down.remove(entry.machine)
      case .processFailed:
        let part = Part(machine: entry.machine, isDaemon: entry[.program] == Recorded.daemon)
        if down.contains(entry.machine) { return false }
        if let deed = deeds.removeValue(forKey: part), entry.t - deed <= endDelay { return false }
      default: break
      }
      return true
    }
  }

  // MARK: Judging

  /// The indices at which the story's chapters begin.
  private func beginnings() throws -> [Int] {
    let beginnings = entries.indices.filter { entries[$0].isMark(.chapterBegan) }
    let told = beginnings.map { entries[$0][.name] ?? "" }
    let written = scenario.chapters.map(\.name)
    guard !told.isEmpty else {
      throw JournalExportError(
        file: journals.map(\.file).joined(separator: ", "), line: nil,
        problem: "no line records that a chapter began (chapter.began); the program that runs the story must record it")
    }
    for (index, name) in told.enumerated() where index >= written.count || written[index] != name {
      let place = "\(Instant(nanoseconds: entries[beginnings[index]].t - entries[beginnings[0]].t)) after the first"
      guard !told[..<index].contains(name) else {
        throw JournalExportError(
          file: scenario.name, line: nil,
          problem:
            "the chapter '\(name)' begins a second time, \(place): a journal has one story, so export the time of "
            + "that one alone, with journalctl's --since and --until")
      }
      throw ScenarioError(
        file: scenario.name, line: nil,
        problem: "the journals have a chapter '\(name)'" + (index == 0 ? "" : ", \(place),")
          + " where the scenario has " + (index < written.count ? "'\(written[index])'" : "no other"), choices: written)
    }
    return beginnings
  }

  private func report() throws -> Report {
    let beginnings = try beginnings()
    let story = beginnings[0]..<entries.count
    var verdict = Verdict()
    var remarks = remarks
    var undone = 0
    let problem = problem(chaptersBegun: beginnings.count)
    for (index, chapter) in scenario.chapters.prefix(beginnings.count).enumerated() {
      let isLast = index == beginnings.count - 1
      let window = beginnings[index]..<(isLast ? entries.count : beginnings[index + 1])
      let evidence = evidence(window, isCutOff: isLast && problem != nil)
      for step in chapter.steps {
        guard case .check(let references) = step.action else { continue }
        verdict.judge(
          references, evidence, scope: Verdict.scope(of: step),
          unjudged: "a journal does not record when this was checked")
      }
      verdict.judge(chapter.promises, evidence, scope: chapter.name)
      let missing = DeedsTold.missing(from: entries[window].filter { $0.mark != nil }, of: chapter)
      undone += missing.count
      remarks += missing.map { step in
        "\(Verdict.place(of: step)), \(step.action.summary): not recorded"
      }
    }
    for chapter in scenario.chapters.dropFirst(beginnings.count) { verdict.skip(chapter) }
    verdict.judge(scenario.promises, evidence(story, isCutOff: problem != nil), scope: Verdict.wholeRun)
    return makeReport(verdict, story, problem, remarks, undone)
  }

  /// Why the story stopped before its end, or `nil` if it reached its end.
  private func problem(chaptersBegun: Int) -> String? {
    if let last = entries.last(where: { $0.mark != nil }), last.isMark(.waitFailed) { return last.message }
    guard chaptersBegun < scenario.chapters.count else { return nil }
    return "the journals end before the chapter '\(scenario.chapters[chaptersBegun].name)' begins"
  }

  private func evidence(_ window: Range<Int>, isCutOff: Bool) -> Evidence {
    Evidence(entries, window: window, machines: scenario.machines, isCutOff: isCutOff)
  }

  private func makeReport(
    _ verdict: Verdict, _ story: Range<Int>, _ problem: String?, _ remarks: [String], _ undone: Int
  ) -> Report {
    // The story's time begins with it.
    let beginning = entries[story.lowerBound].t
    func told(_ entry: JournalEntry) -> JournalEntry {
      var entry = entry
      entry.t -= beginning
      return entry
    }
    let promises = verdict.promises.map { promise in
      var promise = promise
      promise.evidence = promise.evidence.map(told)
      return promise
    }
    let seconds = Double(entries[entries.count - 1].t - beginning) / 1e9
    return Report(
      scenario: scenario.name, title: scenario.title, seed: scenario.seed, days: scenario.days,
      kept: verdict.isKept(problem: problem), problem: problem, remarks: remarks, stepsNotDone: undone,
      promises: promises, timeline: Report.timeline(of: entries[story].map(told)), radio: .init(digest: "", events: 0),
      journals: Dictionary(uniqueKeysWithValues: journals.map { ($0.machine, $0.file) }), virtualSeconds: seconds,
      wallSeconds: seconds, beganAt: beginning, stage: scenario.machines.map { Report.StageMachine($0) },
      damagedLines: 0)
  }
}
