import Foundation
import Glibc
import Synchronization
import SystemPackage

/// A child that communicates in lines of text: its output arrives line by line on a thread, lines are sent to its
/// standard input, and its error output goes to a log.
package final class LineProcess: Sendable {
  package let process: RunningProcess
  package let log: String
  private let name: String
  private let input: Mutex<Int32?>
  /// A second descriptor for the reading end of its output, only for checking.
  private let output: Int32

  /// - Parameters:
  ///   - onLine: called with each line of output, without its line end, on a thread of this object.
  ///   - onEnd: called last, when there are no more lines.
  package init(
    _ name: String, executable: String, arguments: [String], environment: [String: String], log: String,
    onLine: @escaping @Sendable (Data) -> Void, onEnd: @escaping @Sendable () -> Void
  ) throws {
    self.name = name
    self.log = log
    let standardError = try openLog(log)
    defer { close(standardError) }
    let (inputReading, inputWriting) = try makePipe()
    defer { close(inputReading) }
    let outputs: (reading: Int32, writing: Int32)
    do { outputs = try makePipe() } catch {
      close(inputWriting)
      throw error
    }
    defer { close(outputs.writing) }
    output = fcntl(outputs.reading, F_DUPFD_CLOEXEC, 3)
    input = Mutex(inputWriting)
    do {
      guard output >= 0 else { throw ChildProcessError.system("dup", errno) }
      process = try RunningProcess(
        name,
        ProcessStart(
          executable: executable, arguments: arguments, environment: environment, standardInput: inputReading,
          standardOutput: outputs.writing, standardError: standardError))
    } catch {
      for end in [inputWriting, outputs.reading, output] where end >= 0 { close(end) }
      throw error
    }
    do { try LineReader.start(outputs.reading, onLine: onLine, onEnd: onEnd) } catch {
      process.signal(SIGKILL)
      throw error
    }
  }

  deinit {
    endInput()
    close(output)
  }

  /// It has written something that has not been read yet. If there is a lot, it is waiting.
  package var hasUnreadOutput: Bool {
    var poller = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
    return poll(&poller, 1, 0) == 1 && poller.revents & Int16(POLLIN) != 0
  }

  /// Sends it a line, which has no line end yet.
  package func say(_ line: Data) throws(ChildProcessError) {
    let bytes = Array(line) + [0x0A]
    let failure = input.withLock { input -> Int32? in
      guard let input else { return EPIPE }
      do { try FileDescriptor(rawValue: input).writeAll(bytes) } catch { return (error as? Errno)?.rawValue ?? EIO }
      return nil
    }
    if let failure { throw .system("\(name) takes no input", failure) }
  }

  /// Closes its input. Programs that depend on their input then end.
  package func endInput() {
    input.withLock { input in
      if let input { close(input) }
      input = nil
    }
  }
}
