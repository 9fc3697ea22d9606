import CoreBluetooth
import Foundation
import Timekeeping

/// What is known of an installed app over all its runs: what its delegates were told, and its log.
final class AppHistory: @unchecked Sendable {
  /// More than a test looks at. After these, the older half is forgotten.
  private static let limit = 200_000
  let log = LogCollector()
  private let lock = NSLock()
  private var collected: [SimulatedDelegateCall] = []

  var calls: [SimulatedDelegateCall] { lock.withLock { collected } }

  func add(_ call: SimulatedDelegateCall) {
    lock.withLock {
      if collected.count >= Self.limit { collected.removeFirst(Self.limit / 2) }
      collected.append(call)
    }
  }
}

/// Watches one run of an app: what its delegates are told, and whether anything that it began still runs.
final class AppWatch: SessionObserver, @unchecked Sendable {
  private let history: AppHistory
  private let launch: Int
  private let clock: ManualClock
  private let lock = NSLock()
  private var live = 0

  init(_ history: AppHistory, launch: Int, clock: ManualClock) {
    (self.history, self.launch, self.clock) = (history, launch, clock)
  }

  /// Released when the app's code has returned, and all tasks that it began have ended.
  private final class Work: Sendable {
    private let watch: AppWatch
    init(_ watch: AppWatch) { self.watch = watch }
    deinit { watch.lock.withLock { watch.live -= 1 } }
  }

  var isWorking: Bool { lock.withLock { live > 0 } }

  func workBegins() -> any AnyObject & Sendable {
    lock.withLock { live += 1 }
    return Work(self)
  }

  func delegateIsTold(_ news: DelegateNews) {
    history.add(
      SimulatedDelegateCall(
        time: .nanoseconds(clock.now.nanoseconds), launch: launch, method: news.method, manager: news.manager,
        peer: news.peer, attribute: news.attribute, value: news.value, error: news.error))
  }
}
