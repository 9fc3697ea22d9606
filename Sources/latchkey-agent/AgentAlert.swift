import CoreBluetooth

/// What this agent shows its user. The system shows one line of an app at a time, so the line about one thing must not be taken back
/// when another one is over.
@MainActor struct AgentAlert: Equatable {
  enum Reason: Equatable {
    /// The person at the door is asked.
    case doubt
    /// The lock's clock and this phone's differ.
    case clock
    case log
  }

  let door: String
  let reason: Reason

  /// Shown by this process. One that ran before may have shown something else, which is not known.
  private static var shown: AgentAlert?

  func show(_ text: String) {
    Self.shown = self
    UserAlert.show(text)
  }

  func takeBack() {
    guard Self.shown == nil || Self.shown == self else { return }
    Self.shown = nil
    UserAlert.clear()
  }
}
