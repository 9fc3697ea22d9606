import ChildProcesses
import Foundation
import Glibc
import TimeTypes
import Timekeeping
import Worlds

/// Runs this program again, in a world whose time leaps over every wait.
enum VirtualTime {
  static let ownFolder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .path

  /// - Returns: its exit status.
  static func runAgain() throws -> Int32 {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("latchkey-clock-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(at: folder) }
    let conductor = try Conductor(directory: folder.path)
    let process = try RunningProcess(
      "the suite",
      ProcessStart(
        executable: URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path,
        arguments: Array(CommandLine.arguments.dropFirst()),
        environment: ProcessInfo.processInfo.environment.merging([ProcessClock.variable: folder.path]) { $1 },
        standardInput: STDIN_FILENO, standardOutput: STDOUT_FILENO, standardError: STDERR_FILENO))
    // How many checks in a row found every process idle. While a process begins or ends, there are a few such checks.
    var idleLooks = 0
    while process.end == nil {
      try conductor.settle()
      if conductor.nextDeadline != nil {
        idleLooks = 0
        _ = try conductor.advance(limit: conductor.now + .seconds(86_400))
      } else if (try? process.waitForEnd(limit: .milliseconds(20))) != nil {
        break
      } else if idleLooks < 500 {
        idleLooks += 1
      } else {
        process.signal(SIGTERM)
        throw Stopped(description: "the suite waits for something that can't come")
      }
    }
    switch process.end {
    case .exited(let status): return status
    case .signal(let number): return 128 + number
    case nil: return 1
    }
  }

  struct Stopped: Error, CustomStringConvertible { let description: String }
}
