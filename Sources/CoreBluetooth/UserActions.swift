import Dispatch
import Synchronization

/// An action that the user asks of this app through the `latchkey` command.
///
/// It corresponds to a notification's action on iOS (`UNNotificationResponse`): the app is started or woken in the
/// background for it and has some seconds to perform it.
public final class UserAction: Sendable {
  /// The name of the action, defined by the app.
  public let name: String
  /// What the user's question is about, in a form defined by the app, or `nil` if this is not a question. It may be
  /// secret: the system does not record it.
  public let argument: String?
  private let completion: Mutex<(@Sendable (Outcome) -> Void)?>
  private let withdrawal = Mutex(Withdrawal())

  private struct Withdrawal {
    var hasHappened = false
    var handler: (queue: DispatchQueue, handle: @Sendable () -> Void)?
  }

  enum Outcome {
    case done
    case answered(String)
    case failed(String)
  }

  init(name: String, argument: String?, completion: @escaping @Sendable (Outcome) -> Void) {
    self.name = name
    self.argument = argument
    self.completion = Mutex(completion)
  }

  /// Tells the user that the action is done, or why it could not be. Only the first call counts.
  ///
  /// - Parameter failure: a line for a person, of at most 512 bytes, or `nil` if the action is done.
  public func complete(failure: String? = nil) { end(failure.map { .failed($0) } ?? .done) }

  /// Answers the user's question. Only the first call counts.
  ///
  /// - Parameter answer: at most 65,536 bytes, in a form defined by the app. An action's user does not see it.
  public func complete(answer: String) { end(.answered(answer)) }

  /// Whether nobody waits for this action any more: its user has given it up or has waited for too long, or the system is gone. Begin
  /// nothing for it.
  public var isWithdrawn: Bool { withdrawal.withLock { $0.hasHappened } }

  /// Sets what is called, once, when the action is withdrawn (`isWithdrawn`) before it is complete. It is called at once if that has
  /// happened.
  ///
  /// The app then has five seconds to complete the action: with its answer if what was asked for is done, or with a failure that says what
  /// became of it.
  public func onWithdrawal(queue: DispatchQueue = .main, _ handler: @escaping @Sendable () -> Void) {
    let isLate = withdrawal.withLock { withdrawal in
      if !withdrawal.hasHappened { withdrawal.handler = (queue, handler) }
      return withdrawal.hasHappened
    }
    if isLate { queue.async(execute: handler) }
  }

  func withdraw() {
    let handler = withdrawal.withLock { withdrawal in
      defer { withdrawal.handler = nil }
      withdrawal.hasHappened = true
      return withdrawal.handler
    }
    if let handler { handler.queue.async(execute: handler.handle) }
  }

  private func end(_ outcome: Outcome) {
    completion.withLock { completion in
      defer { completion = nil }
      return completion
    }?(outcome)
    // The handler may hold the action.
    withdrawal.withLock { $0.handler = nil }
  }
}

/// The actions that the user asks of this app.
public enum UserActions {
  /// Sets the handler of user actions. Actions asked for earlier are passed to it at once.
  public static func setHandler(
    queue: DispatchQueue = .main, _ handler: @escaping @Sendable (UserAction) -> Void
  ) {
    AppSession.active.setActionHandler(queue, handler)
  }
}

/// A line that this app shows its user, as a notification does on iOS. The system's journal and `latchkey status`
/// show it.
public enum UserAlert {
  /// Shows this line, of at most 512 bytes, instead of an earlier one.
  public static func show(_ text: String) { AppSession.active.showAlert(text) }

  /// Takes the line back.
  public static func clear() { AppSession.active.showAlert(nil) }
}
