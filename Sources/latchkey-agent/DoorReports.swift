import CoreBluetooth
import HomePolicy
import LockProtocol

/// What the agent tells the user of its machine about the door: only what the lock has answered.
struct DoorReports {
  private static let subject = "Door"
  /// The lock's last answer, in words.
  private var last: String?

  mutating func linkUp() { tell("within reach") }

  mutating func linkDown() { tell("out of reach") }

  /// - Parameter because: why the door was to be opened, if it was.
  mutating func answered(_ answer: LockAnswer, because reason: OpeningReason?) {
    let bolt =
      switch answer.lockState {
      case .locked: "locked"
      case .unlocked: "unlocked"
      case .notFullyLocked: "neither locked nor unlocked"
      }
    let state = "\(bolt), door \(answer.doorState == .open ? "open" : "shut")"
    last = state
    UserReport.state(state, of: Self.subject)
    // Without an operation, the agent only said that it is there.
    guard answer.operation != 0 else { return }
    switch answer.result {
    case .done:
      UserReport.movement(reason == .word ? "unlocked, as you asked" : "unlocked, because you came", of: Self.subject)
    case .notNeeded, .unknownOperation: break
    case .failed: UserReport.movement("not unlocked: its bolt did not move", of: Self.subject)
    case .doorOpen: UserReport.movement("not unlocked: the door is open", of: Self.subject)
    case .busy: UserReport.movement("not unlocked: the lock is busy", of: Self.subject)
    case .somebodyInside: UserReport.movement("not unlocked: somebody inside has locked it", of: Self.subject)
    case .insufficientBattery: UserReport.movement("not unlocked: its battery is empty", of: Self.subject)
    case .restricted: UserReport.movement("not unlocked: its mode does not allow it", of: Self.subject)
    case .lockedAtHome:
      UserReport.movement("not unlocked: somebody was at home when it was locked", of: Self.subject)
    }
  }

  private func tell(_ reach: String) {
    UserReport.state(last.map { "\(reach), was last \($0)" } ?? reach, of: Self.subject)
  }
}
