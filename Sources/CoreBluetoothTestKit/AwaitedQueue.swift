import Dispatch
import Foundation

/// A queue of an app that the home waits for, beside those of its managers.
///
/// A job may hold its queue until Bluetooth has answered, as in libraries whose commands return with the answer. Time has to pass
/// then. So a queue whose job has asked for something, and whose thread sleeps after longer than such a call takes, is left alone
/// until the app is told something. A job that still computes is waited for, however busy the computer is.
final class AwaitedQueue: @unchecked Sendable {
  /// How long a job may still take after it has asked for something, in the computer's time.
  private static let patience = DispatchTimeInterval.milliseconds(250)
  let label: String
  private let queue: AnyObject
  private let addBarrier: (@escaping @Sendable () -> Void) -> Void
  /// Whether the caller runs on this queue.
  private let isCurrent: () -> Bool
  private let lock = NSLock()
  private var hasAsked = false
  /// The thread of the job that asked last: its folder beneath /proc.
  private var thread: String?
  /// Counts what begins the patience anew.
  private var turn = 0
  private var isLeftAlone = false
  private var hasBarrier = false
  private var waiter: CheckedContinuation<Void, Never>?

  init(_ queue: DispatchQueue) {
    self.queue = queue
    label = queue.label
    let key = DispatchSpecificKey<Bool>()
    queue.setSpecific(key: key, value: true)
    isCurrent = { DispatchQueue.getSpecific(key: key) ?? false }
    addBarrier = { queue.async(flags: .barrier, execute: $0) }
  }

  init(_ queue: OperationQueue) {
    self.queue = queue
    label = queue.name ?? "an OperationQueue"
    isCurrent = { OperationQueue.current === queue }
    addBarrier = { queue.addBarrierBlock($0) }
  }

  func isSame(as other: AwaitedQueue) -> Bool { queue === other.queue }

  /// The app asks for something, perhaps in a job on this queue.
  func appAsks() {
    guard isCurrent() else { return }
    let thread = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
    let turn: Int? = lock.withLock {
      hasAsked = true
      self.thread = thread
      self.turn += 1
      return waiter == nil ? nil : self.turn
    }
    if let turn { leaveAloneLater(turn) }
  }

  /// The app is told something, for which a job may have waited.
  func appIsTold() {
    let turn: Int? = lock.withLock {
      isLeftAlone = false
      self.turn += 1
      return waiter != nil && hasAsked ? self.turn : nil
    }
    if let turn { leaveAloneLater(turn) }
  }

  /// Returns when what is on the queue has run, or when a job holds it.
  func pass() async {
    guard lock.withLock({ !isLeftAlone }) else { return }
    await withCheckedContinuation { continuation in
      let (isFirst, turn): (Bool, Int?) = lock.withLock {
        waiter = continuation
        self.turn += 1
        defer { hasBarrier = true }
        return (!hasBarrier, hasAsked ? self.turn : nil)
      }
      if isFirst { addBarrier { [self] in barrierRuns() } }
      if let turn { leaveAloneLater(turn) }
    }
  }

  private func barrierRuns() {
    let waiter = lock.withLock {
      (hasBarrier, hasAsked, isLeftAlone) = (false, false, false)
      defer { self.waiter = nil }
      return self.waiter
    }
    waiter?.resume()
  }

  private func leaveAloneLater(_ turn: Int) {
    RealTimers.after(Self.patience) { [self] in
      let (waiter, isBusy): (CheckedContinuation<Void, Never>?, Bool) = lock.withLock {
        guard self.turn == turn, hasAsked else { return (nil, false) }
        guard Self.sleeps(thread) else { return (nil, true) }
        isLeftAlone = true
        defer { self.waiter = nil }
        return (self.waiter, false)
      }
      if isBusy { leaveAloneLater(turn) }
      waiter?.resume()
    }
  }

  /// Whether a thread waits for something other than a processor or a disk (proc_pid_stat(5)).
  private static func sleeps(_ thread: String?) -> Bool {
    // The thread's name, in parentheses, may hold anything.
    guard let thread, let stat = try? String(contentsOfFile: "/proc/\(thread)/stat", encoding: .utf8),
      let nameEnd = stat.lastIndex(of: ")")
    else { return false }
    return stat[nameEnd...].dropFirst(2).first == "S"
  }
}
