import Foundation
import Glibc

/// A child process that is talked with in lines. It ends with this object and, since its input ends then, with this
/// process.
final class LineProcess: Sendable {
  let lines: LineChannel
  private let process = Process()
  private let input: FileHandle

  /// - Parameters:
  ///   - diesWithInput: whether the program ends by itself when its input does. Else a shell beside it sees to that.
  ///   - log: where its error output goes.
  init(_ executable: String, _ arguments: [String], diesWithInput: Bool, log: String) throws {
    let (standardInput, standardOutput) = (Pipe(), Pipe())
    input = standardInput.fileHandleForWriting
    let output = standardOutput.fileHandleForReading
    // No other child may hold an end, or nobody would notice that this one has ended.
    for handle in [input, output] { _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC) }
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments =
      [
        "-c",
        diesWithInput
          ? "exec \"$@\""
          : "exec 3<&0; \"$@\" </dev/null 3<&- & child=$!; cat <&3 >/dev/null; kill -9 $child", "sh", executable,
      ] + arguments
    guard FileManager.default.createFile(atPath: log, contents: nil) else {
      throw WorldFailure("\(log) can't be written")
    }
    process.standardInput = standardInput
    process.standardOutput = standardOutput
    process.standardError = FileHandle(forWritingAtPath: log)
    try process.run()
    lines = LineChannel(URL(fileURLWithPath: executable).lastPathComponent, input: output, output: input)
  }

  deinit { try? input.close() }

  /// Ends it, and returns when it has ended.
  func end() async {
    try? input.close()
    await lines.waitForEnd()
  }
}
