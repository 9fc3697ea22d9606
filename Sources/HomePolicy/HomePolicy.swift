import Timekeeping

/// Decides when a phone unlocks its owner's door: on arrival, once.
///
/// An arrival is a link to the lock that comes up after it was lost for a while, and a signal that is near and not
/// falling. A link that flaps is none. The decision is stored before the unlock is written; if its answer does not come,
/// the lock is asked what became of it, under the operation's name, and an unlock is never just repeated.
///
/// On each link the phone also says that it is here, by a `status` where there is nothing to unlock, so that the lock
/// can lock when it leaves.
public struct HomePolicy: Sendable {
  public let configuration: HomeConfiguration
  /// What must be stored when an effect says so.
  public private(set) var state: HomeState

  private var offeredAt: Instant?
  private var offerReadsLeft = 0
  private var isAwaitingAnswer = false
  /// Offers in a row that came where an answer was awaited.
  private var interruptions = 0
  /// Whether the lock has yet to hear on this link, or since its own restart, who is here.
  private var owesPresence = false
  /// After each answer comes, at once, one offer that asks for nothing. A later one is of a lock that knows nobody.
  private var spareOfferUntil: Instant?
  private var signals: [Int] = []
  private var isSignalUnreadable = false
  private var readingsLeft = 0
  private var isReadingSignal = false
  private var signalDue: Instant?
  private var offerDue: Instant?
  private var answerDue: Instant?
  private var effects: [HomeEffect] = []

  public init(_ configuration: HomeConfiguration, state: HomeState) {
    self.configuration = configuration
    self.state = state
  }

  /// Whether an arrival is under way: away was true, and nothing has been decided on yet.
  public var isArriving: Bool { state.isLinked && state.linkLost != nil }

  /// When `handle(.timePassed)` must be called at the latest; `nil` if nothing is due.
  public var nextDeadline: Instant? { [signalDue, offerDue, answerDue].compactMap { $0 }.min() }

  /// Takes what happened; returns what to do, in order.
  public mutating func handle(
    _ event: HomeEvent, at time: HomeTime, using random: inout some RandomNumberGenerator
  ) -> [HomeEffect] {
    switch event {
    case .started(let isLinked): start(isLinked: isLinked, at: time)
    case .linkUp: linkUp(at: time)
    case .linkDown: linkDown(at: time)
    case .offerReceived: offerReceived(at: time)
    case .signalRead(let signal): signalRead(signal, at: time)
    case .answered(let answer): answered(answer, at: time, using: &random)
    case .writeFailed: commandIsLost()
    case .timePassed: timePassed(at: time)
    }
    decide(at: time, using: &random)
    defer { effects = [] }
    return effects
  }

  private mutating func start(isLinked: Bool, at time: HomeTime) {
    switch (state.isLinked, isLinked) {
    case (true, true):
      // The same link, another process: what this one wrote before it ended may be unanswered.
      expectOffer(at: time)
      owesPresence = true
      readingsLeft = configuration.signalReadings
    case (false, true): linkUp(at: time)
    case (true, false):
      // The link was lost and nobody was there to hear it. When, is unknown: at the latest now; and no later than
      // this boot, if it was up in an earlier one.
      linkDown(at: state.lastHeard?.boot == time.boot ? time : HomeTime.start(ofBootAt: time))
    case (false, false): break
    }
  }

  private mutating func linkUp(at time: HomeTime) {
    guard !state.isLinked else { return }
    state.isLinked = true
    noteReturn(at: time)
    state.lastHeard = time
    signals = []
    isSignalUnreadable = false
    readingsLeft = configuration.signalReadings
    owesPresence = true
    spareOfferUntil = nil
    interruptions = 0
    expectOffer(at: time)
    store()
  }

  /// A link after a short loss is none to unlock for. One after a long loss is an arrival, and so is one after a
  /// short loss if it came in the middle of an arrival.
  private mutating func noteReturn(at time: HomeTime) {
    guard let lost = state.linkLost else { return }
    guard time.duration(since: lost) >= configuration.awayDuration else {
      state.linkLost = nil
      state.arrivingSince = nil
      return
    }
    let latestLoss = state.lastHeard ?? lost
    if state.arrivingSince == nil || time.duration(since: latestLoss) >= configuration.awayDuration {
      state.arrivingSince = time
    }
  }

  private mutating func linkDown(at time: HomeTime) {
    guard state.isLinked else { return }
    state.isLinked = false
    state.lastHeard = time
    // An arrival that was not decided on is still to come: its beginning stays.
    if state.linkLost == nil { state.linkLost = time }
    commandIsLost()
    offeredAt = nil
    offerDue = nil
    signalDue = nil
    isReadingSignal = false
    store()
  }

  private mutating func offerReceived(at time: HomeTime) {
    guard state.isLinked else { return }
    offeredAt = time.instant
    offerDue = nil
    offerReadsLeft = configuration.offerReads
    let isSpare = spareOfferUntil.map { time.instant <= $0 } ?? false
    spareOfferUntil = nil
    if isSpare { return }
    // Not the one that follows an answer: the lock does not know us any more, as after a restart of its system or of
    // ours. An answer that we wait for belongs to its earlier session and will not come; the lock is asked at once,
    // before it takes us for gone and locks.
    if isAwaitingAnswer {
      interruptions += 1
      // A lock that takes commands whose answers never arrive offers after each: no faster than patience allows, then.
      if interruptions <= configuration.interruptions { commandIsLost() }
    }
    owesPresence = true
    readingsLeft = configuration.signalReadings
  }

