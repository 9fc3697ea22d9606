import AgentQuestions
import HomePolicy

/// Answers about the rooms of the home.
extension QuestionDesk {
  func room(_ question: RoomQuestion) async throws -> RoomAnswer {
    let outcome: RoomOutcome? =
      switch RoomQuestion.Wish(rawValue: question.wish) {
      case .measure: await roomOutcome(.measure)
      case .forget: await roomOutcome(.forget)
      case .show: nil
      case nil:
        throw NoAnswer(
          "The agent knows no \"\(question.wish)\" for rooms; install latchkey and latchkey-agent from one release.")
      }
    var signal: Int?
    switch outcome {
    case .measured(let level): signal = level
    case .forgotten, nil: break
    case .notLinked where app.refusesPhone, .linkLost where app.refusesPhone: throw NoAnswer.refusesPhone
    case .notLinked where app.noLink.reason != NoAnswer.notLinked.reason: throw app.noLink
    case .notLinked:
      throw NoAnswer(
        "There is no link to the lock here, so nothing can be measured. If this room is out of the lock's range, a phone that is carried "
          + "from it to the door looks like one that comes home: put the lock, or its radio, where this room hears it.")
    case .linkLost: throw NoAnswer("The link to the lock was lost before the room was measured; try again.")
    case .noSignal: throw NoAnswer("The link's signal could not be read often enough; try again.")
    case .notStored: throw NoAnswer("The agent's state can't be stored, so nothing was changed; is the disk full?")
    }
    let rooms = app.rooms
    return RoomAnswer(door: app.name, signal: signal, weakest: rooms.weakest, limit: rooms.limit)
  }
}
