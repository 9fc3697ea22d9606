import Journal
import JournalEvents
import Worlds

/// What was recorded, in order, the part of it that a promise is about, and who is in the story.
package struct Evidence: Sendable {
  package let entries: [JournalEntry]
  /// The chapter's part of `entries`.
  package let window: Range<Int>
  let machines: [MachineDescription]
  /// The story stopped before its end: what has not happened might still have.
  let isCutOff: Bool

  package init(
    _ entries: [JournalEntry], window: Range<Int>? = nil, machines: [MachineDescription], isCutOff: Bool = false
  ) {
    self.entries = entries
    self.window = window ?? 0..<entries.count
    self.machines = machines
    self.isCutOff = isCutOff
  }

  // MARK: Who is in the story

  /// Machines whose owners come and go: those with the agent.
  var phones: [String] { machines.filter { $0.apps.contains(.agent) }.map(\.name) }
  /// Machines with a lock.
  var doors: [String] { machines.filter { $0.apps.contains(.lock) }.map(\.name) }

  // MARK: Looking

  /// The window where no range is given. A range may begin before the window, and never ends after it.
  private func bounded(_ range: Range<Int>?) -> Range<Int> { range?.clamped(to: 0..<window.upperBound) ?? window }

  func first(in range: Range<Int>? = nil, where matches: (JournalEntry) -> Bool) -> Int? {
    entries[bounded(range)].firstIndex(where: matches)
  }

  func firstMark(_ event: Recorded.Story, in range: Range<Int>? = nil) -> Int? { first(in: range) { $0.isMark(event) } }

  func last(before end: Int, where matches: (JournalEntry) -> Bool) -> Int? {
    entries[..<min(end, window.upperBound)].lastIndex(where: matches)
  }

  func all(in range: Range<Int>? = nil, where matches: (JournalEntry) -> Bool) -> [JournalEntry] {
    entries[bounded(range)].filter(matches)
  }

  func indices(in range: Range<Int>? = nil, where matches: (JournalEntry) -> Bool) -> [Int] {
    bounded(range).filter { matches(entries[$0]) }
  }

  /// Nothing after this has happened yet.
  func rest(from index: Int) -> Range<Int> { index..<max(index, window.upperBound) }

  // MARK: Findings that depend on how the story ended

  /// What the promise is about did not happen: it is not judged, or not reached where the story stopped before its end.
  func notJudged(_ reason: String, _ lines: [JournalEntry] = []) -> Finding {
    Finding(judgement: isCutOff ? .notReached : .notJudged, reason: reason, evidence: lines)
  }

  /// It can't be judged, however the story had gone on.
  func neverJudged(_ reason: String, _ lines: [JournalEntry] = []) -> Finding {
    Finding(judgement: .notJudged, reason: reason, evidence: lines)
  }

  /// What should have followed did not. It is broken by that, unless the story stopped before it had its time: a wait in
  /// vain is time enough.
  func missing(_ reason: String, since index: Int, _ lines: [JournalEntry] = []) -> Finding {
    let waited = first(in: rest(from: index)) { $0.isMark(.waitFailed) } != nil
    guard isCutOff, !waited else { return .broken(reason, lines) }
    return Finding(judgement: .notReached, reason: "\(reason) before the story stopped", evidence: lines)
  }

  /// `nil` where there is a lock that could be looked at: one that said that it started.
  var withoutLock: Finding? {
    guard !doors.isEmpty else { return neverJudged("the story has no lock") }
    guard first(in: 0..<window.upperBound, where: { $0.process == Recorded.lock }) != nil else {
      return notJudged("the lock never ran")
    }
    return nil
  }

  /// Where the bolt was, by the lock's latest word before that; `nil` where it had not said anything.
  func bolt(of door: String, before index: Int) -> String? {
    guard
      let last = last(
        before: index, where: { $0.machine == door && ($0.isLock(.boltMoved) || $0.isLock(.started)) })
    else { return nil }
    return entries[last][entries[last].isLock(.boltMoved) ? .to : .bolt]
  }

  /// Whether this machine had a link, by the latest word about its links before that; `nil` where there was none.
  func isLinked(_ machine: String, before index: Int) -> Bool? {
    last(before: index) { ($0.isLink(.linkUp) || $0.isLink(.linkDown)) && $0.isLink(of: machine) }
      .map { entries[$0].isLink(.linkUp) }
  }
}
