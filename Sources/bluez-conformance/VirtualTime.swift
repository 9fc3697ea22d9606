import Foundation
import TimeTypes
import Timekeeping
import Worlds

/// Runs this program once more, in a world whose time leaps over every wait.
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
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = Array(CommandLine.arguments.dropFirst())
    process.environment = ProcessInfo.processInfo.environment.merging([
      ProcessClock.variable: folder.path
    ]) { $1 }
    let ended = DispatchSemaphore(value: 0)
    process.terminationHandler = { _ in ended.signal() }
    try process.run()
    // Looks in a row at which nobody waited for anything. While a process begins or ends there are some.
    var idleLooks = 0
    while ended.wait(timeout: .now()) != .success {
      try conductor.settle()
      if conductor.nextDeadline != nil {
        idleLooks = 0
        _ = try conductor.advance(limit: conductor.now + .seconds(86_400))
      } else if ended.wait(timeout: .now() + .milliseconds(20)) == .success {
        break
      } else if idleLooks < 500 {
        idleLooks += 1
      } else {
        process.terminate()
        throw Stopped(description: "the suite waits for something that is not to come")
      }
    }
    return process.terminationStatus
  }

  struct Stopped: Error, CustomStringConvertible { let description: String }
}
