import Foundation
import Glibc
import Journal
import JournalEvents
import TimeTypes
import Worlds

/// Everything that was recorded in a run, in order: the processes' journal, and the orchestrator's own marks between.
struct Chronicle {
  private(set) var entries: [JournalEntry] = []
  private let world: any World
  /// When the run began, in Unix nanoseconds.
  let beginning: Int64

  init(_ world: any World) {
    self.world = world
    beginning = unixNanoseconds()
  }

  /// Takes over what the processes have written; the first of the new ones.
  @discardableResult
  mutating func readNew() throws -> Int {
    let first = entries.count
    entries += try world.readRecords()
    return first
  }

  /// Puts on record what the orchestrator did, after all that was recorded before.
  @discardableResult
  mutating func mark(
    _ event: Recorded.Story, at now: Instant, machine: String = "", message: String,
    fields: [JournalField: String] = [:]
  ) throws -> JournalEntry {
    assert(event.fields.isSuperset(of: fields.keys), "\(event) has a field that the vocabulary does not know")
    try readNew()
    let entry = JournalEntry(
      t: now.nanoseconds, wall: unixNanoseconds(), machine: machine, process: Recorded.orchestrator, pid: getpid(),
      level: "notice", event: event.rawValue, message: message, fields: fields.named)
    entries.append(entry)
    return entry
  }

  /// The same entries, in the order of their times between one mark and the next: machines tell of what happened as
  /// their lines arrive. A mark stands where it was made, after all that was recorded before it.
  func inOrder() -> [JournalEntry] {
    var ordered: [JournalEntry] = []
    ordered.reserveCapacity(entries.count)
    for part in entries.split(omittingEmptySubsequences: false, whereSeparator: { $0.process == Recorded.orchestrator })
    {
      if part.startIndex > 0 { ordered.append(entries[part.startIndex - 1]) }
      // Stable, so that what one process did in a moment stays in its order.
      ordered += part.enumerated().sorted { ($0.element.t, $0.offset) < ($1.element.t, $1.offset) }.map(\.element)
    }
    return ordered
  }
}
