import CSystemd
import Foundation
import Glibc
import Testing
import TimeTypes
import Timekeeping

@testable import Worlds

/// A conductor in its own folder, and the processes started for it.
final class PuppetWorld {
  static let programs = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
  static let puppetPath = programs.appendingPathComponent("world-puppet").path

  private let folder: URL
  private var owned: Conductor?
  private var pids: [pid_t] = []
  var conductor: Conductor { owned! }  // Exists until `end`, which is the last call.
  var file: String { folder.appendingPathComponent("lines").path }

  init() throws {
    // Deeper than a socket's address could name.
    let name = "world-" + UUID().uuidString + String(repeating: "x", count: 100)
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    owned = try Conductor(directory: folder.path, includesEveryDescendant: false)
  }

  var lines: [String] {
    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return [] }
    return text.split(separator: "\n").map(String.init)
  }

  @discardableResult
  func puppet(_ name: String, everyMilliseconds: Int, count: Int) throws -> pid_t {
    let pid = try spawn(Self.puppetPath, [name, "\(everyMilliseconds)", "\(count)", file])
    // It has set its first alarm before the next one starts.
    try conductor.settle()
    return pid
  }

  @discardableResult
  func spawn(_ path: String, _ arguments: [String], environment further: [String] = []) throws -> pid_t {
    var pid: pid_t = 0
    let words: [String] = [path] + arguments
    var argv = words.map { strdup($0) } + [nil]
    let variables: [String] = ["LATCHKEY_CLOCK=\(folder.path)", "PATH=/usr/bin:/bin"] + further
    var environment = variables.map { strdup($0) } + [nil]
    defer { for text in argv + environment { free(text) } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // Pipes of another test that waits for their end.
    _ = latchkey_close_from(&actions, 3)
    let result = posix_spawn(&pid, path, &actions, nil, &argv, &environment)
    try #require(result == 0, "posix_spawn \(path): \(String(cString: strerror(result)))")
    pids.append(pid)
    conductor.add(pid)
    return pid
  }

  /// Ends the world and waits for its processes.
  ///
  /// - Returns: their exit statuses; -1 for one ended by a signal.
  @discardableResult
  func end() -> [Int32] {
    owned = nil
    defer { try? FileManager.default.removeItem(at: folder) }
    return pids.map { pid in
      var status: Int32 = 0
      kill(pid, SIGCONT)
      waitpid(pid, &status, 0)
      return status & 0x7F == 0 ? status >> 8 & 0xFF : -1
    }
  }
}
