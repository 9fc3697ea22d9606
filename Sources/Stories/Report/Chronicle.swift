import Foundation
import Glibc
import Journal
import JournalEvents
import TimeTypes
import Worlds

/// Everything that was recorded in a run, in order: the processes' journal, with the orchestrator's own marks in
/// between.
struct Chronicle {
  private(set) var entries: [JournalEntry] = []
  /// How many entries `newInOrder` has returned.
  private var passedOn = 0
  private let world: any World
  /// When the run began, in Unix nanoseconds.
  let beginning: Int64

  init(_ world: any World) {
    self.world = world
    beginning = unixNanoseconds()
  }

  /// Reads what the processes have written. Returns the index of the first new entry.
  @discardableResult
  mutating func readNew() throws -> Int {
    let first = entries.count
    entries += try world.readRecords()
    return first
  }

  /// Records what the orchestrator did, after everything recorded before.
  mutating func mark(
    _ event: Recorded.Story, at now: Instant, machine: String = "", message: String,
    fields: [JournalField: String] = [:]
  ) throws {
    assert(event.fields.isSuperset(of: fields.keys), "\(event) has a field that the vocabulary does not know")
    try readNew()
    let entry = JournalEntry(
      t: now.nanoseconds, wall: unixNanoseconds(), machine: machine, process: Recorded.orchestrator, pid: getpid(),
      level: "notice", event: event.rawValue, message: message, fields: fields.named)
    entries.append(entry)
  }

  /// The same entries, sorted by time between one mark and the next, because lines from machines arrive late. A mark
  /// stays where it was made, after everything recorded before it.
  func inOrder() -> [JournalEntry] { Self.inOrder(entries[...]) }

  /// The entries since the last call, sorted in the same way.
  mutating func newInOrder() -> [JournalEntry] {
    defer { passedOn = entries.count }
    return Self.inOrder(entries[passedOn...])
  }

  private static func inOrder(_ entries: ArraySlice<JournalEntry>) -> [JournalEntry] {
    var ordered: [JournalEntry] = []
    ordered.reserveCapacity(entries.count)
    for part in entries.split(omittingEmptySubsequences: false, whereSeparator: { $0.process == Recorded.orchestrator })
    {
      if part.startIndex > entries.startIndex { ordered.append(entries[part.startIndex - 1]) }
      // A stable sort, so that one process's events of the same moment stay in order.
      ordered += part.enumerated().sorted { ($0.element.t, $0.offset) < ($1.element.t, $1.offset) }.map(\.element)
    }
    return ordered
  }
}
