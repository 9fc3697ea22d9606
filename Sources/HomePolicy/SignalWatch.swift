import TimeTypes

/// What the readings of one link's signal show: how the link came up, and whether its phone is at the door now.
///
/// A single reading shows nothing: fading and a body in the way change it by 10 dB from one moment to the next, as
/// much as the difference between the rooms of a home. Levels are means or medians of several readings.
struct SignalWatch: Sendable {
  /// How the link came up.
  enum Beginning: Sendable, Hashable {
    /// Not of interest, or can't be told.
    case unasked
    case undecided([Int])
    /// At the edge of its range, with the mean of the first readings.
    case weak(Int)
    /// Stronger than that, with the mean of the first readings.
    case strong(Int)
  }

  private struct Reading: Sendable {
    var signal: Int
    var at: Instant
  }

  private let configuration: HomeConfiguration
  private(set) var beginning = Beginning.unasked
  /// The latest three readings at most.
  private var recent: [Reading] = []
  /// Since when the signal has had the door's strength (`doorLevel`) without interruption.
  private var nearSince: Instant?
  /// The signal that the phone had at the door when it was last there, in dBm, if that is known.
  var doorSignal: Int?
  /// The signal of the weakest room of the home, in dBm, if one was measured.
  var roomSignal: Int?

  init(_ configuration: HomeConfiguration) { self.configuration = configuration }

  /// Whether more readings are needed to tell how the link came up.
  var isUndecided: Bool { if case .undecided = beginning { true } else { false } }

  /// A link has come up. Readings of an earlier link say nothing about it.
  ///
  /// - Parameters:
  ///   - isNew: it came up after there was none, and its first readings tell how.
  ///   - goesOn: an earlier link came up this way and was lost before enough readings: its readings count.
  mutating func begin(isNew: Bool, goesOn: Bool) {
    forgetReadings()
    if goesOn, isUndecided { return }
    beginning = isNew || goesOn ? .undecided([]) : .unasked
  }

  /// It can't be told any more how the link came up.
  mutating func forgetBeginning() { if isUndecided { beginning = .unasked } }

  mutating func take(_ signal: Int, at now: Instant) {
    if let latest = recent.last, now - latest.at > configuration.signalLifetime { forgetReadings() }
    recent = recent.suffix(2) + [Reading(signal: signal, at: now)]
    decideBeginning(signal)
    guard let level else { return }
    // One deep fade at the door does not mean leaving.
    if level < doorLevel - configuration.signalTolerance {
      nearSince = nil
    } else if level >= doorLevel {
      nearSince = nearSince ?? now
    }
  }

  /// The signal can't be read, and earlier readings say nothing about the present.
  mutating func forgetReadings() {
    recent = []
    nearSince = nil
  }

  private mutating func decideBeginning(_ signal: Int) {
    guard case .undecided(let earlier) = beginning else { return }
    let first = earlier + [signal]
    guard first.count >= configuration.firstReadings else {
      beginning = .undecided(first)
      return
    }
    let sum = first.reduce(0, +)
    let weak = configuration.weakSignal(weakestRoom: roomSignal)
    beginning = sum <= weak * first.count ? .weak(sum / first.count) : .strong(sum / first.count)
  }

  /// The median of the latest three readings, or `nil` before there are three.
  var level: Int? { recent.count == 3 ? recent.map(\.signal).sorted()[1] : nil }

  private var isFalling: Bool {
    guard let first = recent.first, let last = recent.last else { return false }
    return last.signal < first.signal - configuration.signalTolerance
  }

  private func isFresh(at now: Instant) -> Bool {
    recent.last.map { now - $0.at <= configuration.signalLifetime } ?? false
  }

  /// Whether the signal is stronger than a phone that walks away hears it again: at least half of `fadingMargin` above
  /// `fadedSignal`.
  var isBack: Bool { level.map { $0 >= configuration.fadedSignal + configuration.fadingMargin / 2 } ?? false }

  /// How the link that is lost now has ended.
  func end(of departure: Departure, at now: Instant) -> Departure.End {
    isFresh(at: now) ? departure.end(level, latest: recent.last?.signal, at: now) : .unclear
  }

  /// The weakest signal of a phone that may be at the door, in dBm: near, and not much weaker than when it was last there.
  private var doorLevel: Int {
    let near = configuration.nearSignal
    guard let doorSignal else { return near }
    return max(near, min(doorSignal - configuration.returnMargin, near + configuration.returnLimit))
  }

  /// Whether the phone is near the door, by recent readings.
  func isNear(at now: Instant) -> Bool {
    guard let level, isFresh(at: now) else { return false }
    return level >= configuration.nearSignal && !isFalling
  }

  /// Whether the phone is at the door: the signal is strong enough, or has been near for long enough.
  func isAtDoor(at now: Instant) -> Bool {
    guard let level, isNear(at: now), level >= doorLevel else { return false }
    return level >= configuration.nearSignal + configuration.doorMargin || staysNear(at: now)
  }

  /// Whether the signal has had the door's strength for `nearDuration`.
  func staysNear(at now: Instant) -> Bool {
    isNear(at: now) && nearSince.map { now - $0 >= configuration.nearDuration } ?? false
  }
}
