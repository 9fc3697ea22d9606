import TimeTypes

/// What a phone measures of its way from the door, while the lock makes offers because somebody may be leaving.
///
/// A person who leaves starts at the door, and walks until nothing is heard any more. So the signal begins with the strength that it
/// has at this door, for this phone and this lock, and ends with the last that can be heard, a minute or two later. A radio that
/// fails ends a link at any strength, and at any time.
struct Departure: Sendable {
  /// How a link ended.
  enum End: Sendable, Hashable {
    /// The phone was carried from the door to the edge of the range.
    case left
    /// Long after the phone was at the door, and while it was heard well: the radio has failed.
    case stayed
    /// Either is possible: a lift ends a link at once, and so does a jam.
    case unclear
  }

  private struct Level: Sendable {
    var signal: Int
    var at: Instant
  }

  private let configuration: HomeConfiguration
  /// The latest levels, as far back as a level at the door must last.
  private var levels: [Level] = []
  /// The strongest level that lasted, in dBm: that of the phone at the door. A moment in which the phone is carried past the
  /// lock at a hand's breadth does not last.
  private(set) var doorSignal: Int?
  /// When the level was last that of the door.
  private var doorAt: Instant?
  /// When the level was last clearly stronger than `fadedSignal`.
  private var strongAt: Instant?

  init(_ configuration: HomeConfiguration) { self.configuration = configuration }

  /// Whether the signal was ever strong enough for a phone near the door.
  var isFromDoor: Bool { strongAt != nil }

  /// - Parameter level: the median of the latest readings.
  mutating func take(_ level: Int, at now: Instant) {
    if let latest = levels.last {
      // There was a pause, so this is another leaving: it may be somebody else's, or the phone is in another pocket.
      if now - latest.at > configuration.lookPause { self = Departure(configuration) }
      if now - latest.at > configuration.signalLifetime { levels = [] }
    }
    levels.append(Level(signal: level, at: now))
    while levels.count > 1, now - levels[1].at >= configuration.doorDuration { levels.removeFirst() }
    if let first = levels.first, now - first.at >= configuration.doorDuration, let least = levels.map(\.signal).min() {
      doorSignal = max(least, doorSignal ?? least)
    }
    if doorAt == nil || level >= (doorSignal ?? level) - configuration.doorTolerance { doorAt = now }
    if level >= configuration.fadedSignal + configuration.fadingMargin { strongAt = now }
  }

  /// How a link that is lost now has ended.
  /// - Parameters:
  ///   - level: the median of the latest readings, if they are still good.
  ///   - latest: the latest of them.
  func end(_ level: Int?, latest: Int?, at now: Instant) -> End {
    guard let level, let latest, let doorAt else { return .unclear }
    let isAtEdge = level <= configuration.fadedSignal && latest <= configuration.lastSignal
    let isLate = now - doorAt > configuration.leavingDuration
    if !isAtEdge { return isLate ? .stayed : .unclear }
    guard !isLate, let strongAt, now - strongAt <= configuration.fadingDuration else { return .unclear }
    return .left
  }
}

extension HomePolicy {
  /// The link is lost while this phone watches whether it is leaving.
  mutating func endLooking(at time: HomeTime) {
    // After the phone has left, links that come and go at the edge say nothing about the signal at the door.
    if state.hasLeft != true, departure.isFromDoor { state.doorSignal = departure.doorSignal ?? state.doorSignal }
    watch.doorSignal = state.doorSignal
    switch watch.end(of: departure, at: time.instant) {
    case .left:
      state.hasLeft = true
      state.hasStayed = nil
    case .stayed: state.hasStayed = true
    case .unclear: break
    }
    departure = Departure(configuration)
    isLooking = false
  }
}
