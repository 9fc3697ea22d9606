import CoreBluetooth

/// What this agent shows its user. The system shows only one line of an app at a time. So the line about one thing must
/// not be taken back when something else is over.
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

  /// The alert that this process shows. An earlier process may have shown another one, which is not known.
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
