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
  /// Events do not wake a process that worked too much before this time.
  var wakeNotBefore = Instant.zero
  /// When the process was last suspended. Zero if an earlier latchkeyd suspended it.
  var suspendedAt = Instant.zero
  private(set) var work = WorkAccount()
  /// A new budget begins when the process has handled everything up to this event.
  private var budgetMark: UInt64 = 0
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
    work = WorkAccount()
  }

  mutating func detach(at now: Instant) { contact = .lost(since: now) }

  /// Gives a process without a connection its full time to reconnect, starting now.
  mutating func renewPatience(at now: Instant) {
    if case .lost = contact { contact = .lost(since: now) }
  }

  /// The number of the next event. If the process has handled everything before it, a budget begins with it. Otherwise
  /// the event does not prolong the budget for those before it.
  mutating func nextSequence(at now: Instant) -> (EventSequence, beginsBudget: Bool) {
    let isRested = unhandledEvents == 0
    lastSequence += 1
    if isRested {
      budgetMark = lastSequence
      work.beginWork(at: now)
    }
    return (EventSequence(lastSequence), isRested)
  }

  /// Returns `nil` if that event was never sent, so the process can't have handled it. Otherwise whether a new budget
  /// begins, for what was told during the last one.
  mutating func handled(through sequence: EventSequence, at now: Instant) -> Bool? {
    guard sequence.rawValue <= lastSequence else { return nil }
    handledSequence = max(handledSequence, sequence.rawValue)
    guard unhandledEvents > 0 else {
      work.endWork(at: now)
      return false
    }
    guard handledSequence >= budgetMark else { return false }
    budgetMark = lastSequence
    return true
  }

  /// The process does not run from now on.
  mutating func stopsWork(at now: Instant) { work.endWork(at: now) }

  /// The process runs again, and goes on with the events that it has not handled.
  mutating func resumesWork(at now: Instant) { if unhandledEvents > 0 { work.beginWork(at: now) } }

  /// Forgets the work so far: the user has used the app since, or the app is being stopped for a while because of that
  /// work.
  mutating func startsAfresh() { work = WorkAccount() }
}
