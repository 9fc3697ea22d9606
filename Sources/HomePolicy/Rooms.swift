import TimeTypes

/// What the owner wants with the rooms of the home.
package enum RoomWish: Sendable, Hashable {
  /// Measure the signal in the room in which the phone is now.
  case measure
  /// Forget every room that was measured.
  case forget
}

/// The outcome of a wish about rooms.
package enum RoomOutcome: Sendable, Hashable {
  /// The strength in this room, in dBm.
  case measured(Int)
  case forgotten
  /// There is no link to the lock, so this room may be out of its range.
  case notLinked
  /// The link was lost before there were enough readings.
  case linkLost
  /// The link's signal could not be read often enough.
  case noSignal
  /// The disk refused it, so nothing has changed.
  case notStored
}

/// A room that is being measured.
struct RoomSurvey: Sendable {
  var readings: [Int] = []
  /// When it ends, with as many readings as there are.
  var due: Instant

  /// The strength that three of four readings reach, or `nil` if there are too few.
  func level(_ configuration: HomeConfiguration) -> Int? {
    readings.count >= configuration.leastRoomReadings ? readings.sorted()[readings.count / 4] : nil
  }
}

/// The weakest room's signal has just been changed, and the disk may still refuse it.
struct RoomChange: Sendable {
  var earlier: Int?
}

/// The rooms of a home. A room whose signal is as weak as the edge of the range looks like the street, so a link that
/// comes up in it looks like an arrival. Only the owner can tell the two apart.
extension HomePolicy {
  /// The strongest signal with which a link of a phone that comes home can come up, in dBm.
  package var weakSignal: Int { configuration.weakSignal(weakestRoom: state.roomSignal) }

  /// A new wish takes the place of one that is not done yet.
  mutating func roomAsked(_ wish: RoomWish, at time: HomeTime) {
    concludeRoom(.noSignal)
    switch wish {
    case .forget: setRoom(nil, .forgotten)
    case .measure where !state.isLinked: answerRoom(.notLinked)
    case .measure:
      survey = RoomSurvey(due: time.instant + configuration.roomPatience)
      // Some readings may fail, so more are allowed. Their time is limited as well.
      readingsLeft = max(readingsLeft, 2 * configuration.roomReadings)
    }
  }

  /// Until a phone that may be coming home is near the door, it is not announced to the lock. The lock then goes on
  /// offering, so the signal is still read. After the time in which an approach must have reached the door, the phone
  /// counts as being at home.
  mutating func notePerhapsComing(at time: HomeTime) {
    guard let since = perhapsComingSince else { return }
    if watch.isNear(at: time.instant) || time.instant - since > configuration.approachWindow {
      perhapsComingSince = nil
    }
  }

  /// One reading in the room.
  mutating func takeInRoom(_ signal: Int) {
    survey?.readings.append(signal)
    if let survey, survey.readings.count >= configuration.roomReadings { endSurvey() }
  }

  /// There are readings enough, or the time for them is over.
  mutating func endSurvey() {
    guard let survey else { return }
    guard let level = survey.level(configuration) else { return concludeRoom(.noSignal) }
    self.survey = nil
    setRoom(min(level, state.roomSignal ?? level), .measured(level))
  }

  mutating func concludeRoom(_ outcome: RoomOutcome) {
    guard survey != nil else { return }
    survey = nil
    answerRoom(outcome)
  }

  /// The room's signal could not be stored, so the change is undone. Its answer has not been given yet.
  mutating func roomIsNotStored() {
    guard let change = roomChange else { return }
    roomChange = nil
    remember(change.earlier)
    answerRoom(.notStored)
  }

  /// Stores the weakest room's signal, and answers after that.
  private mutating func setRoom(_ signal: Int?, _ outcome: RoomOutcome) {
    guard signal != state.roomSignal else { return answerRoom(outcome) }
    // The disk has just refused something else.
    guard storeDue == nil else { return answerRoom(.notStored) }
    roomChange = RoomChange(earlier: state.roomSignal)
    remember(signal)
    store()
    answerRoom(outcome)
  }

  private mutating func remember(_ signal: Int?) {
    state.roomSignal = signal
    watch.roomSignal = signal
  }

  private mutating func answerRoom(_ outcome: RoomOutcome) { effects.append(.answerRoom(outcome)) }
}
