import Journal
import TimeTypes

/// Where a story happens: its machines, the air between them, and the time. All calls block, and are made from one
/// thread.
package protocol World: AnyObject {
  var run: RunFolder { get }
  /// Since the world's beginning.
  var now: Instant { get }
  /// What a person reads in the verdict of how this world differs from the story's.
  var remarks: [String] { get }

  /// Starts the machines.
  func boot() throws
  /// The story begins to do things: machines that were kept apart while they were prepared can meet from now on.
  func meet() throws
  /// Returns when all that happened up to now is recorded.
  func settle() throws
  /// Lets the world live until then, looking whenever something may have happened whether to stop.
  ///
  /// - Returns: whether `stopWhen` said so.
  @discardableResult
  func run(until limit: Instant, stopWhen: () throws -> Bool) throws -> Bool
  func machine(_ name: String) throws -> any Machine
  /// Notices what ended by itself, on every machine.
  func tend() throws -> [(machine: String, UnexpectedEnd)]
  /// What was recorded since the last call.
  func readRecords() throws -> [JournalEntry]
  /// Lines that could not be read.
  var damagedLines: Int { get }
}

extension World {
  package func meet() {}
}
