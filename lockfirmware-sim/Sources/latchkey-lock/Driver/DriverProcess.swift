import ChildProcesses
import Dispatch
import Foundation
import Glibc

/// A driver's process, with lines in both directions. Everything here happens on the main queue.
final class DriverProcess: @unchecked Sendable {
  private let process: RunningProcess
  private let input: Int32
  private let output: Int32
  private var source: (any DispatchSourceRead)?
  private var received: [UInt8] = []
  private var isInputOver = false
  private var isOutputOver = false

  /// Variables that a driver has no use for: keys and the supervisor's socket are the lock's alone.
  private static let privateVariables = ["CREDENTIALS_DIRECTORY", "STATE_DIRECTORY", "NOTIFY_SOCKET"]

  /// - Parameter onEnd: called on the main queue when it has ended.
  init(_ command: DriverCommand, onEnd: @escaping @Sendable (ProcessEnd) -> Void) throws(DriverFault) {
    let environment = ProcessInfo.processInfo.environment.filter { !Self.privateVariables.contains($0.key) }
    guard let program = Self.path(of: command.program, environment["PATH"]) else {
      throw .notStarted("there is no program \(command.program)")
    }
    do {
      let (inputReading, inputWriting) = try makePipe()
      defer { close(inputReading) }
      let (outputReading, outputWriting) = try makePipe()
      defer { close(outputWriting) }
      input = inputWriting
      output = outputReading
      do {
        var start = ProcessStart(
          executable: program, arguments: command.arguments, environment: environment, standardInput: inputReading,
          standardOutput: outputWriting, standardError: STDERR_FILENO)
        // The whole process group is ended with it, because a helper that the driver has left behind may hold the
        // motor.
        start.takesGroupAlong = true
        process = try RunningProcess("driver", start) { end in DispatchQueue.main.async { onEnd(end) } }
      } catch {
        close(inputWriting)
        close(outputReading)
        throw error
      }
    } catch { throw .notStarted("\(error)") }
    for end in [input, output] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
  }

  private static func path(of program: String, _ search: String?) -> String? {
    if program.contains("/") { return access(program, X_OK) == 0 ? program : nil }
    let folders = (search ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
    return folders.map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
  }

  /// Calls `onOutput` from now on whenever `lines()` may have something.
  func watch(_ onOutput: @escaping () -> Void) {
    let source = DispatchSource.makeReadSource(fileDescriptor: output, queue: .main)
    let output = output
    source.setEventHandler { onOutput() }
    source.setCancelHandler { close(output) }
    source.resume()
    self.source = source
  }

  /// Waits for output. Only for the lock's start.
  func waitForOutput(milliseconds: Int32) {
    var poller = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
    _ = poll(&poller, 1, milliseconds)
  }

  /// The whole lines that have come since the last call.
  func lines() throws(DriverFault) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    var buffer = [UInt8](repeating: 0, count: 16 * 1024)
    // Bytes that do not fit into the buffer wait for the next call.
    let count = isOutputOver ? -1 : read(output, &buffer, buffer.count)
    if count == 0 { stopReading() }
    if count > 0 { received += buffer[..<count] }
    while let newline = received.firstIndex(of: UInt8(ascii: "\n")) {
      guard newline <= DriverProtocol.maximumLineByteCount else { throw .lineTooLong }
      lines.append(Array(received[..<newline]))
      received.removeFirst(newline + 1)
    }
    guard received.count <= DriverProtocol.maximumLineByteCount else { throw .lineTooLong }
    return lines
  }

  func send(_ line: String) throws(DriverFault) {
    if isInputOver { return }
    let bytes = Array((line + "\n").utf8)
    guard write(input, bytes, bytes.count) == bytes.count else {
      // The end of the process is reported separately.
      if errno == EPIPE { return }
      throw .deaf
    }
  }

  /// Closes the driver's input, which lets it end by itself.
  func endInput() {
    if !isInputOver { close(input) }
    isInputOver = true
  }

  /// Ends the driver and everything that it has started, at once.
  func kill() {
    if process.end == nil { Glibc.kill(-process.pid, SIGKILL) }
    endInput()
    stopReading()
  }

  private func stopReading() {
    guard !isOutputOver else { return }
    isOutputOver = true
    if let source { source.cancel() } else { close(output) }
    source = nil
  }
}
