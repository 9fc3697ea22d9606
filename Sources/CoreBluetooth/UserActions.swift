import Dispatch
import Synchronization

/// Something that the user asks this app to do, through the system's command.
///
/// It stands in for what a notification's action is on iOS (`UNNotificationResponse`): the app is started or woken in the
/// background for it and has some seconds to do it.
public final class UserAction: Sendable {
  /// What is to be done, in the app's own words.
  public let name: String
  private let completion: Mutex<(@Sendable (String?) -> Void)?>

  init(name: String, completion: @escaping @Sendable (String?) -> Void) {
    self.name = name
    self.completion = Mutex(completion)
  }

  /// Tells the user that it is done, or why it could not be. The first call counts.
  ///
  /// - Parameter failure: a line for a person, of at most 512 bytes; `nil`: it is done.
  public func complete(failure: String? = nil) {
    completion.withLock { completion in
      defer { completion = nil }
      return completion
    }?(failure)
  }
}

/// What the user asks of this app.
public enum UserActions {
  /// Sets the handler of what the user asks for. What was asked before is handed over at once.
  public static func setHandler(
    queue: DispatchQueue = .main, _ handler: @escaping @Sendable (UserAction) -> Void
  ) {
    AppSession.active.setActionHandler(queue, handler)
  }
}

/// A line that this app shows its user, as a notification does on iOS; the system's journal and `latchkey status` show it.
public enum UserAlert {
  /// Shows this line, of at most 512 bytes, in place of an earlier one.
  public static func show(_ text: String) { AppSession.active.showAlert(text) }

  /// Takes the line back.
  public static func clear() { AppSession.active.showAlert(nil) }
}
