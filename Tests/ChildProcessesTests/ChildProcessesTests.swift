import Foundation
import Glibc
import Synchronization
import Testing
import Threads

@testable import ChildProcesses

/// The lines that a child has printed, for a test that waits for them.
private final class Heard: Sendable {
  private let lines = Mutex<[String]>([])
  private let arrived = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)

  func take(_ line: Data) {
    lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
    arrived.signal()
  }
  func end() { ended.signal() }

  /// This many lines. Lines that have not come after ten minutes are missing.
  func first(_ count: Int) -> [String] {
    for _ in 0..<count where arrived.wait(timeout: .now() + .seconds(600)) != .success { break }
    return lines.withLock { $0 }
  }
  var hasEnded: Bool { ended.wait(timeout: .now() + .seconds(600)) == .success }
}

@Suite("Child processes", .timeLimit(.minutes(20)))
struct ChildProcessesTests {
  private let folder: String

  init() throws {
    var template = Array("/tmp/latchkey-children-XXXXXX".utf8CString)
    try #require(mkdtemp(&template) != nil)
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private func end() { try? FileManager.default.removeItem(atPath: folder) }

  private static let environment = ["PATH": "/usr/bin:/bin"]
  private static let patience = DispatchTimeInterval.seconds(600)

  private func shell(_ script: String, _ heard: Heard) throws -> LineProcess {
    try LineProcess(
      "the child", executable: "/bin/sh", arguments: ["-c", script], environment: Self.environment,
      log: "\(folder)/child.log", onLine: { heard.take($0) }, onEnd: { heard.end() })
  }

  @Test("A child reads and writes lines, logs its errors to a file, and ends with its input")
  func lines() throws {
    defer { end() }
    let heard = Heard()
    let child = try shell("echo no good >&2; exec cat", heard)
    try child.say(Data("one".utf8))
    try child.say(Data(String(repeating: "x", count: 200_000).utf8))
    try child.say(Data())
    #expect(heard.first(3) == ["one", String(repeating: "x", count: 200_000), ""])
    #expect(child.process.end == nil)
    child.endInput()
    #expect(heard.hasEnded)
    try child.process.waitForEnd(limit: Self.patience)
    #expect(child.process.end == .exited(0))
    #expect(logTail("\(folder)/child.log") == "; its log ends:\n  no good")
    #expect(throws: ChildProcessError.self) { try child.say(Data("more".utf8)) }
  }

  @Test("A child that has ended takes no input, and how it ended is known")
  func dead() throws {
    defer { end() }
    let heard = Heard()
    let child = try shell("kill -7 $$", heard)
    try child.process.waitForEnd(limit: Self.patience)
    #expect(child.process.end == .signal(7))
    #expect(heard.hasEnded)
    let error = #expect(throws: ChildProcessError.self) { try child.say(Data("hello".utf8)) }
    #expect(error?.description.hasPrefix("the child takes no input") == true)
    // Its number may belong to another process by now.
    child.process.signal(SIGKILL)
  }

  @Test("A program that is not there is an error that names it")
  func missing() throws {
    defer { end() }
    let error = #expect(throws: ChildProcessError.self) {
      try RunningProcess("nobody", ProcessStart(executable: "\(folder)/nobody"))
    }
    #expect(error?.description.contains("nobody can't be started") == true)
  }

  @Test("A program that does not read its input still ends with it, through the shell beside it")
  func endingWithInput() throws {
    defer { end() }
    let (reading, writing) = try makePipe()
    let (outputReading, outputWriting) = try makePipe()
    var start = ProcessStart(
      executable: "/bin/sh", arguments: ["-c", "trap '' TERM HUP; echo here; exec sleep 3600"],
      environment: Self.environment, standardOutput: outputWriting
    ).endingWithInput
    start.standardInput = reading
    let process = try RunningProcess("sleep", start)
    close(reading)
    close(outputWriting)
    let heard = Heard()
    try LineReader.start(outputReading, onLine: { heard.take($0) }, onEnd: { heard.end() })
    #expect(heard.first(1) == ["here"])
    #expect(process.end == nil)
    close(writing)
    // The program held the other end of this pipe, so it is gone as well.
    #expect(heard.hasEnded)
    try process.waitForEnd(limit: Self.patience)
  }

  @Test("A private bus listens when it is there, and ends when it is told to, with a shell beside it or without")
  func bus() throws {
    defer { end() }
    for endsWithThisProcess in [false, true] {
      let bus = try BusDaemon(
        socket: "\(folder)/bus", folder: folder, environment: Self.environment,
        endsWithThisProcess: endsWithThisProcess)
      #expect(bus.address == "unix:path=\(folder)/bus")
      #expect(bus.process.end == nil)
      bus.end()
      #expect(bus.process.end != nil)
    }
    #expect(throws: ChildProcessError.self) {
      try BusDaemon(
        socket: "\(folder)/bus", folder: folder, configuration: "no configuration", environment: Self.environment)
    }
  }

  @Test("A thread of its own has every signal blocked, and its starter's mask stays")
  func thread() throws {
    defer { end() }
    let blocked = Mutex<[Int32]>([])
    let done = DispatchSemaphore(value: 0)
    @Sendable func mask() -> [Int32] {
      var mask = sigset_t()
      pthread_sigmask(SIG_BLOCK, nil, &mask)
      return [SIGTERM, SIGINT, SIGHUP, SIGCHLD].filter { sigismember(&mask, $0) == 1 }
    }
    let before = mask()
    try DetachedThread.start {
      blocked.withLock { $0 = mask() }
      done.signal()
    }
    #expect(done.wait(timeout: .now() + Self.patience) == .success)
    #expect(blocked.withLock { $0 } == [SIGTERM, SIGINT, SIGHUP, SIGCHLD])
    #expect(mask() == before)
  }
}
