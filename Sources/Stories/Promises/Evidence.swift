import HomePolicy
import Journal
import JournalEvents
import Worlds

/// The records of a story, in order; the part of them that a promise is about; and the machines in the story.
package struct Evidence: Sendable {
  package let entries: [JournalEntry]
  /// The chapter's part of `entries`.
  package let window: Range<Int>
  let machines: [MachineDescription]
  /// The story stopped before its end, so something that has not happened might still have happened.
  let isCutOff: Bool
  /// The machine whose lock the promise is about, if the story has several locks.
  let door: String?
  /// When the window ended, by the world's clock, in nanoseconds; `nil` where only records are known.
  let endsAt: Int64?

  package init(
    _ entries: [JournalEntry], window: Range<Int>? = nil, machines: [MachineDescription], isCutOff: Bool = false,
    door: String? = nil, endsAt: Int64? = nil
  ) {
    self.entries = entries
    self.window = window ?? 0..<entries.count
    self.machines = machines
    self.isCutOff = isCutOff
    self.door = door
    self.endsAt = endsAt
    phones = machines.filter { $0.apps.contains(.agent) }.filter { phone in
      guard let door, !phone.mayKnow(door) else { return true }
      // The phone was invited in the course of the story.
      return entries.contains { $0.process == Recorded.agent && $0.machine == phone.name && $0[.door] == door }
    }.map(\.name)
  }

  // MARK: The machines in the story

  /// Machines with the agent, whose owners come and go.
  let phones: [String]
  /// Machines with a lock.
  var doors: [String] { door.map { [$0] } ?? machines.filter { $0.apps.contains(.lock) }.map(\.name) }

  // MARK: Searching

  /// The range without what comes after the window; the window if no range is given. A range may begin before the
  /// window.
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

  /// The range from here to the window's end.
  func rest(from index: Int) -> Range<Int> { index..<max(index, window.upperBound) }

  // MARK: Findings that depend on how the story ended

  /// What the promise is about did not happen. It is not judged, or not reached if the story stopped before its end.
  func notJudged(_ reason: String, _ lines: [JournalEntry] = []) -> Finding {
    Finding(judgement: isCutOff ? .notReached : .notJudged, reason: reason, evidence: lines)
  }

  /// It can't be judged, however the story might have continued.
  func neverJudged(_ reason: String, _ lines: [JournalEntry] = []) -> Finding {
    Finding(judgement: .notJudged, reason: reason, evidence: lines)
  }

  /// Something that should have followed did not. That breaks the promise, unless the story stopped before there was
  /// time for it, or ended too soon. If a step waited for it in vain, there was time enough.
  func missing(_ reason: String, since index: Int, _ lines: [JournalEntry] = []) -> Finding {
    let waited = first(in: rest(from: index)) { $0.isMark(.waitFailed) } != nil
    if !waited, let next = brokenOff(index) {
      return neverJudged("\(reason), but the way home was broken off", [entries[next]])
    }
    if let endsAt, !isCutOff, !waited, let due = due(index), endsAt < due {
      return notJudged("\(reason), but the end came too soon to tell; let a step wait for it", lines)
    }
    guard isCutOff, !waited else { return .broken(reason, lines) }
    return Finding(judgement: .notReached, reason: "\(reason) before the story stopped", evidence: lines)
  }

  /// By when, in nanoseconds, the consequence of this line has happened if all goes well; `nil` for a line without one.
  private func due(_ index: Int) -> Int64? {
    let entry = entries[index]
    if entry.isMark(.ownerLeft) { return entry.wayEnds + LeavingPromises.lockingTime }
    if entry.isMark(.ownerReturned) { return entry.wayEnds + Self.answerTime }
    if entry.isAgent(.unlockWritten) { return entry.t + Self.answerTime }
    // What died comes back, and talks to the other side again.
    if entry.isMark(.appKilled) || entry.isMark(.daemonKilled) || entry.isDaemon(.requestAbandoned) {
      return entry.t + Self.restartTime
    }
    // A hung lock's system answers for it, and closes what is open when a link is lost.
    if LockFaultPromises.isQuestion(entry) { return LockFaultPromises.answerDue(entry) }
    return entry.isLink(.linkDown) ? entry.t + LockFaultPromises.closingTime : nil
  }

  /// Whether what died with this line need not be back by the other line.
  func isTooSoon(_ index: Int, after death: Int) -> Bool { entries[index].t < entries[death].t + Self.restartTime }

  /// How long a process that was killed may take to be started again and to be at work, in nanoseconds.
  private static let restartTime: Int64 = 60_000_000_000

  /// How long a phone at the door may take to open it and to get the lock's answer, in nanoseconds.
  private static let answerTime = HomeConfiguration().answerPatience.wholeNanoseconds

  /// Why nothing can be said about a lock, or `nil` if one has recorded something.
  var withoutLock: Finding? {
    guard !doors.isEmpty else { return neverJudged("the story has no lock") }
    guard first(in: 0..<window.upperBound, where: { $0.process == Recorded.lock }) != nil else {
      return notJudged("the lock never ran")
    }
    return nil
  }

  /// The bolt's position according to the lock's latest record before this index, or `nil` if there is none.
  func bolt(of door: String, before index: Int) -> String? {
    guard
      let last = last(
        before: index, where: { $0.machine == door && ($0.isLock(.boltMoved) || $0.isLock(.started)) })
    else { return nil }
    return entries[last][entries[last].isLock(.boltMoved) ? .to : .bolt]
  }

  /// Whether this machine had a link, according to the latest record before this index, or `nil` if there is none.
  func isLinked(_ machine: String, before index: Int) -> Bool? {
    last(before: index) { ($0.isLink(.linkUp) || $0.isLink(.linkDown)) && $0.isLink(of: machine) }
      .map { entries[$0].isLink(.linkUp) }
  }

  /// The first step that ends links of these machines, or that their apps notice without a link.
  func disturbance(in range: Range<Int>, of machines: [String]) -> Int? {
    first(in: range) { entry in
      guard machines.contains(entry.machine) else { return false }
      return switch entry.mark {
      case .machineDown, .daemonKilled, .ownerLeft, .ownerReturned, .moved: true
      case .fault: entry.isBluetoothFault
      default: false
      }
    }
  }
}
