import OrderedCollections

/// What is on disk, and what this turn changes of it. Everything written to disk goes through here.
struct Ledger: Sendable {
  private(set) var stored: StoredState
  /// In the order in which records were first changed in this turn.
  private var changes: OrderedDictionary<StoreKey, StoreChange> = [:]

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
    changes[key] = change
  }

  /// The turn's changes: one per record, the last.
  mutating func takeChanges() -> [StoreChange] {
    // A new dictionary, not `removeAll`: a dictionary that keeps the room of one large turn would cost every later turn
    // time.
    defer { changes = [:] }
    guard !changes.isEmpty else { return [] }
    return Array(changes.values)
  }
}
