import LockProtocol

/// The latest operations and what became of them, so that one asked for twice moves the bolt once.
struct OperationMemory: Sendable {
  /// One operation of one phone: phones choose their numbers independently.
  struct Key: Equatable, Sendable {
    var phone: [UInt8]
    var operation: UInt64
  }

  private struct Entry: Sendable {
    var key: Key
    /// `nil` while it is under way.
    var result: LockResult?
  }

  private var entries: [Entry] = []

  func knows(_ key: Key) -> Bool { entries.contains { $0.key == key } }

  /// What became of it; `nil` where it is unknown or under way.
  func result(of key: Key) -> LockResult? { entries.first { $0.key == key }?.result }

  /// Notes an operation, or what became of it. The oldest that is over makes room.
  mutating func remember(_ key: Key, _ result: LockResult?) {
    if let index = entries.firstIndex(where: { $0.key == key }) {
      entries[index].result = result
      return
    }
    if entries.count >= LockLimit.operations, let oldest = entries.firstIndex(where: { $0.result != nil }) {
      entries.remove(at: oldest)
    }
    entries.append(Entry(key: key, result: result))
  }

  mutating func forget(_ key: Key) { entries.removeAll { $0.key == key } }
}
