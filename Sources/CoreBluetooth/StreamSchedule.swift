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
    /// With the timer that keeps the run loop running: without a source or a timer `run(mode:before:)` returns at once.
    case runLoop(RunLoop, RunLoop.Mode, staying: Timer)
  }

  private var targets: [(runLoop: RunLoop, mode: RunLoop.Mode, target: Target)] = []
  private var chosenQueue: SerialDelivery?
  private static let queueKey = DispatchSpecificKey<SerialDelivery>()

  /// Lets code on a manager's queue be recognised. What runs there takes turns with the manager's own calls.
  static func mark(_ queue: DispatchQueue, _ delivery: SerialDelivery) {
    queue.setSpecific(key: queueKey, value: delivery)
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
      } else if runLoop === RunLoop.current, let queue = DispatchQueue.getSpecific(key: Self.queueKey) {
        .queue(queue)
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

  /// Leaves all run loops, as a stream does that is closed.
  mutating func removeAll() { remove { _, _ in true } }

  private mutating func remove(_ isMeant: (RunLoop, RunLoop.Mode) -> Bool) {
    for entry in targets where isMeant(entry.runLoop, entry.mode) {
      if case .runLoop(_, _, let timer) = entry.target { timer.invalidate() }
    }
    targets.removeAll { isMeant($0.runLoop, $0.mode) }
  }

  /// Runs `work` on the chosen queue, or else on the first run loop.
  func perform(_ work: @escaping @Sendable () -> Void) {
    if let chosenQueue { return chosenQueue.async(work) }
    switch targets.first?.target {
    case .main: DispatchQueue.main.async(execute: work)
    case .queue(let delivery): delivery.async(work)
    case .runLoop(let runLoop, let mode, _):
      // A timer wakes a run loop of another thread, which `perform(inModes:)` does not.
      let timer = Timer(fire: Date(), interval: 0, repeats: false) { _ in work() }
      runLoop.add(timer, forMode: mode)
    case nil: break
    }
  }
}
