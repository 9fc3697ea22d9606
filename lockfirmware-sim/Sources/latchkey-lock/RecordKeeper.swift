import LockFirmware

/// Stores the firmware's records in their order. When one can't be stored, none after it is tried until the firmware knows: it
/// takes the numbers of all of them back, and begins again with the first.
struct RecordKeeper {
  private var failed: UInt64?

  /// - Parameter store: makes it durable, or throws.
  /// - Returns: what has happened, for the firmware; `nil` if it is told already of an earlier record.
  mutating func keep(_ record: LockRecord, _ store: (LockRecord) throws -> Void) -> LockEvent? {
    guard failed == nil else { return nil }
    do { try store(record) } catch {
      failed = record.index
      return .recordFailed(record.index)
    }
    return .recordAppended(record.index)
  }

  /// The firmware is about to be told of this event. What it does then is about new records.
  mutating func tells(_ event: LockEvent) { if case .recordFailed = event { failed = nil } }
}
