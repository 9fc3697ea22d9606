/// Which phones left right after the bolt was locked while they were here. A person who locks the door and goes is soon
/// out of range. A person who stays is not. This needs no sensor at the door.
///
/// A loss of the link proves little, because a radio can fail just then. So the lock asks these phones to read their signals
/// meanwhile, and believes only those that saw themselves leave as well (`LockCommand.Kind.unlockIfLeft`).
package struct LockingWatch: Sendable {
  /// How long after the bolt was turned somebody may be leaving, in milliseconds: at walking speed that is the radio's range.
  package static let leavingMilliseconds: Int64 = 90_000
  /// How much later the loss of a link may be noticed, in milliseconds.
  package static let lateMilliseconds: Int64 = 10_000

  /// When the bolt was turned while phones were here.
  private var turnedAt: Int64?
  /// The phones that were here then, and whose links were not lost since.
  private var beside: [[UInt8]] = []
  /// The phones of these whose links were lost in time.
  private var left: [[UInt8]] = []

  package init() {}

  /// The bolt was locked. Or it was unlocked by hand, and the lock will lock it after a time.
  /// - Parameters:
  ///   - phones: the phones that are linked.
  ///   - goesOn: whether the bolt now locks behind a person who went out after its previous turn.
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
