/// What is on disk, and what this turn changes of it. Everything written to disk goes through here.
struct Ledger: Sendable {
  private(set) var stored: StoredState
  private var changes: [StoreKey: StoreChange] = [:]
  /// The order in which records were first changed in this turn.
  private var order: [StoreKey] = []

  init(_ stored: StoredState) { self.stored = stored }

  /// An unchanged record is not written again.
  mutating func put(_ record: StoredRecord) {
    guard stored.records[record.key] != record else { return }
    change(record.key, .put(record))
  }

  mutating func erase(_ key: StoreKey) {
    guard stored.records[key] != nil else { return }
    change(key, .remove(key))
  }

  private mutating func change(_ key: StoreKey, _ change: StoreChange) {
    stored.apply(change)
    if changes.updateValue(change, forKey: key) == nil { order.append(key) }
  }

  /// The turn's changes: one per record, the last.
  mutating func takeChanges() -> [StoreChange] {
    defer {
      changes.removeAll(keepingCapacity: true)
      order.removeAll(keepingCapacity: true)
    }
    return order.compactMap { changes[$0] }
  }
}
