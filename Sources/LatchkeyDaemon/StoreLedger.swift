import BluetoothSystem
import OrderedCollections
import TimeTypes

/// What is still to be written, and when to try again. It is pure: it is told the time and the result of each write.
///
/// A store that can't be written does not stop the system. What has happened stays true and is written when that
/// becomes possible. What was asked for is not promised until then.
struct StoreLedger {
  /// Why the store can't be written, or `nil` if it can, as far as is known.
  private(set) var trouble: String?
  /// When the next attempt is due, or `nil` if there is no problem.
  private(set) var retryAt: Instant?
  private var attempts = 0
  private var unwritten: OrderedDictionary<StoreKey, StoreChange> = [:]

  /// The delay before the first attempt. Each later delay is twice as long as the one before.
  static let firstDelay = Duration.milliseconds(100)
  static let longestDelay = Duration.seconds(30)

  /// Changes that wait, one per key, so there are never more than the store has records.
  var changes: [StoreChange] { Array(unwritten.values) }
  var count: Int { unwritten.count }

  /// Whether a write may be tried now.
  func mayWrite(at now: Instant) -> Bool { retryAt.map { now >= $0 } ?? true }

  mutating func keep(_ changes: [StoreChange]) {
    for change in changes { unwritten[change.key] = change }
  }

  /// The waiting changes are on disk, but requests still wait, so the next attempt may be made at once.
  mutating func written(at now: Instant) {
    unwritten = [:]
    if trouble != nil { retryAt = now }
  }

  /// Everything is on disk, and no request waits.
  /// - Returns: the problem that this ends, or `nil`.
  mutating func succeeded() -> String? {
    defer { self = StoreLedger() }
    return trouble
  }

  /// - Returns: whether this is a new problem.
  mutating func failed(_ reason: String, at now: Instant) -> Bool {
    defer { trouble = reason }
    var delay = Self.firstDelay
    for _ in 0..<min(attempts, 10) { delay = min(delay * 2, Self.longestDelay) }
    attempts += 1
    retryAt = now + delay
    return trouble != reason
  }
}

extension StoreChange {
  var key: StoreKey {
    switch self {
    case .put(let record): record.key
    case .remove(let key): key
    }
  }

  /// Whether it changes something that was promised, and not only what the system knows about its apps' processes.
  var isOfPromise: Bool { key.kind != .app }
}
