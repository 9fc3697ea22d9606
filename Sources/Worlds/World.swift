import Journal
import TimeTypes

/// The place of a story: its machines, the air between them, and the time. All calls block, and are made from one
/// thread.
package protocol World: AnyObject {
  var run: RunFolder { get }
  /// The time since the world's beginning.
  var now: Instant { get }
  /// How this world differs from the story's, for the reader of the verdict.
  var remarks: [String] { get }

  /// The calendar time at a moment of the world, in seconds since 1970-01-01 UTC.
  func unixSeconds(at instant: Instant) -> Int64
  /// Gives a phone and a door's lock each other's keys, as `latchkey provision` does, after the world has begun. The
  /// lock knows the phone after its next start.
  func provision(phone: String, at door: String) throws
  /// The apps that `provision` itself ends and starts again, the phone's and the lock's.
  var provisioningRestarts: [InstalledApp] { get }
  /// Starts the machines.
  func boot() throws
  /// Lets these machines take part. They were kept apart during their preparation. Now they can meet the other machines
  /// that take part.
  func meet(_ machines: Set<String>) throws
  /// Returns when everything that has happened so far is recorded.
  func settle() throws
  /// Lets the world run until this time, and calls `stopWhen` whenever something may have happened.
  ///
  /// - Returns: whether `stopWhen` returned true.
  @discardableResult
  func run(until limit: Instant, stopWhen: () throws -> Bool) throws -> Bool
  func machine(_ name: String) throws -> any Machine
  /// Notices processes that ended by themselves, on every machine.
  func tend() throws -> [(machine: String, UnexpectedEnd)]
  /// What was recorded since the last call.
  func readRecords() throws -> [JournalEntry]
  /// How many lines could not be read.
  var damagedLines: Int { get }
}

extension World {
  package func meet(_ machines: Set<String>) {}
  package func unixSeconds(at instant: Instant) -> Int64 {
    unixNanoseconds() / 1_000_000_000 + (instant.nanoseconds - now.nanoseconds) / 1_000_000_000
  }
  package func provision(phone: String, at door: String) throws {
    throw WorldError("\(phone) can't be provisioned in the middle of a story here")
  }
  package var provisioningRestarts: [InstalledApp] { [] }
}
