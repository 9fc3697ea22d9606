import AgentQuestions
import CoreBluetooth
import Foundation
import HomePolicy
import JournalEvents
import LockProtocol

/// What the person whose phone this is says to the agent, and what the agent says to them.
extension AgentApp {
  /// The most words that wait for one outcome.
  private static let wordLimit = 4

  func userAsks(_ action: UserAction) {
    guard action.name == AgentQuestion.unlock.rawValue else {
      guard action.argument != nil else {
        return action.complete(failure: "The agent knows no \"\(action.name)\" without an argument.")
      }
      return MainActor.assumeIsolated { desk.ask(action) }
    }
    if !hasStarted { endLateWords() }
    guard words.count < Self.wordLimit else {
      return action.complete(failure: "An unlock is under way already.")
    }
    logger.record(Recorded.Agent.wordGiven, [:])
    words.append(WaitingAction(action, at: time.now))
    action.onWithdrawal { [weak self, weak action] in if let action { self?.takeBack(action) } }
    // A process that was started for this first waits for its radio, or to be told that there is none.
    if hasStarted {
      if words.count == 1 || areWordsTakenBack { happens(.unlockAsked) }
    } else if isRadioOff {
      answerWord(.notLinked)
    }
  }

  /// Whoever gave this word has taken it back, or is gone. If somebody else has given it as well, it still counts.
  private func takeBack(_ word: UserAction) {
    guard let index = words.firstIndex(where: { $0.action === word }) else { return }
    guard hasStarted else {
      words.remove(at: index)
      return answer([word], .takenBack)
    }
    guard words.allSatisfy({ $0.action.isWithdrawn }) else {
      words.remove(at: index)
      return word.complete(
        failure: "Somebody else has asked for that as well, so it goes on; look whether the door is open.")
    }
    happens(.unlockTakenBack)
  }

  /// The radio works for the first time.
  func tellWords() {
    endLateWords()
    if !words.isEmpty { happens(.unlockAsked) }
  }

  /// Who spoke too long ago has been told that nothing came of it, and may be gone.
  private func endLateWords() {
    let late = words.filter { $0.isLate(at: time.now) }
    guard !late.isEmpty else { return }
    words.removeAll { $0.isLate(at: time.now) }
    answer(late.map(\.action), .notLinked)
  }

  func answerWord(_ outcome: WordOutcome) {
    let waiting = words
    words = []
    answer(waiting.map(\.action), outcome)
    endLinkIfOver()
  }

  private func answer(_ words: [UserAction], _ outcome: WordOutcome) {
    logger.record(Recorded.Agent.wordAnswered, [.outcome: outcome.rawValue])
    let failure = failure(outcome)
    for action in words {
      guard failure == nil, action.argument != nil, let latestAnswer,
        let text = try? JSONEncoder().encode(BoltAnswer(door: name, latestAnswer))
      else {
        action.complete(failure: failure)
        continue
      }
      action.complete(answer: String(decoding: text, as: UTF8.self))
    }
  }

  /// Why there is no link, as far as this phone knows.
  var noLink: NoAnswer {
    if CBCentralManager.authorization == .denied { return .notAllowed }
    return isBluetoothOff ? .switchedOff : .notLinked
  }

  /// Why a person's command was not carried out; `nil` if it was.
  func failure(_ outcome: WordOutcome) -> String? {
    switch outcome {
    case .done: nil
    case .notLinked: noLink.reason
    case .linkLost: "The link to the lock was lost before it answered; look whether the door is open."
    case .noAnswer where refusesPhone: NoAnswer.refusesPhone.reason
    case .noAnswer: "The lock did not answer; look whether the door is open, and try again."
    case .unreadable: NoAnswer.unreadableAnswer.reason
    case .failed:
      latestAnswer.map { $0.result.refusal ?? "\($0.failure) Try again, or use the key." }
        ?? "The lock could not turn its bolt; try again, or use the key."
    case .lockedAgain: "The lock opened the door as you asked, and the door has been locked since."
    case .overtaken: "The door is not unlocked: it was asked since that it be locked."
    case .takenBack: "That was given up before it was sent to the lock: nothing is unlocked for it."
    case .sentAlready:
      "The lock had been told to unlock before that was given up, and has not answered; look whether the door is open."
    case .notStored: "The agent's state can't be stored, and nothing is unlocked without that; is the disk full?"
    }
  }

  private func alert(_ text: String) {
    MainActor.assumeIsolated { AgentAlert(door: name, reason: .doubt).show(text) }
  }

  /// Asks the owner of a phone at the door.
  func show(_ doubt: Doubt) {
    let reason: String
    switch doubt {
    case .refused:
      // A command would be refused as well.
      let refusal = latestAnswer?.result.refusal ?? "The lock refuses that."
      return alert("You seem to be at your locked door, and it does not open for you. \(refusal)")
    case .jammed: reason = "its bolt does not move; push or pull the door a little"
    case .noApproach: reason = "nothing shows that you came to it"
    case .noSignal: reason = "the link's signal can't be read"
    case .somebodyInside: reason = "somebody inside has locked it"
    case .lockedAtHome: reason = "somebody was at home when it was locked, or you have not left through it"
    }
    alert("You seem to be at your locked door, but \(reason). To open it: latchkey unlock")
  }
}
