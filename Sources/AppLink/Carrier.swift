/// The app's end of the link to the system. There are two carriers: `AppLinkBus` over D-Bus, and
/// `CoreBluetoothTestKit` inside one process.
package protocol AppLinkConnection: AnyObject, Sendable {
  /// Sends a request to the system, in order. Requests sent while the system is away are dropped: the library repeats
  /// what still matters when `AppLinkDelegate.linkDidAttach` tells it that the system is back.
  func send(_ request: Request)
  /// Creates a manager for an app that is not attached yet. A carrier on which an answer takes a while sends this right
  /// behind the attachment, so that the app's state arrives without another round trip. The carrier keeps the request
  /// until the system has taken it, until the system refuses the app for good, or until it goes away from an app that
  /// was attached.
  ///
  /// Returns `false` if the carrier does not do that. The library then sends the request when it is attached.
  func createEarly(_ manager: ManagerIdentifier, _ creation: ManagerCreation) -> Bool
  /// A manager that was created early is gone before the app was attached.
  func destroyEarly(_ manager: ManagerIdentifier)
  /// Asks and waits for the answer. Blocks the calling thread. Throws `unavailable` if the system is away.
  func query(_ query: Query) throws(AppLinkError) -> QueryReply
}

extension AppLinkConnection {
  package func createEarly(_ manager: ManagerIdentifier, _ creation: ManagerCreation) -> Bool { false }
  package func destroyEarly(_ manager: ManagerIdentifier) {}
}

/// What the link tells the library; always from one thread at a time, in order.
package protocol AppLinkDelegate: AnyObject, Sendable {
  /// The app is attached, for the first time or again after the system went away.
  func linkDidAttach(_ reply: AttachReply)
  func linkDidReceive(_ event: Event)
  /// The system went away. It restarts by itself, and the link attaches again.
  func linkDidDetach()
  /// The system refuses this app. The link tries again only after the system has restarted.
  func linkWasRefused(_ error: AppLinkError)
  /// What to send in the next `attach`.
  var attachment: Attachment { get }
}
