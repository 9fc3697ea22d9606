import CSystemd
import Foundation
import Glibc
import Synchronization

/// What a test could not have.
struct Missing: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// A process that a test talks with over pipes. It ends with this object.
final class Conversation: @unchecked Sendable {
  private let name: String
  private let process = Process()
  private let input: FileHandle
  private let ended: AsyncStream<Int32>
  private let chunks: AsyncStream<String>
  private let heard = Mutex(Heard())

  private struct Heard {
    var all = ""
    /// How much of it the test has asked for already, in bytes of UTF-8.
    var used = 0
  }

  /// What it says on its error output is heard too.
  ///
  /// - Parameter limitSeconds: it is killed after as many seconds of real time, so that who still listens to it hears
  ///   its end; `nil` for what goes on as long as the test.
  init(
    _ executable: String, _ arguments: [String], environment: [String: String], limitSeconds: Int? = nil
  ) throws {
    guard FileManager.default.isExecutableFile(atPath: executable) else {
      throw Missing("\(executable) is missing: `make dependencies` installs it")
    }
    // One that has ended is noticed by its end, not by our own death at the next line.
    signal(SIGPIPE, SIG_IGN)
    name = URL(fileURLWithPath: executable).lastPathComponent
    // Of our own making: no other child may hold an end, or it would not be heard that this one has ended.
    let (childInput, input) = try Self.makePipe()
    let (output, childOutput) = try Self.makePipe()
    self.input = input
    let (ended, end) = AsyncStream<Int32>.makeStream()
    self.ended = ended
    process.terminationHandler = { process in
      end.yield(process.terminationStatus)
      end.finish()
    }
    let (chunks, continuation) = AsyncStream<String>.makeStream()
    self.chunks = chunks
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    process.environment = environment
    process.standardInput = childInput
    process.standardOutput = childOutput
    process.standardError = childOutput
    try process.run()
    try childInput.close()
    try childOutput.close()
    Thread.detachNewThread {
      while case let data = output.availableData, !data.isEmpty {
        continuation.yield(String(decoding: data, as: UTF8.self))
      }
      continuation.finish()
    }
    guard let limitSeconds else { return }
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(limitSeconds)) { [weak self] in self?.end() }
  }

  deinit { end() }

  /// Kills it, if it has not ended.
  func end() {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  /// Says a line.
  func say(_ line: String) throws { try input.write(contentsOf: Data("\(line)\n".utf8)) }

  /// Reads on, behind what was read before, until it has said `text`.
  ///
  /// - Returns: everything from there up to `text`.
  /// - Throws: `Missing`, with all that it said, where it ends first or the test's time is over.
  @discardableResult
  func hear(_ text: String) async throws -> String {
    var iterator = chunks.makeAsyncIterator()
    while true {
      if let found = take(upTo: text) { return found }
      guard let chunk = await iterator.next() else {
        throw Missing("\(name) did not say '\(text)'. It said:\n\(heard.withLock { $0.all })")
      }
      heard.withLock { $0.all += chunk }
    }
  }

  /// Says a line, and reads on until the answer.
  @discardableResult
  func ask(_ line: String, _ answer: String) async throws -> String {
    try say(line)
    return try await hear(answer)
  }

  /// Closes its input, and reads to its end.
  func finish() async throws -> (status: Int32, output: String) {
    try input.close()
    for await chunk in chunks { heard.withLock { $0.all += chunk } }
    var iterator = ended.makeAsyncIterator()
    guard let status = await iterator.next() else {
      throw Missing("\(name) did not end. It said:\n\(heard.withLock { $0.all })")
    }
    return (status, heard.withLock { $0.all })
  }

  private static func makePipe() throws -> (reading: FileHandle, writing: FileHandle) {
    var ends: [Int32] = [-1, -1]
    guard latchkey_pipe(&ends) == 0 else { throw Missing("a pipe: \(String(cString: strerror(errno)))") }
    return (
      FileHandle(fileDescriptor: ends[0], closeOnDealloc: true),
      FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    )
  }

  private func take(upTo text: String) -> String? {
    heard.withLock { heard in
      let rest = heard.all.utf8.dropFirst(heard.used)
      guard let range = String(Substring(rest)).range(of: text) else { return nil }
      let found = String(Substring(rest))[..<range.upperBound]
      heard.used += found.utf8.count
      return String(found)
    }
  }
}
