/// Which phones left right after the bolt was locked beside them. Whoever locks the door and goes is out of range soon;
/// whoever stays is not. No sensor of the door is needed for that.
///
/// A loss of the link proves little, because a radio can fail just then. So the lock asks these phones to read their signals
/// meanwhile, and believes only those that saw themselves leave as well (`LockCommand.Kind.unlockIfLeft`).
package struct LockingWatch: Sendable {
  /// How long after the bolt was turned somebody may be leaving, in milliseconds: at walking speed that is the radio's range.
  package static let leavingMilliseconds: Int64 = 90_000
  /// How much later the loss of a link may be noticed, in milliseconds.
  package static let lateMilliseconds: Int64 = 10_000

  /// When the bolt was turned beside phones.
  private var turnedAt: Int64?
  /// These phones.
  private var beside: [[UInt8]] = []
  /// Those of them whose links were lost in time.
  private var left: [[UInt8]] = []

  package init() {}

  /// The bolt was locked; or it was unlocked by hand, and the lock locks by itself after a time.
  /// - Parameters:
  ///   - phones: those that are linked.
  ///   - goesOn: the bolt locks behind whoever went out since it was last turned.
  package mutating func turned(beside phones: [[UInt8]], goesOn: Bool = false, at now: Int64) {
    turnedAt = now
    beside = phones
    if !goesOn { left = [] }
  }

  /// The bolt was turned for another reason, so nothing is known of who goes.
  package mutating func forgetAll() { self = LockingWatch() }

  /// The last link of this phone was lost just now.
  package mutating func linkLost(_ phone: [UInt8], at now: Int64) {
    guard let turnedAt, let index = beside.firstIndex(of: phone) else { return }
    beside.remove(at: index)
    if now - turnedAt <= Self.leavingMilliseconds + Self.lateMilliseconds { left.append(phone) }
  }

  /// It is not known when this phone's link was lost.
  package mutating func forget(_ phone: [UInt8]) { beside.removeAll { $0 == phone } }

  /// Whether this phone's link was lost right after the bolt was turned, and the bolt has not moved since.
  package func hasLeft(_ phone: [UInt8]) -> Bool { left.contains(phone) }

  /// Whether somebody may be leaving now. Then phones should read their signals.
  package func isSomebodyLeaving(at now: Int64) -> Bool {
    !beside.isEmpty && turnedAt.map { now - $0 <= Self.leavingMilliseconds } ?? false
  }
}
