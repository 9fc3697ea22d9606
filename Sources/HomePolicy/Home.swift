import TimeTypes

/// What the agent learns of the home, and sees of its owner's leaving.
///
/// The lock calls on every phone that is there: once an hour, and every 15 s for three minutes after a hand or a phone has locked
/// it, or the door was shut.
/// The readings at these calls are all that a suspended app has of the time between an arrival and the loss of a link.
extension HomePolicy {
  /// The strongest signal that a link can come up with at the edge of the range, in dBm: as weak as nowhere at home; or a
  /// little stronger, for who was seen to leave.
  var edge: Int {
    if isHomeAtEdge { return -128 }
    if hasLeft { return configuration.weakSignal + configuration.departureMargin }
    guard let weakestAtHome else { return configuration.weakSignal }
    return min(configuration.weakSignal, weakestAtHome - configuration.homeMargin)
  }

  /// Whether there are places in this home that nothing tells from the street: no link can be relied on to come up weaker.
  public var isHomeAtEdge: Bool {
    weakestAtHome.map { $0 - configuration.homeMargin < configuration.edgeSignal } ?? false
  }

  private var weakestAtHome: Int? {
    guard configuration.learnsHome, let home = state.home else { return nil }
    return min(home.weakest, home.earlier ?? home.weakest)
  }

  // MARK: The home

  /// A link that was up at the lock's call says how weak it is where the phone is.
  mutating func noteLevel(isLastOfCall: Bool, at time: HomeTime) {
    guard state.approach == nil, !watch.isUndecided, let level = watch.level else { return }
    guard isLastOfCall || stayReadingsLeft > 0 else { return }
    if let stay = state.stay, time.duration(since: stay.at) >= configuration.stayDuration {
      learn(stay.signal, at: time)
      state.stay = nil
    }
    // Falling or not: who locks on the way out is on the way.
    if level >= configuration.nearSignal {
      // Seen at the door, whatever was seen before.
      state.departure = HomeState.Departure(near: time)
      store()
      if isLastOfCall { learn(level, at: time) }
      return
    }
    if isWatched { return noteFading(level, at: time) }
    guard isLastOfCall else { return }
    if let stay = state.stay, stay.signal <= level { return }
    state.stay = HomeState.Stay(signal: level, at: time)
    store()
  }

  /// Who was away took the reading on the way out.
  mutating func keepOrDropStay(at time: HomeTime) {
    guard let stay = state.stay else { return }
    let gap = time.duration(since: state.linkLost ?? stay.at)
    if gap > configuration.approachInterruption { state.stay = nil }
  }

  /// What looked like an approach, and never reached the door though its phone stayed about, was made at home.
  mutating func learn(_ approach: HomeState.Approach, at time: HomeTime) {
    guard approach.since.boot == time.boot else { return }
    learn(approach.signal, at: time)
  }

  private mutating func learn(_ signal: Int, at time: HomeTime) {
    guard configuration.learnsHome else { return }
    var home = state.home ?? HomeState.Home(weakest: signal, since: time)
    if time.duration(since: home.since) < configuration.homePeriod {
      home.weakest = min(home.weakest, signal)
    } else {
      home = HomeState.Home(weakest: signal, since: time, earlier: home.weakest)
    }
    guard home != state.home else { return }
    state.home = home
    store()
  }

  // MARK: Leaving

  /// Whether the owner was seen to walk away from the door, farther than this home goes, and has not been back since.
  var hasLeft: Bool { state.departure?.isOver == true && !isHomeAtEdge }

  /// The lock calls, on a link on which it knows who is there.
  mutating func called(at time: HomeTime) {
    isWatched = calledAt.map { time.instant - $0 <= configuration.watchInterval } ?? false
    calledAt = time.instant
    stayReadingsLeft = isWatched ? configuration.signalReadings : configuration.stayReadings
  }

  private mutating func noteFading(_ level: Int, at time: HomeTime) {
    guard var departure = state.departure, !departure.isOver else { return }
    let isFaint = level <= faintSignal && time.duration(since: departure.near) <= configuration.departureWindow
    guard isFaint || departure.faded != nil else { return }
    departure.faded = isFaint ? departure.faded ?? time : nil
    if isFaint { faintAt = time }
    state.departure = departure
    store()
  }

  /// Weaker than anywhere at home.
  private var faintSignal: Int {
    let limit = configuration.weakSignal + configuration.departureMargin
    return weakestAtHome.map { min(limit, $0 - 1) } ?? limit
  }

  /// A link that breaks off is a jammed radio, a restart or a battery; of who walks away it fades first.
  mutating func concludeDeparture(at time: HomeTime) {
    guard var departure = state.departure, !departure.isOver else { return }
    // Of a radio that died, too, the last readings before the loss are faint; for as long as the link's own timeout.
    let lasted = departure.faded.map { time.duration(since: $0) >= configuration.fadingDuration } ?? false
    let hasFaded = lasted && faintAt.map { time.duration(since: $0) <= configuration.fadingLifetime } ?? false
    departure.isOver = true
    state.departure = hasFaded ? departure : nil
  }
}
