import BluetoothSystem
import OrderedCollections
import TimeTypes

/// What is still to be written, and when to try again: pure, told of the time and of how a write went.
///
/// A store that can't be written ends nothing. What happened in the world stays true and is written when that is
/// possible; what somebody asked for is not promised before it is.
struct StoreLedger {
  /// Why the store can't be written; `nil`: it can, as far as is known.
  private(set) var trouble: String?
  /// When the next attempt is due; `nil`: there is no trouble.
  private(set) var retryAt: Instant?
  private var attempts = 0
  private var unwritten: OrderedDictionary<StoreKey, StoreChange> = [:]

  /// The first attempt comes after this, and each after twice the time of the one before.
  static let firstDelay = Duration.milliseconds(100)
  static let longestDelay = Duration.seconds(30)

  /// Changes that wait, each key once: no more than the store has records.
  var changes: [StoreChange] { Array(unwritten.values) }
  var count: Int { unwritten.count }

  /// Whether a write may be tried now.
  func mayWrite(at now: Instant) -> Bool { retryAt.map { now >= $0 } ?? true }

  mutating func keep(_ changes: [StoreChange]) {
    for change in changes { unwritten[change.key] = change }
  }

  /// The changes that waited are on disk, and somebody still waits to be served: the next attempt may be at once.
  mutating func written(at now: Instant) {
    unwritten = [:]
    if trouble != nil { retryAt = now }
  }

  /// Everything that waited is on disk, and nobody waits.
  /// - Returns: what the trouble had been, where this ends one.
  mutating func succeeded() -> String? {
    defer { self = StoreLedger() }
    return trouble
  }

  /// - Returns: whether this is a trouble that was not known.
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

  /// Whether it changes what was promised to somebody, and not only what the system knows of its apps' processes.
  var isOfPromise: Bool { key.kind != .app }
}
