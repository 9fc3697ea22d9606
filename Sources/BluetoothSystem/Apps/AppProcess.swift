import AppLink
import TimeTypes

/// One process of an app, from the moment it is known until its end is reported.
struct AppProcess: Sendable {
  /// Whether latchkeyd and the process have a connection.
  enum Contact: Sendable {
    case attached(AppLinkIdentifier)
    case lost(since: Instant)
  }

  var identity: ProcessIdentity
  private(set) var contact: Contact
  /// Why the system ends it: it was killed, and its end has not been reported. `nil` where it lives on, or ends by itself.
  var endReason: String?
  /// The last event it was told, and the last that its delegates have returned from.
  private(set) var lastSequence: UInt64 = 0
  private(set) var handledSequence: UInt64 = 0
  /// Wakes in a row that it did not end in time.
  var overruns = 0
  /// It was relaunched to restore its managers, and is to create one by then.
  var restoreDeadline: Instant?

  init(_ identity: ProcessIdentity, at now: Instant) {
    self.identity = identity
    contact = .lost(since: now)
  }

  var link: AppLinkIdentifier? { if case .attached(let link) = contact { link } else { nil } }

  /// How many events it was told and has not dealt with.
  var unhandledEvents: UInt64 { lastSequence > handledSequence ? lastSequence - handledSequence : 0 }

  /// - Parameter lastEvent: the last event it has heard, where it comes back to a latchkeyd that was restarted.
  mutating func attach(_ link: AppLinkIdentifier, lastEvent: EventSequence?) {
    contact = .attached(link)
    lastSequence = lastEvent?.rawValue ?? 0
    handledSequence = lastSequence
  }

  mutating func detach(at now: Instant) { contact = .lost(since: now) }

  /// A process without a connection has its time to connect again from now on.
  mutating func renewPatience(at now: Instant) {
    if case .lost = contact { contact = .lost(since: now) }
  }

  /// The number of the next event.
  mutating func nextSequence() -> EventSequence {
    lastSequence += 1
    return EventSequence(lastSequence)
  }

  /// Returns whether the process can have dealt with that event: it was told.
  mutating func handled(through sequence: EventSequence) -> Bool {
    guard sequence.rawValue <= lastSequence else { return false }
    handledSequence = max(handledSequence, sequence.rawValue)
    return true
  }
}
