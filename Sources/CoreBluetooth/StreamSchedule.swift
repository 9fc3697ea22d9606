import BluetoothTypes
import Dispatch
import Foundation

/// Where a channel's stream calls its delegate: on the run loops and in the modes that the app chose.
///
/// The main run loop's calls come through the main queue, so that they come in a program that uses `dispatchMain()` as well.
/// A manager's delegate may run on a queue of its own, where `RunLoop.current` never runs: a stream that is scheduled there
/// calls its delegate on that queue. An app may also choose a queue itself, in place of run loops.
struct StreamSchedule {
  private enum Target {
    case main
    case queue(SerialDelivery)
    /// `staying` is a timer that keeps the run loop running: without a source or a timer, `run(mode:before:)` returns
    /// at once.
    case runLoop(RunLoop, RunLoop.Mode, staying: Timer)
  }

  private var targets: [(runLoop: RunLoop, mode: RunLoop.Mode, target: Target)] = []
  private var chosenQueue: SerialDelivery?
  /// How the manager that has opened the channel calls its delegate.
  private let manager: SerialDelivery?
  private static let queueKey = DispatchSpecificKey<Mark>()

  /// What a manager's queue is known by. The queue keeps it, so it does not keep the queue.
  private struct Mark: Sendable {
    let queue: ObjectIdentifier
    weak let delivery: SerialDelivery?
  }

  init(_ manager: SerialDelivery?) { self.manager = manager }

  /// Marks a manager's queue, so that `add` recognises code that runs on it. Calls on that queue take turns with the
  /// manager's own delegate calls.
  static func mark(_ queue: DispatchQueue, _ delivery: SerialDelivery) {
    queue.setSpecific(key: queueKey, value: Mark(queue: ObjectIdentifier(queue), delivery: delivery))
  }

  /// How a manager calls its delegate on the queue on which this code runs: this channel's manager, if it is its queue. `nil` if it
  /// is no manager's queue.
  private var currentDelivery: SerialDelivery? {
    guard let mark = DispatchQueue.getSpecific(key: Self.queueKey) else { return nil }
    if let manager, ObjectIdentifier(manager.queue) == mark.queue { return manager }
    return mark.delivery
  }

  var isEmpty: Bool { targets.isEmpty && chosenQueue == nil }

  /// The stream calls its delegate on this queue, and on no run loop. `nil` takes that back.
  mutating func choose(_ queue: DispatchQueue?) {
    removeAll()
    chosenQueue = queue.map { SerialDelivery($0) }
  }

  mutating func add(_ runLoop: RunLoop, _ mode: RunLoop.Mode) {
    guard !targets.contains(where: { $0.runLoop === runLoop && $0.mode == mode }) else { return }
    chosenQueue = nil
    let target: Target =
      if runLoop === RunLoop.main {
        .main
      } else if runLoop === RunLoop.current, let delivery = currentDelivery {
        .queue(delivery)
      } else {
        .runLoop(runLoop, mode, staying: Self.stay(on: runLoop, mode))
      }
    targets.append((runLoop, mode, target))
  }

  private static func stay(on runLoop: RunLoop, _ mode: RunLoop.Mode) -> Timer {
    let timer = Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }
    runLoop.add(timer, forMode: mode)
    return timer
  }

  mutating func remove(_ runLoop: RunLoop, _ mode: RunLoop.Mode) {
    remove { $0 === runLoop && $1 == mode }
  }

  /// Leaves all run loops, as when the stream is closed.
  mutating func removeAll() { remove { _, _ in true } }

  private mutating func remove(_ isMeant: (RunLoop, RunLoop.Mode) -> Bool) {
    for entry in targets where isMeant(entry.runLoop, entry.mode) {
      if case .runLoop(_, _, let timer) = entry.target { timer.invalidate() }
    }
    targets.removeAll { isMeant($0.runLoop, $0.mode) }
  }

  /// Runs `work` on the chosen queue, or else on the first run loop.
  /// - Parameter hold: keeps virtual time from passing until `work`, and what it put on its queue, has run.
  func perform(_ work: @escaping @Sendable () -> Void, _ hold: (any ChannelHold)?) {
    if let chosenQueue { return chosenQueue.async(Self.releasing(hold, after: work, on: chosenQueue.queue)) }
    switch targets.first?.target {
    case .main: DispatchQueue.main.async(execute: Self.releasing(hold, after: work, on: .main))
    case .queue(let delivery): delivery.async(Self.releasing(hold, after: work, on: delivery.queue))
    case .runLoop(let runLoop, let mode, _):
      // A timer wakes a run loop of another thread, which `perform(inModes:)` does not.
      let timer = Timer(fire: Date(), interval: 0, repeats: false) { _ in
        work()
        hold?.release()
      }
      runLoop.add(timer, forMode: mode)
      // The thread may never run its run loop, so the hold ends after a while.
      if let hold { DispatchQueue.global().asyncAfter(deadline: .now() + Self.runLoopPatience) { hold.release() } }
    case nil: hold?.release()
    }
  }

  /// How long virtual time waits for a run loop, in real time.
  private static let runLoopPatience = DispatchTimeInterval.seconds(5)

  private static func releasing(
    _ hold: (any ChannelHold)?, after work: @escaping @Sendable () -> Void, on queue: DispatchQueue
  ) -> @Sendable () -> Void {
    guard let hold else { return work }
    return {
      work()
      queue.async { hold.release() }
    }
  }
}
