import AppLink
import BluetoothTypes

/// Connection events that were sent to an app's process and that it has not handled, in their order.
struct UnhandledConnections: Sendable {
  private var sent: [(sequence: EventSequence, waiting: App.Waiting)] = []

  /// A connection event was sent as the event of that number.
  mutating func append(_ waiting: App.Waiting, as sequence: EventSequence) { sent.append((sequence, waiting)) }

  /// The process has handled the events up to that number. Returns those of them that are kept here.
  mutating func handled(through sequence: EventSequence) -> [App.Waiting] {
    let done = sent.prefix { $0.sequence <= sequence }
    sent.removeFirst(done.count)
    return done.map(\.waiting)
  }

  /// Whether the manager was sent the end of its connection or request, and has not handled it.
  func hasEnd(of manager: ManagerKey, _ peer: PeerIdentifier) -> Bool {
    sent.contains { entry in
      entry.waiting.manager == manager && entry.waiting.body.connectionPeer == peer
        && entry.waiting.body.connectionState == .disconnected
    }
  }

  /// The app has itself decided about its connection since, so older events about it no longer matter.
  /// - Parameter peer: `nil` for all connections of the manager.
  mutating func overtake(_ manager: ManagerKey, _ peer: PeerIdentifier? = nil) {
    sent.removeAll { $0.waiting.manager == manager && (peer == nil || $0.waiting.body.connectionPeer == peer) }
  }

  /// The process has ended. Returns what it did not handle.
  mutating func takeAll() -> [App.Waiting] {
    defer { sent = [] }
    return sent.map(\.waiting)
  }
}
