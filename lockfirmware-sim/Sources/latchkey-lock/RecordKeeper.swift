import LockFirmware

/// Stores the firmware's records in order. After a record that can't be stored, no other is tried until the firmware
/// knows of it. The firmware then takes back the numbers of all of them, and begins again with the first.
struct RecordKeeper {
  private var failed: UInt64?

  /// - Parameter store: makes the record durable, or throws.
  /// - Returns: the event for the firmware, or `nil` if the firmware is about to be told of an earlier record that
  ///   failed.
  mutating func keep(_ record: LockRecord, _ store: (LockRecord) throws -> Void) -> LockEvent? {
    guard failed == nil else { return nil }
    do { try store(record) } catch {
      failed = record.index
      return .recordFailed(record.index)
    }
    return .recordAppended(record.index)
  }

  /// The firmware is about to be told of this event. Records that it makes afterwards are new ones.
  mutating func tells(_ event: LockEvent) { if case .recordFailed = event { failed = nil } }
}
