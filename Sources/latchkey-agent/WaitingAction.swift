import CoreBluetooth
import TimeTypes

/// What a person asked, and when. It is for now: its process may have to wait for its radio, or for what was asked before.
struct WaitingAction {
  let action: UserAction
  private let since: Instant

  /// How long it may wait before anything is done for it. What is done then takes up to 32 s (`HomeConfiguration.lastWriting`), and
  /// latchkeyd tells the person after 45 s that the app did not answer.
  static let patience: Duration = .seconds(12)

  init(_ action: UserAction, at now: Instant) {
    self.action = action
    since = now
  }

  func isLate(at now: Instant) -> Bool { now - since > Self.patience }
}
