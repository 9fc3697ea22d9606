import Dispatch
import Foundation

/// Waits until every job of a task that was due has run. A job counts as not run as long as other work of the computer
/// holds up its thread.
///
/// Jobs of one priority begin in order, on as many threads as there are processors. So when as many jobs of ours have
/// begun and none has returned, no other job is running, and all jobs that were due before have run.
enum TaskBarrier {
  private static let priorities: [TaskPriority] = [.high, .medium, .low, .background]
  /// One at a time: two would take each other's threads.
  private static let queue = DispatchQueue(label: "org.latchkey.task-barrier")
  /// How long a job may take, in seconds of the computer's time. A thread whose job takes longer waits for something
  /// else. It is then left out until it is back.
  private static let patience: TimeInterval = 0.25
  /// How long to look whether such a thread is back, in seconds of the computer's time.
  private static let glance: TimeInterval = 0.001
  /// How many threads of a priority are not back. Used only on the queue.
  nonisolated(unsafe) private static var stuck: [UInt8: Int] = [:]

  static func pass() async {
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      queue.async {
        let width = ProcessInfo.processInfo.activeProcessorCount
        let meetings = priorities.map { priority in
          let meeting = Meeting()
          for _ in 0..<width { Task.detached(priority: priority) { meeting.attend() } }
          return (priority, meeting)
        }
        for (priority, meeting) in meetings { meet(meeting, of: width, priority) }
        for (_, meeting) in meetings { meeting.end() }
        done.resume()
      }
    }
  }

  private static func meet(_ meeting: Meeting, of width: Int, _ priority: TaskPriority) {
    let missing = stuck[priority.rawValue] ?? 0
    // Even if all threads are stuck, one of them is waited for. Otherwise nothing would be known of the tasks.
    let expected = max(1, width - missing)
    var present = meeting.wait(for: expected, until: missing < width ? Date() + patience : nil)
    if present >= expected, missing > 0 { present = meeting.wait(for: width, until: Date() + glance) }
    stuck[priority.rawValue] = width - present
  }

  /// Jobs that wait for each other.
  private final class Meeting: @unchecked Sendable {
    private let condition = NSCondition()
    private var present = 0
    private var isOver = false

    func attend() {
      condition.withLock {
        present += 1
        condition.broadcast()
        while !isOver { condition.wait() }
      }
    }

    /// - Returns: how many have come.
    func wait(for count: Int, until end: Date?) -> Int {
      condition.withLock {
        while present < count {
          guard let end else {
            condition.wait()
            continue
          }
          guard condition.wait(until: end) else { break }
        }
        return present
      }
    }

    func end() {
      condition.withLock {
        isOver = true
        condition.broadcast()
      }
    }
  }
}
