import TimeTypes

/// The state of the attempts to connect one peripheral.
struct ConnectionAttempt: Sendable {
  private enum Phase {
    case idle
    /// `Device1.Connect` has not answered. It is given up after its turn if another peripheral waits for its own.
    case connecting(since: Instant, turn: Duration)
    case pausing(until: Instant)
  }

  private var phase = Phase.idle
  /// Seen by a scan since the last failure.
  private(set) var isSighted = false
  private(set) var failures = 0
  /// Replies in a row that said that another attempt was under way.
  private var refusals = 0

  /// bluetoothd itself gives up after 41 s.
  private static let limit: Duration = .seconds(60)
  /// The turn of a peripheral that a scan has just seen, while others wait for theirs: nearly two of the longest
  /// advertising intervals of 10.24 s (Core 6.0, Vol 6, Part B, 4.4.2.2).
  private static let turn: Duration = .seconds(20)
  /// The turn of one that may be far away: five or more usual advertising intervals. After it a scan goes on looking
  /// for it beside the others.
  private static let blindTurn: Duration = .seconds(5)
  /// How long another client's attempt may take.
  private static let patienceWithOthers: Duration = .seconds(45)

  var isConnecting: Bool { if case .connecting = phase { true } else { false } }

  /// bluetoothd has, or may have, an attempt to connect: this system's, or the one for which it refused this system's.
  var isUnderWay: Bool { isConnecting || refusals > 0 }

  func isPausing(at now: Instant) -> Bool { if case .pausing(let until) = phase { until > now } else { false } }
  /// - Parameter othersWait: Whether another peripheral could be connected instead.
  func hasTimedOut(at now: Instant, othersWait: Bool) -> Bool {
    guard case .connecting(let since, let turn) = phase else { return false }
    return since + (othersWait ? turn : Self.limit) <= now
  }

  /// When the turn ends, if there is an attempt.
  var turnUntil: Instant? { if case .connecting(let since, let turn) = phase { since + turn } else { nil } }

  /// When something about the attempt is due. It may be in the past while nothing can be done about it yet.
  var deadline: Instant? {
    switch phase {
    case .idle: nil
    case .connecting(let since, _): since + Self.limit
    case .pausing(let until): until
    }
  }

  mutating func begin(at now: Instant) {
    phase = .connecting(since: now, turn: isSighted ? Self.turn : Self.blindTurn)
  }

  mutating func sighted() { isSighted = true }
  mutating func linkWentDown() { isSighted = false }
  mutating func linkCameUp() {
    failures = 0
    endPause()
  }

  /// An app asks anew: earlier failures no longer count.
  mutating func renew() {
    failures = 0
    refusals = 0
    endPause()
  }

  mutating func forgetFailures() { failures = 0 }
  private mutating func endPause() { if case .pausing = phase { phase = .idle } }

  /// The attempt did not lead to a link. The back-off counts from its beginning: it limits how often attempts begin. A
  /// peripheral at the edge of the range makes each attempt last for long, and while it rests nothing looks for it.
  mutating func failed(at now: Instant) {
    failures += 1
    isSighted = false
    refusals = 0
    let began = if case .connecting(let since, _) = phase { since } else { now }
    let wait = BackOff.standard.wait(afterFailures: failures)
    phase = .pausing(until: max(began + wait, now + BackOff.standard.first))
  }

  /// bluetoothd refused because another attempt is under way: another client's, or one that a dead client left behind
  /// and that may stay for hours. That attempt gets the time it may take. Returns whether it has had that time
  /// already and is to be cancelled.
  mutating func isRefusedForAnother(at now: Instant) -> Bool {
    let refusals = refusals + 1
    failed(at: now)
    isSighted = true
    guard refusals == 1 else { return true }
    self.refusals = refusals
    phase = .pausing(until: now + Self.patienceWithOthers)
    return false
  }
}
