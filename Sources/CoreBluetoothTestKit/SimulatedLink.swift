import AppLink
import CoreBluetooth
import Foundation

/// The link between an app's library and the system of its machine. The library hears of its beginning and its end later
/// than the system, because it is told on a queue of its own. What one side says over a link that the other side does not
/// know is lost, as on the bus.
final class SimulatedLink: @unchecked Sendable {
  private let lock = NSLock()
  private var heard: UInt64?
  /// Locked while the library takes an event, and while it is asked what it has heard. So an event either counts in what
  /// it answers, or is lost with its link.
  private let taking = NSLock()
  private var open: UInt64?

  /// The link that the library knows, over which it sends.
  var known: UInt64? { lock.withLock { heard } }

  /// The system has a new link to the library, or none.
  func becomes(_ link: UInt64?) { taking.withLock { open = link } }

  /// A link begins with what the library says of itself.
  func begin(_ link: UInt64, _ session: AppSession) -> Attachment {
    taking.withLock {
      open = link
      return session.attachment
    }
  }

  // MARK: On the library's queue

  func isAttached(_ link: UInt64, _ session: AppSession, _ reply: AttachReply) {
    lock.withLock { heard = link }
    session.linkDidAttach(reply)
  }

  func isDetached(_ session: AppSession) {
    lock.withLock { heard = nil }
    session.linkDidDetach()
  }

  func receive(_ event: AppLink.Event, over link: UInt64?, _ session: AppSession) {
    taking.withLock {
      if link == open { session.linkDidReceive(event) }
    }
  }
}
