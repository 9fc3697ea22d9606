import FoundationEssentials

/// The store's format: of its records and of its tables, with one number for both.
///
/// A change that an older latchkeyd may ignore is a new optional member of a record's `OnDisk`, with a comment that
/// says what a missing value means. It needs no new number.
///
/// Any other change is a new format: a member that is renamed, is no longer written, or means something else; a new
/// kind of record; a new word in a member's vocabulary; new tables. It takes three steps:
/// 1. Increase `current` by one.
/// 2. Add a step to `steps` that converts rows of the previous format to the new one. It works on JSON and uses
///    nothing that may change later, so it is never edited again. Tables change in
///    `LatchkeyDaemon/StoreTables.swift`.
/// 3. Add a golden store of the new format to `Tests/LatchkeyDaemonTests/Stores`. The existing ones stay.
package enum StoreFormat {
  /// The format that this program writes.
  package static let current = 2

  /// `steps[0]` leads from format 1 to 2, and so on.
  private static let steps: [@Sendable (StoredRow) throws -> StoredRow] = [FormatOne.upgrade]

  /// Brings a row to the current format.
  /// - Parameter format: the row's format, from 1 to `current`.
  /// - Throws: which record is damaged, and how.
  package static func upgrade(_ row: StoredRow, from format: Int) throws(StoredRecordError) -> StoredRow {
    guard (1...current).contains(format) else {
      throw StoredRecordError("\(row.title) is of format \(format), and 1 to \(current) are known")
    }
    var upgraded = row
    for step in steps.dropFirst(format - 1) {
      do { upgraded = try step(upgraded) } catch {
        throw StoredRecordError("\(row.title) can't be read: \(explanation(of: error))")
      }
    }
    return upgraded
  }
}
