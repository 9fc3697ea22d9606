import Dispatch
import Foundation

/// Where a channel's stream calls its delegate: on the run loops and in the modes that the app chose.
///
/// The main run loop's calls come through the main queue, so that they come in a program that uses `dispatchMain()` as well.
/// A manager's delegate may run on a queue of its own, where `RunLoop.current` never runs: a stream that is scheduled there
/// calls its delegate on that queue.
struct StreamSchedule {
  private enum Target {
    case main
    case queue(DispatchQueue)
    case runLoop(RunLoop, RunLoop.Mode)
  }

  private var targets: [(runLoop: RunLoop, mode: RunLoop.Mode, target: Target)] = []
  private static let queueKey = DispatchSpecificKey<DispatchQueue>()

  /// Lets code on a manager's queue be recognised.
  static func mark(_ queue: DispatchQueue) { queue.setSpecific(key: queueKey, value: queue) }

  var isEmpty: Bool { targets.isEmpty }

  mutating func add(_ runLoop: RunLoop, _ mode: RunLoop.Mode) {
    guard !targets.contains(where: { $0.runLoop === runLoop && $0.mode == mode }) else { return }
    let target: Target =
      if runLoop === RunLoop.main {
        .main
      } else if runLoop === RunLoop.current, let queue = DispatchQueue.getSpecific(key: Self.queueKey) {
        .queue(queue)
      } else {
        .runLoop(runLoop, mode)
      }
    targets.append((runLoop, mode, target))
  }

  mutating func remove(_ runLoop: RunLoop, _ mode: RunLoop.Mode) {
    targets.removeAll { $0.runLoop === runLoop && $0.mode == mode }
  }

  /// Runs `work` on the first of them.
  func perform(_ work: @escaping @Sendable () -> Void) {
    switch targets.first?.target {
    case .main: DispatchQueue.main.async(execute: work)
    case .queue(let queue): queue.async(execute: work)
    case .runLoop(let runLoop, let mode):
      // A timer wakes a run loop of another thread, which `perform(inModes:)` does not.
      let timer = Timer(fire: Date(), interval: 0, repeats: false) { _ in work() }
      runLoop.add(timer, forMode: mode)
    case nil: break
    }
  }
}
