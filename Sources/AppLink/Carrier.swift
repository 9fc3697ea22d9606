/// The app's end of the link to the system. Two carriers implement it: `AppLinkBus` over D-Bus, and
/// `CoreBluetoothTestKit` inside one process.
public protocol AppLinkConnection: AnyObject, Sendable {
  /// Says something to the system, in order. What is said while the system is away is dropped: the library
  /// says again what still matters when `AppLinkDelegate.linkDidAttach` tells it that the system is back.
  func send(_ request: Request)
  /// Asks and waits for the answer; blocks the calling thread.
  func query(_ query: Query) throws(AppLinkError) -> QueryReply
}

/// What the link tells the library; always from one thread at a time, in order.
public protocol AppLinkDelegate: AnyObject, Sendable {
  /// The app is attached: for the first time, or again after the system went away.
  func linkDidAttach(_ reply: AttachReply)
  func linkDidReceive(_ event: Event)
  /// The system went away (it restarts by itself and the link attaches again).
  func linkDidDetach()
  /// The system refuses this app; the link tries again only after the system restarted.
  func linkWasRefused(_ error: AppLinkError)
  /// What to say in the next `attach`.
  var attachment: Attachment { get }
}
