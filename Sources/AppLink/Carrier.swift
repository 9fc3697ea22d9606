/// The app's end of the link to the system. There are two carriers: `AppLinkBus` over D-Bus, and
/// `CoreBluetoothTestKit` inside one process.
package protocol AppLinkConnection: AnyObject, Sendable {
  /// Sends a request to the system, in order. Requests sent while the system is away are dropped: the library repeats
  /// what still matters when `AppLinkDelegate.linkDidAttach` tells it that the system is back.
  func send(_ request: Request)
  /// Asks and waits for the answer. Blocks the calling thread.
  func query(_ query: Query) throws(AppLinkError) -> QueryReply
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