  private mutating func signalRead(_ signal: Int?, at time: HomeTime) {
    guard isReadingSignal else { return }
    isReadingSignal = false
    isSignalUnreadable = signal == nil
    signals = signal.map { signals.suffix(1) + [$0] } ?? []
    guard !isNear, readingsLeft > 0 else { return }
    signalDue = time.instant + configuration.signalInterval
  }

  /// Near and not falling, by the latest readings.
  private var isNear: Bool {
    guard let latest = signals.last else { return isSignalUnreadable && configuration.unlocksWithoutSignal }
    guard latest >= configuration.nearSignal else { return false }
    return signals.count < 2 || latest >= signals[0] - configuration.signalTolerance
  }

  private mutating func answered(
    _ answer: HomeAnswer, at time: HomeTime, using random: inout some RandomNumberGenerator
  ) {
    guard isAwaitingAnswer else { return }
    commandIsLost()
    interruptions = 0
    owesPresence = false
    spareOfferUntil = time.instant + configuration.offerPatience
    state.lastHeard = time
    guard var arrival = state.arrival else { return }
    let isNewArrival = state.linkLost != nil
    switch answer {
    case .done: state.arrival = nil
    case .unknownOperation:
      // The lock never had it, so it may be written now; unless a later arrival has taken its place.
      arrival.isWritten = false
      state.arrival = isNewArrival ? nil : arrival
    case .failed:
      if isNewArrival || arrival.attempts >= configuration.unlockAttempts {
        state.arrival = nil
      } else {
        // The lock remembers the old name as failed: a new try is a new operation.
        state.arrival = HomeState.Arrival(
          operation: newOperation(&random), isWritten: false, attempts: arrival.attempts + 1)
      }
    }
    store()
  }

  private mutating func commandIsLost() {
    isAwaitingAnswer = false
    answerDue = nil
  }

  private mutating func timePassed(at time: HomeTime) {
    if let due = signalDue, due <= time.instant { signalDue = nil }
    if let due = offerDue, due <= time.instant {
      offerDue = nil
      readOffer(at: time)
    }
    if let due = answerDue, due <= time.instant {
      commandIsLost()
      // An offer that came while the answer did not is still good.
      if offeredAt == nil { readOffer(at: time) }
    }
  }

  /// Writes what there is to write, if there is an offer to write it with.
  private mutating func decide(at time: HomeTime, using random: inout some RandomNumberGenerator) {
    guard state.isLinked, !isAwaitingAnswer else { return }
    dropStaleArrival(at: time)
    if let arrival = state.arrival, arrival.isWritten {
      write(.status, operation: arrival.operation, at: time)
    } else if isArriving || state.arrival != nil {
      if isNear { unlock(at: time, using: &random) } else { readSignal() }
    } else if owesPresence {
      write(.status, operation: 0, at: time)
    }
  }

  /// Somebody who has been linked for this long without coming near was not on the way to the door.
  private mutating func dropStaleArrival(at time: HomeTime) {
    guard isArriving, let since = state.arrivingSince, time.duration(since: since) > configuration.arrivalWindow
    else { return }
    state.linkLost = nil
    state.arrivingSince = nil
    store()
  }

  private mutating func unlock(at time: HomeTime, using random: inout some RandomNumberGenerator) {
    guard let offeredAt else { return }
    guard isFresh(offeredAt, at: time) else { return readOffer(at: time) }
    var arrival =
      state.arrival ?? HomeState.Arrival(operation: newOperation(&random), isWritten: false, attempts: 1)
    arrival.isWritten = true
    state.arrival = arrival
    state.linkLost = nil
    state.arrivingSince = nil
    state.lastHeard = time
    store()
    write(.unlock, operation: arrival.operation, at: time)
  }

  private mutating func readSignal() {
    guard !isReadingSignal, signalDue == nil, readingsLeft > 0 else { return }
    readingsLeft -= 1
    isReadingSignal = true
    effects.append(.readSignal)
  }

  private mutating func write(_ command: HomeCommand, operation: UInt64, at time: HomeTime) {
    guard let offeredAt else { return }
    guard isFresh(offeredAt, at: time) else { return readOffer(at: time) }
    self.offeredAt = nil
    isAwaitingAnswer = true
    answerDue = time.instant + configuration.answerPatience
    effects.append(.write(command, operation: operation))
  }

  private func isFresh(_ offeredAt: Instant, at time: HomeTime) -> Bool {
    time.instant - offeredAt <= configuration.offerLifetime
  }

  /// Asks for an offer, and again if none comes, a few times: the lock offers by itself when it can.
  private mutating func readOffer(at time: HomeTime) {
    offeredAt = nil
    guard offerReadsLeft > 0 else { return }
    offerReadsLeft -= 1
    offerDue = time.instant + configuration.answerPatience
    effects.append(.readOffer)
  }

  private mutating func expectOffer(at time: HomeTime) {
    offerReadsLeft = configuration.offerReads
    offerDue = time.instant + configuration.offerPatience
  }

  private mutating func store() {
    if !effects.contains(.store) { effects.insert(.store, at: 0) }
  }

  /// 0 is the name of no operation.
  private func newOperation(_ random: inout some RandomNumberGenerator) -> UInt64 {
    UInt64.random(in: 1 ... .max, using: &random)
  }
}

extension HomeTime {
  /// How long ago `earlier` was. Over a reboot the calendar has to do, and the time since the boot is the least it can
  /// be, wherever the calendar has been stepped to.
  func duration(since earlier: HomeTime) -> Duration {
    if earlier.boot == boot { return instant - earlier.instant }
    return max(.seconds(unixSeconds - earlier.unixSeconds), instant - .zero)
  }

  static func start(ofBootAt time: HomeTime) -> HomeTime {
    HomeTime(boot: time.boot, instant: .zero, unixSeconds: time.unixSeconds - time.instant.seconds)
  }
}
