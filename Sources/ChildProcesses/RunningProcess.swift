import Dispatch
import Glibc
import Synchronization

/// One child, and how it ended.
package final class RunningProcess: Sendable {
  package let name: String
  package let pid: pid_t
  private let ended: EndBox

  /// Real time after which something must be broken. A story waits so long for what the machine does at once when it is not
  /// busy, because its verdict must not depend on how busy it is.
  package static let patience = DispatchTimeInterval.seconds(300)

  private final class EndBox: Sendable {
    let end = Mutex<ProcessEnd?>(nil)
    let group = DispatchGroup()
  }

  /// - Parameter onEnd: called on a thread of the process table, after the end is known here.
  package init(_ name: String, _ start: ProcessStart, onEnd: (@Sendable (ProcessEnd) -> Void)? = nil) throws {
    let box = EndBox()
    box.group.enter()
    self.name = name
    ended = box
    do {
      pid = try ProcessTable.shared.start(start) { end in
        box.end.withLock { $0 = end }
        box.group.leave()
        onEnd?(end)
      }
    } catch {
      box.group.leave()
      throw error
    }
  }

  package var end: ProcessEnd? { ended.end.withLock { $0 } }

  package func signal(_ number: Int32) {
    ended.end.withLock { end in
      if end == nil { _ = kill(pid, number) }
    }
  }

  /// Blocks until the process has ended, for at most `limit` of real time.
  package func waitForEnd(limit: DispatchTimeInterval = RunningProcess.patience) throws {
    guard ended.group.wait(timeout: .now() + limit) == .success else {
      throw ChildProcessError("\(name) (process \(pid)) does not end")
    }
  }
}
