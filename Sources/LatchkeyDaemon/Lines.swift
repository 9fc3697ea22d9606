import BluetoothSystem
import DequeModule
import Synchronization

/// A queue for each app, in front of the loop. Only a few of an app's requests are in the loop at a time; the rest
/// wait here. So an app that sends a lot waits for its own requests, and other apps do not.
final class Lines: Sendable {
  private typealias Entry = (event: BluetoothSystem.Event, whenDone: @Sendable () -> Void)

  private struct Line {
    var inLoop = 0
    var waiting: Deque<Entry> = []
  }

  /// The most requests of one app in the loop.
  static let limit = 4

  private let lines = Mutex<[AppLinkIdentifier: Line]>([:])
  private let put: @Sendable (BluetoothSystem.Event, @escaping @Sendable () -> Void) -> Void

  convenience init(loop: SystemLoop) {
    self.init { event, whenDone in loop.handle(event, whenDone: whenDone) }
  }

  /// - Parameter put: takes an event at once, and calls back when it has been handled.
  init(put: @escaping @Sendable (BluetoothSystem.Event, @escaping @Sendable () -> Void) -> Void) { self.put = put }

  /// Events of one link keep their order. Can be called from any thread.
  func enter(
    _ link: AppLinkIdentifier, _ event: BluetoothSystem.Event, whenDone: @escaping @Sendable () -> Void = {}
  ) {
    lines.withLock { lines in
      lines[link, default: Line()].waiting.append((event, whenDone))
      advance(&lines, link)
    }
  }

  private func leave(_ link: AppLinkIdentifier) {
    lines.withLock { lines in
      lines[link]?.inLoop -= 1
      advance(&lines, link)
    }
  }

  /// Under the lock, so that events leave in the order in which they came.
  private func advance(_ lines: inout [AppLinkIdentifier: Line], _ link: AppLinkIdentifier) {
    guard var line = lines.removeValue(forKey: link) else { return }
    while line.inLoop < Self.limit, let next = line.waiting.popFirst() {
      line.inLoop += 1
      put(next.event) { [self] in
        next.whenDone()
        leave(link)
      }
    }
    if line.inLoop > 0 { lines[link] = line }
  }
}
