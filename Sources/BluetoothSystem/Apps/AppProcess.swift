import AppLink
import TimeTypes

/// One process of an app, from the moment it is known until its end is reported.
struct AppProcess: Sendable {
  /// Whether latchkeyd and the process are connected.
  enum Contact: Sendable {
    case attached(AppLinkIdentifier)
    case lost(since: Instant)
  }

  var identity: ProcessIdentity
  private(set) var contact: Contact
  /// Why the system killed the process, until its end is reported. `nil` if it lives on or ends by itself.
  var endReason: String?
  /// The number of the last event sent, and of the last event whose delegate calls have returned.
  private(set) var lastSequence: UInt64 = 0
  private(set) var handledSequence: UInt64 = 0
  /// Wake budgets overrun in a row.
  var overruns = 0
  /// The process was relaunched to restore its managers, and must create one by this time.
  var restoreDeadline: Instant?

  init(_ identity: ProcessIdentity, at now: Instant) {
    self.identity = identity
    contact = .lost(since: now)
  }

  var link: AppLinkIdentifier? { if case .attached(let link) = contact { link } else { nil } }

  /// How many events were sent and not yet handled.
  var unhandledEvents: UInt64 { lastSequence > handledSequence ? lastSequence - handledSequence : 0 }

  /// - Parameter lastEvent: the last event the process received, if it reconnects to a restarted latchkeyd.
  mutating func attach(_ link: AppLinkIdentifier, lastEvent: EventSequence?) {
    contact = .attached(link)
    lastSequence = lastEvent?.rawValue ?? 0
    handledSequence = lastSequence
  }

  mutating func detach(at now: Instant) { contact = .lost(since: now) }

  /// Gives a process without a connection its full time to reconnect, starting now.
  mutating func renewPatience(at now: Instant) {
    if case .lost = contact { contact = .lost(since: now) }
  }

  /// The number of the next event.
  mutating func nextSequence() -> EventSequence {
    lastSequence += 1
    return EventSequence(lastSequence)
  }

  /// Returns `false` if that event was never sent, so the process can't have handled it.
  mutating func handled(through sequence: EventSequence) -> Bool {
    guard sequence.rawValue <= lastSequence else { return false }
    handledSequence = max(handledSequence, sequence.rawValue)
    return true
  }
}
