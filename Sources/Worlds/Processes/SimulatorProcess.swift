import BlueZModel
import BlueZSimulator
import Foundation
import Glibc
import Synchronization

/// The one `bluez-simulator` of a world, and the talk with it: a line of JSON for each command, and one for each reply.
package final class SimulatorProcess: Sendable {
  let process: RunningProcess
  private let input: Int32
  private let replies: Replies
  let log: String
  /// The reading end of its output once more, to look at alone.
  private let output: Int32

  /// What the reading thread hands over.
  private final class Replies: Sendable {
    struct State {
      var byIdentifier: [UInt64: SimulatorReply] = [:]
      var isReady = false
      var hasEnded = false
    }
    let state = Mutex(State())
    let arrived = DispatchSemaphore(value: 0)
  }

  private let nextIdentifier = Mutex<UInt64>(1)

  init(
    executable: String, machines: [(name: String, busAddress: String)], privateMachines: [String], seed: UInt64,
    radio: String,
    environment: [String: String], log: String
  ) throws {
    self.log = log
    let standardError = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard standardError >= 0 else { throw WorldError.system(log, errno) }
    defer { close(standardError) }
    let (inputReading, inputWriting) = try makePipe()
    let (outputReading, outputWriting) = try makePipe()
    defer {
      close(inputReading)
      close(outputWriting)
    }
    input = inputWriting
    replies = Replies()
    output = fcntl(outputReading, F_DUPFD_CLOEXEC, 3)
    guard output >= 0 else { throw WorldError.system("dup", errno) }
    process = try RunningProcess(
      "bluez-simulator",
      ProcessStart(
        executable: executable,
        arguments: machines.flatMap { ["--machine", "\($0.name)=\($0.busAddress)"] }
          + privateMachines.flatMap { ["--private-machine", $0] } + ["--seed", "\(seed)", "--radio", radio],
        environment: environment, standardInput: inputReading, standardOutput: outputWriting,
        standardError: standardError))
    let replies = replies
    Thread.detachNewThread { Self.listen(to: outputReading, replies) }
  }

  deinit { close(output) }

  /// It has written something that is not read yet: where that is much, it waits.
  var hasUnreadOutput: Bool {
    var poller = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
    return poll(&poller, 1, 0) == 1 && poller.revents & Int16(POLLIN) != 0
  }

  private static func listen(to descriptor: Int32, _ replies: Replies) {
    let decoder = JSONDecoder()
    var rest: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      rest += buffer[..<count]
      while let end = rest.firstIndex(of: 0x0A) {
        let line = Data(rest[..<end])
        rest.removeFirst(end + 1)
        switch try? decoder.decode(SimulatorLine.self, from: line) {
        case .ready: replies.state.withLock { $0.isReady = true }
        case .reply(let reply): replies.state.withLock { $0.byIdentifier[reply.id] = reply }
        // The journal has the radio's events, with their times.
        case .event, nil: continue
        }
        replies.arrived.signal()
      }
    }
    close(descriptor)
    replies.state.withLock { $0.hasEnded = true }
    replies.arrived.signal()
  }

  /// Blocks until every machine has its Bluetooth.
  func waitUntilReady() throws { try wait("to be ready") { $0.isReady ? true : nil } }

  /// Blocks until the simulator has done what it was told.
  ///
  /// - Throws: `WorldError` where it refuses; then nothing has changed.
  package func send(_ command: SimulatorCommand) throws {
    let identifier = nextIdentifier.withLock { next in
      defer { next += 1 }
      return next
    }
    let data = try JSONEncoder().encode(SimulatorRequest(id: identifier, command: command)) + [0x0A]
    // Far below what a pipe takes at once.
    let written = data.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
    guard written == data.count else { throw WorldError.system("bluez-simulator takes no commands", errno) }
    let reply = try wait("to answer") { $0.byIdentifier.removeValue(forKey: identifier) }
    if let error = reply.error { throw WorldError("bluez-simulator refused \(command): \(error)") }
  }

  @discardableResult
  private func wait<Found: Sendable>(_ what: String, for find: (inout Replies.State) -> Found?) throws -> Found {
    let giveUp = DispatchTime.now() + .seconds(20)
    while true {
      let (found, hasEnded) = replies.state.withLock { (find(&$0), $0.hasEnded) }
      if let found { return found }
      guard !hasEnded else {
        // Its pipe closes before its end is known; whoever asks next is to know it.
        try? process.waitForEnd(limit: .seconds(5))
        throw WorldError("bluez-simulator ended when it was \(what)\(logTail(log))")
      }
      guard replies.arrived.wait(timeout: giveUp) == .success else {
        throw WorldError("bluez-simulator takes too long \(what)")
      }
    }
  }
}
