import ChildProcesses
import Foundation
import Glibc

/// A running `latchkey` on a simulated machine. It is a process of the world: time does not move while it works.
///
/// Its input and output are in files, because nobody reads a pipe while the world rests. They may be secret, and are
/// removed as soon as they are read.
final class LocalCommand: TypedCommand {
  private let folder: String
  private let process: RunningProcess
  private var finished: FinishedProcess?

  /// - Parameter folder: is made here, and goes with this object.
  init(
    _ name: String, executable: String, words: [String], input: String?, environment: [String: String], folder: String
  )
    throws
  {
    self.folder = folder
    try RunFolder.make(folder)
    guard
      FileManager.default.createFile(
        atPath: "\(folder)/input", contents: Data((input ?? "").utf8), attributes: [.posixPermissions: 0o600])
    else { throw WorldError("\(folder) can't be written") }
    let input = open("\(folder)/input", O_RDONLY | O_CLOEXEC)
    let output = open("\(folder)/output", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    let errors = open("\(folder)/errors", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    defer {
      for file in [input, output, errors] where file >= 0 { close(file) }
    }
    guard input >= 0, output >= 0, errors >= 0 else { throw WorldError.system(folder, errno) }
    process = try RunningProcess(
      name,
      ProcessStart(
        executable: executable, arguments: words, environment: environment, standardInput: input,
        standardOutput: output, standardError: errors))
  }

  deinit {
    if process.end == nil { process.signal(SIGKILL) }
    try? FileManager.default.removeItem(atPath: folder)
  }

  func outcome() throws -> FinishedProcess? {
    if let finished { return finished }
    guard let end = process.end else { return nil }
    let said = try ["output", "errors"].map { try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8) }
    finished = FinishedProcess(end: end, output: said[0], errors: said[1])
    return finished
  }
}
