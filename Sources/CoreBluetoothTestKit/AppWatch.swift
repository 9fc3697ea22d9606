import BluetoothTypes
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

  /// How many calls were forgotten.
  private var forgotten = 0

  var calls: [SimulatedDelegateCall] { lock.withLock { collected } }

  /// How many calls there were when time last passed. The test's own actions cause the calls that have come since. The
  /// app handles such actions on its own threads, at once or a little later.
  var seenCount: Int { lock.withLock { seen } }
  private var seen = 0

  /// Time has passed, and the app is quiet.
  func isSeen() { lock.withLock { seen = forgotten + collected.count } }

  /// The first matching call after the first `count` calls.
  func first(after count: Int, where fits: (SimulatedDelegateCall) -> Bool) -> SimulatedDelegateCall? {
    lock.withLock { collected.dropFirst(max(0, count - forgotten)).first(where: fits) }
  }

  func add(_ call: SimulatedDelegateCall) {
    lock.withLock {
      if collected.count >= Self.limit {
        collected.removeFirst(Self.limit / 2)
        forgotten += Self.limit / 2
      }
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
  /// How often something that follows from the end of an object is not done yet.
  private var tidyings = 0
  /// How many calls of stream delegates have not returned, how many calls have a thread that waits in a stream, and how
  /// many threads are about to go on.
  private var dueCalls = 0
  private var waitingCalls = 0
  private var wokenThreads = 0
  private var usesThreads = false
  /// Tells the home to look again whether the app does anything. Set once, before the app runs.
  var onChange: @Sendable () -> Void = {}

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

  private final class Tidying: Sendable {
    private let watch: AppWatch
    init(_ watch: AppWatch) { self.watch = watch }
    deinit { watch.change { watch.tidyings -= 1 } }
  }

  var isTidying: Bool { lock.withLock { tidyings > 0 } }

  func tidyingBegins() -> any AnyObject & Sendable {
    lock.withLock { tidyings += 1 }
    return Tidying(self)
  }

  func delegateIsTold(_ news: DelegateNews) {
    history.add(
      SimulatedDelegateCall(
        time: .nanoseconds(clock.now.nanoseconds), launch: launch, method: news.method, manager: news.manager,
        peer: news.peer, attribute: news.attribute, value: news.value, error: news.error))
  }
}

/// The streams of L2CAP channels.
extension AppWatch {
  /// Released when a call has returned, or a thread has gone on.
  private final class Hold: ChannelHold, @unchecked Sendable {
    /// How long the home's time waits for a thread that may never come back, in seconds of the computer's time.
    private static let patience = DispatchTimeInterval.seconds(5)
    let isOfThread: Bool
    private let lock = NSLock()
    private var end: (() -> Void)?
    init(isOfThread: Bool = false, _ end: @escaping () -> Void) {
      self.isOfThread = isOfThread
      self.end = end
      guard isOfThread else { return }
      RealTimers.after(Self.patience) { [weak self] in self?.release() }
    }
    deinit { release() }
    func release() {
      let end = lock.withLock {
        defer { self.end = nil }
        return self.end
      }
      end?()
    }
  }

  private func change(_ change: () -> Void) {
    lock.withLock(change)
    onChange()
  }

  /// A stream's delegate is to be called.
  func callIsDue() -> any ChannelHold {
    change { dueCalls += 1 }
    return Hold { self.change { self.dueCalls -= 1 } }
  }

  /// A thread of the app waits in a stream.
  private struct Wait: ChannelWait {
    let watch: AppWatch
    /// Whether the thread belongs to a call of the app by the library.
    let isInCall: Bool

    func end() -> any ChannelHold {
      watch.change {
        if isInCall { watch.waitingCalls -= 1 }
        watch.wokenThreads += 1
      }
      return Hold(isOfThread: !isInCall) { watch.change { watch.wokenThreads -= 1 } }
    }
  }

  /// The calling thread begins to wait in a stream. It can go on only after time has passed.
  func waitBegins() -> any ChannelWait {
    // A call by the library gives the app's identity to its thread, and a thread of the app's own has none. A task is
    // not a call that holds others up.
    let isInCall = AppSession.current != nil && withUnsafeCurrentTask { $0 == nil }
    change {
      if isInCall { waitingCalls += 1 } else { usesThreads = true }
    }
    return Wait(watch: self, isInCall: isInCall)
  }

  var hasDueCalls: Bool { lock.withLock { dueCalls > 0 } }
  var hasWaitingCalls: Bool { lock.withLock { waitingCalls > 0 } }
  var hasWokenThreads: Bool { lock.withLock { wokenThreads > 0 } }
  /// Whether threads of the app's own have ever waited in streams.
  var hasOwnThreads: Bool { lock.withLock { usesThreads } }
}
