/// What a hand can do to a simulated lock besides moving its door and its thumb-turn: the steps `lock motor`, `lock
/// battery`, `lock cover`, `lock mode`, `lock reset` and `lock enrolment`.
package enum LockHand: Sendable, Equatable {
  /// What is wrong with its motor.
  package enum Motor: String, Sendable, CaseIterable {
    /// The bolt does not arrive.
    case jam
    /// As `jam`, and the motor's current shows it.
    case stall
    case none
  }

  /// The button for the operating mode.
  package enum Mode: String, Sendable, CaseIterable {
    case normal
    case privacy
    case passage
    case noRemoteLockUnlock
  }

  /// The side of the door from which a hand turns the bolt.
  package enum Side: String, Sendable, CaseIterable {
    case inside
    case outside
  }

  case motor(Motor)
  /// The battery's charge in percent, and how many percent each turn of the motor takes.
  case battery(percent: Int?, drain: Int?)
  case cover(isOff: Bool)
  case mode(Mode)
  case resetButton(isPressed: Bool)
  /// The button that opens the window for enrolments.
  case enrolmentButton

  /// For people.
  package func summary(on machine: String) -> String {
    switch self {
    case .motor(.none): "the motor of the lock at \(machine) works again"
    case .motor(let fault): "the motor of the lock at \(machine) will \(fault.rawValue)"
    case .battery(let percent?, _): "the battery of the lock at \(machine) has \(percent) % left"
    case .battery(nil, let drain): "each turn of the bolt at \(machine) takes \(drain ?? 0) % of its battery"
    case .cover(let isOff):
      "somebody \(isOff ? "takes the cover off" : "puts the cover back on") the lock at \(machine)"
    case .mode(let mode): "somebody inside sets the lock at \(machine) to \(mode.rawValue)"
    case .resetButton(let isPressed):
      "somebody \(isPressed ? "presses" : "lets go of") the reset button of the lock at \(machine)"
    case .enrolmentButton: "somebody presses the button for enrolments of the lock at \(machine)"
    }
  }
}
