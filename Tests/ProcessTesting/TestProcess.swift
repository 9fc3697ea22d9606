import CSystemd
import Foundation
import Glibc
import Subprocess
import Synchronization
import SystemPackage
import Threads

/// A process that a test starts, reads from and writes to. It ends with this object.
///
/// Of the tests' descriptors it has only its own pipes, and no other process has an end of these. So reading an
/// output to its end waits only for this process and those it started.
package final class TestProcess: Sendable {
  package struct Outcome: Sendable {
    /// Its exit status, or the number of the signal that ended it.
    package var status: Int32
    package var output: String
    package var errors: String

    package init(status: Int32, output: String, errors: String) {
      (self.status, self.output, self.errors) = (status, output, errors)
    }
  }

  /// A test could not get what it needs.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
  }

  package let processIdentifier: pid_t
  private let name: String
  private let output = Transcript()
  private let errors = Transcript()
  private let input: AsyncStream<String>.Continuation
  private let running: Task<Int32, any Error>
  private let endsWithInput: Bool
  /// How much of its output the test has already used, in bytes.
  private let used = Mutex(0)

  /// - Parameters:
  ///   - executable: a path.
  ///   - environment: its whole environment, by default this process's own.
  ///   - mergesErrors: whether its error output becomes part of its output.
  ///   - endsWithInput: it ends by itself when its input closes, and is left to do so. Otherwise it is killed with
  ///     this object.
  /// - Throws: `Failure` if it can't be started.
  package init(
    _ executable: String, _ arguments: [String] = [], environment: [String: String]? = nil, mergesErrors: Bool = false,
    endsWithInput: Bool = false
  ) async throws {
    name = executable.split(separator: "/").last.map(String.init) ?? executable
    let (lines, input) = AsyncStream<String>.makeStream()
    self.input = input
    self.endsWithInput = endsWithInput
    let (started, start) = AsyncThrowingStream<pid_t, any Error>.makeStream()
    var configuration = Configuration(
      executable: .path(FilePath(executable)), arguments: Arguments(arguments),
      environment: environment.map(Self.environment) ?? .inherit)
    // A test that ends or exceeds its time leaves nothing behind.
    configuration.platformOptions.teardownSequence = []
    // We use our own pipes: the library reads its pipes until the process ends, and these are read until everything
    // it started has ended.
    let outputWriting = try Self.pipe(into: output)
    let errorWriting =
      mergesErrors
      ? FileDescriptor(rawValue: fcntl(outputWriting.rawValue, F_DUPFD_CLOEXEC, 3)) : try Self.pipe(into: errors)
    if mergesErrors { errors.complete() }
    running = Task { [configuration] in
      do {
        let result = try await Subprocess.run(
          configuration, input: .inputWriter,
          output: .fileDescriptor(outputWriting, closeAfterSpawningProcess: true),
          error: .fileDescriptor(errorWriting, closeAfterSpawningProcess: true)
        ) { execution in
          start.yield(execution.processIdentifier.value)
          let writer = execution.standardInputWriter
          // A process that has ended is noticed by its end, not by a failed write.
          for await line in lines { _ = try? await writer.write(line) }
          try? await writer.finish()
        }
        return Self.status(result.terminationStatus)
      } catch {
        start.finish(throwing: error)
        throw error
      }
    }
    var identifier: pid_t?
    do {
      for try await started in started {
        identifier = started
        break
      }
    } catch { throw Failure("\(executable) can't be started: \(error)") }
    guard let identifier else { throw CancellationError() }
    processIdentifier = identifier
  }

  deinit {
    input.finish()
    if !endsWithInput { running.cancel() }
  }

  /// Runs a program until it ends.
  ///
  /// - Parameter adding: variables to add to this process's environment.
  package static func run(
    _ executable: String, _ arguments: [String] = [], adding: [String: String] = [:]
  ) async throws -> Outcome {
    try await TestProcess(executable, arguments, environment: inherited.merging(adding) { $1 }).finish()
  }

  /// This process's environment.
  package static var inherited: [String: String] {
    var variables: [String: String] = [:]
    var next = environ
    while let entry = next.pointee {
      let parts = String(cString: entry).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
      next += 1
    }
    return variables
  }

  package func signal(_ number: Int32) { kill(processIdentifier, number) }

  /// Whether it is neither reaped nor a zombie.
  package var isRunning: Bool {
    var information = siginfo_t()
    let result = waitid(P_PID, id_t(processIdentifier), &information, WEXITED | WNOHANG | WNOWAIT)
    return result == 0 && information._sifields._sigchld.si_pid == 0
  }

  /// Sends a line.
  package func say(_ line: String) { input.yield("\(line)\n") }

  /// Sends characters, without the end of a line.
  package func type(_ characters: String) { input.yield(characters) }

  /// Closes the input.
  package func closeInput() { input.finish() }

  /// Reads on from where the last read ended, until the output contains `text`.
  ///
  /// - Returns: everything from there up to and including `text`.
  /// - Throws: `Failure`, with the whole output, if the process ends first; `CancellationError` when the test's time
  ///   is over.
  @discardableResult
  package func hear(_ text: String) async throws -> String {
    let wanted = Array(text.utf8)
    let from = used.withLock { $0 }
    let end = try await output.wait { bytes in Self.end(of: wanted, in: bytes, from: from) }
    guard let end else { throw Failure("\(name) did not say '\(text)'. It said:\n\(output.text)\n\(errors.text)") }
    used.withLock { $0 = end }
    return String(decoding: output.bytes[from..<end], as: UTF8.self)
  }

  /// Sends a line, and reads until the answer.
  @discardableResult
  package func ask(_ line: String, _ answer: String) async throws -> String {
    say(line)
    return try await hear(answer)
  }

  /// Closes its input, and waits until it has ended, as well as everything it started that holds one of its outputs.
  package func finish() async throws -> Outcome {
    input.finish()
    let status = try await withTaskCancellationHandler {
      try await running.value
    } onCancel: {
      running.cancel()
    }
    try await output.waitForEnd()
    try await errors.waitForEnd()
    return Outcome(status: status, output: output.text, errors: errors.text)
  }

  private static func end(of wanted: [UInt8], in bytes: [UInt8], from: Int) -> Int? {
    guard bytes.count - from >= wanted.count else { return nil }
    return (from...bytes.count - wanted.count).first { bytes[$0..<$0 + wanted.count].elementsEqual(wanted) }
      .map { $0 + wanted.count }
  }

  private static func environment(_ variables: [String: String]) -> Environment {
    .custom(
      variables.reduce(into: [:]) { result, variable in
        if let key = Environment.Key(rawValue: variable.key) { result[key] = variable.value }
      })
  }

  /// A pipe that a separate thread reads into a transcript, to its end.
  ///
  /// - Returns: the end to write to, which no child inherits by accident.
  private static func pipe(into transcript: Transcript) throws -> FileDescriptor {
    var ends: [Int32] = [-1, -1]
    guard latchkey_pipe(&ends) == 0 else { throw Failure("a pipe: \(String(cString: strerror(errno)))") }
    let reading = ends[0]
    try DetachedThread.start {
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let count = read(reading, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        transcript.append(Array(buffer[..<count]))
      }
      close(reading)
      transcript.complete()
    }
    return FileDescriptor(rawValue: ends[1])
  }

  private static func status(_ status: TerminationStatus) -> Int32 {
    switch status {
    case .exited(let code): code
    case .signaled(let number): number
    }
  }
}
