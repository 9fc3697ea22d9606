import CoreBluetooth
import HomePolicy
import LockProtocol

/// What the agent tells the user of its machine about the door: only what the lock has answered.
struct DoorReports {
  /// What the user calls the door.
  let subject: String
  /// The lock's last answer, in words.
  private var last: String?

  init(subject: String) { self.subject = subject }

  mutating func linkUp() { tell("within reach") }

  mutating func linkDown() { tell("out of reach") }

  /// The lock may be within reach, and refuses this phone.
  func turnedAway() { tell("refuses this phone") }

  /// - Parameters:
  ///   - command: what the lock was asked.
  ///   - because: why the door was to be opened, if it was.
  mutating func answered(_ answer: LockAnswer, to command: HomeCommand, because reason: OpeningReason?) {
    let bolt =
      switch answer.lockState {
      case .locked: "locked"
      case .unlocked: "unlocked"
      case .notFullyLocked: "neither locked nor unlocked"
      }
    let state = "\(bolt), door \(answer.doorState == .open ? "open" : "shut")"
    last = state
    UserReport.state(state, of: subject)
    // Without an operation, the agent only said that it is there.
    guard answer.operation != 0 else { return }
    if let text = Self.movement(answer, isLocking: command == .lock, because: reason) {
      UserReport.movement(text, of: subject)
    }
  }

  /// What became of a command, in words; `nil` if there is nothing to tell.
  static func movement(_ answer: LockAnswer, isLocking: Bool, because reason: OpeningReason?) -> String? {
    let not = isLocking ? "not locked" : "not unlocked"
    switch answer.result {
    case .done:
      let isAsked = isLocking || reason == .word
      let done = "\(isLocking ? "locked" : "unlocked"), \(isAsked ? "as you asked" : "because you came")"
      // The phone may learn of it hours later.
      switch answer.lockState {
      case .locked: return isLocking ? done : done + "; locked since"
      case .unlocked: return isLocking ? done + "; unlocked since" : done
      case .notFullyLocked: return done + "; not any more"
      }
    case .notNeeded, .unknownOperation: return nil
    case .failed:
      return "\(not): its bolt \(answer.lockState == .notFullyLocked ? "stopped on its way" : "did not move")"
    case .doorOpen: return "\(not): the door is open"
    case .busy: return "\(not): the lock is busy"
    case .somebodyInside: return "\(not): somebody inside has locked it"
    case .insufficientBattery: return "\(not): its battery is empty"
    case .restricted: return "\(not): its mode does not allow it"
    case .outsideSchedule, .expired, .revoked, .usedUp, .clockUnknown, .notPermitted, .tooManyGrants,
      .tooManyGuests, .unrecognised:
      return "\(not): \(answer.result.refusal ?? "the lock refuses that")"
    case .lockedAtHome: return "\(not): somebody was at home when it was locked"
    }
  }

  private func tell(_ reach: String) {
    UserReport.state(last.map { "\(reach), was last \($0)" } ?? reach, of: subject)
  }
}
