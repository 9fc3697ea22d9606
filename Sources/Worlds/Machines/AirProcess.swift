import ChildProcesses
import Foundation
import Glibc
import TimeTypes

/// The process that simulates the virtual machines' controllers and the air between them (scripts/vm/air.py). There
/// is a line of JSON for each command, each reply and each event.
final class AirProcess: @unchecked Sendable {
  struct Command: Encodable {
    var id: Int
    var command: String
    var a: String?
    var b: String?
    var name: String?
    var on: Bool?
    var x: Double?
    var y: Double?
    var seconds: Double?
  }

  /// A line of its output. Missing fields are `nil`.
  struct Line: Decodable, Sendable {
    var id: Int?
    var ok: Bool?
    var error: String?
    var event: String?
    var central: String?
    var peripheral: String?
    var reason: String?
    var name: String?
    var x: Double?
    var y: Double?
    /// Whether a controller has begun (`true`) or ended advertising or scanning.
    var on: Bool?
    var set: String?
    var local: String?
    var services: String?
    var interval: String?
  }

  let process: RunningProcess
  private let input: Int32
  private let log: String
  // Guarded by the condition.
  private let condition = NSCondition()
  private var replies: [Int: Line] = [:]
  private var hasEnded = false
  private var isReady = false
  private var lastCommand = 0

  /// - Parameters:
  ///   - arguments: the script's own arguments.
  ///   - onEvent: called for each event, on a thread of this object.
  init(
    script: String, arguments: [String], environment: [String: String], log: String,
    onEvent: @escaping @Sendable (Line) -> Void
  ) throws {
    self.log = log
    let standardError = try openLog(log)
    let (inputReading, inputWriting) = try makePipe()
    let (outputReading, outputWriting) = try makePipe()
    defer {
      for end in [standardError, inputReading, outputWriting] { close(end) }
    }
    input = inputWriting
    process = try RunningProcess(
      "the air",
      ProcessStart(
        executable: script, arguments: arguments, environment: environment, standardInput: inputReading,
        standardOutput: outputWriting, standardError: standardError))
    try LineReader.start(
      outputReading,
      onLine: { [weak self] data in
        guard let line = try? JSONDecoder().decode(Line.self, from: data) else { return }
        self?.take(line, onEvent)
      }, onEnd: { [weak self] in self?.ended() })
  }

  private func take(_ line: Line, _ onEvent: (Line) -> Void) {
    if line.event != nil { onEvent(line) }
    condition.lock()
    if let id = line.id { replies[id] = line }
    if line.event == "ready" { isReady = true }
    condition.broadcast()
    condition.unlock()
  }

  private func ended() {
    condition.lock()
    hasEnded = true
    condition.broadcast()
    condition.unlock()
  }

  /// Blocks until controllers can be connected.
  func waitUntilReady() throws { try wait(for: "to be ready") { isReady ? true : nil } }

  /// Puts a machine somewhere in an instant.
  func place(_ name: String, at place: Place) throws {
    try send { Command(id: $0, command: "place", name: name, x: place.x, y: place.y) }
  }

  /// Starts carrying a machine somewhere on foot.
  func walk(_ name: String, to place: Place, over duration: Duration) throws {
    let seconds = Double(duration.wholeNanoseconds) / 1e9
    try send { Command(id: $0, command: "walk", name: name, x: place.x, y: place.y, seconds: seconds) }
  }

  /// Whether two machines hear each other as far as their distance allows, or not at all.
  func range(_ a: String, _ b: String, on: Bool) throws {
    try send { Command(id: $0, command: "range", a: a, b: b, on: on) }
  }

  /// Switches a machine's controller on or off. A shield around a machine is simulated by switching it off.
  func power(_ name: String, on: Bool) throws { try send { Command(id: $0, command: "power", name: name, on: on) } }

  /// Blocks until the command is done.
  private func send(_ make: (Int) -> Command) throws {
    lastCommand += 1
    let identifier = lastCommand
    let data = try JSONEncoder().encode(make(identifier)) + [0x0A]
    guard data.withUnsafeBytes({ write(input, $0.baseAddress, $0.count) }) == data.count else {
      throw WorldError.system("the air takes no commands", errno)
    }
    let reply = try wait(for: "an answer") { replies.removeValue(forKey: identifier) }
    if let error = reply.error { throw WorldError("the air refused: \(error)") }
  }

  @discardableResult
  private func wait<Found>(for what: String, _ find: () -> Found?) throws -> Found {
    let limit = Date(timeIntervalSinceNow: 60)
    condition.lock()
    defer { condition.unlock() }
    while true {
      if let found = find() { return found }
      guard !hasEnded else { throw WorldError("the air has ended\(logTail(log))") }
      guard condition.wait(until: limit) else { throw WorldError("the air takes too long: waited for \(what)") }
    }
  }
}
