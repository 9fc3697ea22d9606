import TimeTypes

/// The set alarms of one time source, in the order in which they ring: by deadline, then by when they were set.
struct AlarmTable {
  typealias Handler = @Sendable () -> Void

  private struct Entry {
    var deadline: Instant
    var order: UInt64
    var handler: Handler
  }

  private var entries: [UInt64: Entry] = [:]
  /// Counts settings. An alarm that is set later has a higher number.
  private(set) var counter: UInt64 = 0

  /// An identifier for a new alarm.
  mutating func makeIdentifier() -> UInt64 {
    counter += 1
    return counter
  }

  mutating func set(_ identifier: UInt64, _ deadline: Instant?, _ handler: @escaping Handler) {
    guard let deadline else {
      entries[identifier] = nil
      return
    }
    counter += 1
    entries[identifier] = Entry(deadline: deadline, order: counter, handler: handler)
  }

  /// A process has only a few alarms, so a search costs less than keeping them sorted.
  private func first(setUpTo counter: UInt64 = .max) -> (key: UInt64, value: Entry)? {
    entries.lazy.filter { $0.value.order <= counter }.min { left, right in
      (left.value.deadline, left.value.order) < (right.value.deadline, right.value.order)
    }
  }

  var earliest: Instant? { first()?.value.deadline }

  /// Removes the first alarm that is due. One at a time, so that an earlier handler can still stop a later alarm.
  /// - Parameter counter: alarms set later than this are left alone.
  mutating func takeDue(by now: Instant, setUpTo counter: UInt64 = .max) -> (deadline: Instant, handler: Handler)? {
    guard let first = first(setUpTo: counter), first.value.deadline <= now else { return nil }
    entries[first.key] = nil
    return (first.value.deadline, first.value.handler)
  }
}

/// How an alarm of this module reaches its time source.
protocol AlarmKeeper: AnyObject, Sendable {
  func setAlarm(_ identifier: UInt64, _ deadline: Instant?, _ handler: @escaping AlarmTable.Handler)
}

/// An alarm of any of this module's time sources. It keeps its time source alive, and rings even if it is not
/// retained.
final class TableAlarm: Alarm {
  private let keeper: any AlarmKeeper
  private let identifier: UInt64
  private let handler: AlarmTable.Handler

  init(_ keeper: any AlarmKeeper, _ identifier: UInt64, _ handler: @escaping AlarmTable.Handler) {
    self.keeper = keeper
    self.identifier = identifier
    self.handler = handler
  }

  func set(_ deadline: Instant?) { keeper.setAlarm(identifier, deadline, handler) }
}
