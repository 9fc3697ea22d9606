import LockProtocol

/// The latest operations and their outcomes, so that an operation sent twice moves the bolt once.
struct OperationMemory: Sendable {
  /// One operation of one phone. Phones choose their numbers independently.
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
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  func knows(_ key: Key) -> Bool { entries.contains { $0.key == key } }

  /// Its outcome, or `nil` if it is unknown or under way.
  func result(of key: Key) -> LockResult? { entries.first { $0.key == key }?.result }

  /// Stores an operation, or its outcome. To make room, the oldest finished operation of the phone with the most
  /// operations is removed, so one phone can't push out another's.
  mutating func remember(_ key: Key, _ result: LockResult?) {
    if let index = entries.firstIndex(where: { $0.key == key }) {
      entries[index].result = result
      return
    }
    var key = key
    // The phone's bytes are shared, because a board has little memory.
    if let known = entries.first(where: { $0.key.phone == key.phone }) { key.phone = known.key.phone }
    entries.append(Entry(key: key, result: result))
    guard entries.count > limit else { return }
    // The new one stays in any case.
    let others = entries.indices.dropLast().filter { entries[$0].result != nil }
    let counts = others.map { index in entries.count { $0.key.phone == entries[index].key.phone } }
    guard let most = counts.max(), let oldest = zip(others, counts).first(where: { $0.1 == most })?.0 else { return }
    entries.remove(at: oldest)
  }

  mutating func forget(_ key: Key) { entries.removeAll { $0.key == key } }
}
