import LockProtocol

/// The records of a log that a start needs however old they are: where the bolt went last, whether it arrived, and which alarms about
/// the door stand. Records of other things, which anybody may cause, push them out of the newest ones.
package struct LockLandmarks: Equatable, Sendable {
  private var movement: LockRecord?
  private var outcome: LockRecord?
  private var locking: LockRecord?
  /// The first phone since the movement that wanted the bolt unlocked and found it so.
  private var found: LockRecord?
  private var reset: LockRecord?
  private var forced: LockRecord?
  private var ajar: LockRecord?

  package init() {}

  /// Whether the bolt has moved.
  package var hasMovement: Bool { movement != nil }

  /// Takes the next record of the log.
  package mutating func take(_ record: LockRecord) {
    switch record.kind {
    case .movement:
      movement = record
      outcome = nil
      found = nil
      if record.target == .locked { locking = record }
    case .outcome: if movement != nil { outcome = record }
    case .command:
      if found == nil, record.target == .unlocked, record.result == .notNeeded { found = record }
    case .alarm, .alarmCleared:
      if record.isFactoryReset { reset = record }
      if record.detail == LockAlarm.doorForcedOpen.rawValue { forced = record }
      if record.detail == LockAlarm.doorAjar.rawValue { ajar = record }
    case .access, .mode: break
    }
  }

  /// These records, oldest first.
  package var records: [LockRecord] {
    var sorted: [LockRecord] = []
    for record in [locking, movement, outcome, found, reset, forced, ajar] {
      guard let record, !sorted.contains(where: { $0.index == record.index }) else { continue }
      sorted.insert(record, at: sorted.firstIndex { $0.index > record.index } ?? sorted.count)
    }
    return sorted
  }
}
