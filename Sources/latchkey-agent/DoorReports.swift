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
    let isLocking = command == .lock
    let not = isLocking ? "not locked" : "not unlocked"
    switch answer.result {
    case .done where isLocking: UserReport.movement("locked, as you asked", of: subject)
    case .done:
      UserReport.movement(reason == .word ? "unlocked, as you asked" : "unlocked, because you came", of: subject)
    case .notNeeded, .unknownOperation: break
    case .failed: UserReport.movement("\(not): its bolt did not move", of: subject)
    case .doorOpen: UserReport.movement("\(not): the door is open", of: subject)
    case .busy: UserReport.movement("\(not): the lock is busy", of: subject)
    case .somebodyInside: UserReport.movement("\(not): somebody inside has locked it", of: subject)
    case .insufficientBattery: UserReport.movement("\(not): its battery is empty", of: subject)
    case .restricted: UserReport.movement("\(not): its mode does not allow it", of: subject)
    case .outsideSchedule, .expired, .revoked, .usedUp, .clockUnknown, .notPermitted, .tooManyGrants,
      .tooManyGuests, .unrecognised:
      UserReport.movement("\(not): \(answer.result.refusal ?? "the lock refuses that")", of: subject)
    case .lockedAtHome:
      UserReport.movement("\(not): somebody was at home when it was locked", of: subject)
    }
  }

  private func tell(_ reach: String) {
    UserReport.state(last.map { "\(reach), was last \($0)" } ?? reach, of: subject)
  }
}
