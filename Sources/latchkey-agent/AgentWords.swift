import CoreBluetooth
import HomePolicy
import LockProtocol

/// What the agent says to the person whose phone this is.
extension AgentApp {
  /// Why there is no link, as far as this phone knows.
  var noLink: NoAnswer { CBCentralManager.authorization == .denied ? .notAllowed : .notLinked }

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
