import Glibc

/// A program that has run to its end, and what it said.
package struct FinishedProcess: Sendable, Equatable {
  package var end: ProcessEnd
  package var output: String
  package var errors: String

  package init(end: ProcessEnd, output: String, errors: String) {
    self.end = end
    self.output = output
    self.errors = errors
  }

  /// Runs a program to its end; blocks. Its output and its error output are collected here, unless `start` has places for
  /// them.
  ///
  /// - Returns: `nil` if it took longer than `limit`, and was killed.
  /// - Throws: if it can't be started.
  package static func run(_ name: String, _ start: ProcessStart, limit: Duration) throws -> FinishedProcess? {
    var start = start
    var writing: [Int32] = []
    var collectors: [Collector?] = []
    let process: RunningProcess
    do {
      // The program has copies of these ends; while we have them too, its output does not end.
      defer {
        for end in writing { close(end) }
      }
      for place in [\ProcessStart.standardOutput, \.standardError] {
        guard start[keyPath: place] == nil else {
          collectors.append(nil)
          continue
        }
        let pipe = try makePipe()
        writing.append(pipe.writing)
        start[keyPath: place] = pipe.writing
        collectors.append(try Collector(pipe.reading))
      }
      process = try RunningProcess(name, start)
    }
    let deadline = ContinuousClock.now + limit
    guard collectors.allSatisfy({ $0?.waitForEnd(until: deadline) ?? true }) else {
      process.signal(SIGKILL)
      return nil
    }
    try process.waitForEnd()
    return FinishedProcess(
      end: process.end ?? .exited(255), output: collectors[0]?.text ?? "", errors: collectors[1]?.text ?? "")
  }
}
