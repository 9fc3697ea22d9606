import BlueZModel
import BlueZSimulator
import ChildProcesses
import Foundation
import Synchronization

/// The one `bluez-simulator` of a world, and the communication with it: a line of JSON for each command and each
/// reply.
package final class SimulatorProcess: Sendable {
  private let peer: LineProcess
  var process: RunningProcess { peer.process }
  var log: String { peer.log }
  private let replies: Replies

  /// What the reading thread passes on.
  private final class Replies: Sendable {
    struct State {
      var byIdentifier: [UInt64: SimulatorReply] = [:]
      var isReady = false
      var hasEnded = false
    }
    let state = Mutex(State())
    let arrived = DispatchSemaphore(value: 0)

    func take(_ line: Data) {
      switch try? JSONDecoder().decode(SimulatorLine.self, from: line) {
      case .ready: state.withLock { $0.isReady = true }
      case .reply(let reply): state.withLock { $0.byIdentifier[reply.id] = reply }
      // Not needed here: the journal has the radio's events, with their times.
      case .event, nil: return
      }
      arrived.signal()
    }

    func end() {
      state.withLock { $0.hasEnded = true }
      arrived.signal()
    }
  }

  private let nextIdentifier = Mutex<UInt64>(1)

  init(
    executable: String, machines: [(name: String, busAddress: String)], privateMachines: [String], seed: UInt64,
    radio: String, recordsAir: Bool,
    environment: [String: String], log: String
  ) throws {
    replies = Replies()
    peer = try LineProcess(
      "bluez-simulator", executable: executable,
      arguments: machines.flatMap { ["--machine", "\($0.name)=\($0.busAddress)"] }
        + privateMachines.flatMap { ["--private-machine", $0] } + ["--seed", "\(seed)", "--radio", radio]
        + (recordsAir ? ["--record-air"] : []),
      environment: environment, log: log,
      onLine: { [replies] line in replies.take(line) }, onEnd: { [replies] in replies.end() })
  }

  /// Whether it has written something that has not been read yet. It blocks if there is a lot of that.
  var hasUnreadOutput: Bool { peer.hasUnreadOutput }

  /// Blocks until every machine has its Bluetooth.
  func waitUntilReady() throws { try wait("to be ready") { $0.isReady ? true : nil } }

  /// Blocks until the simulator has carried out the command.
  ///
  /// - Throws: `WorldError` if it refuses. Nothing has changed then.
  package func send(_ command: SimulatorCommand) throws {
    let identifier = nextIdentifier.withLock { next in
      defer { next += 1 }
      return next
    }
    try peer.say(try JSONEncoder().encode(SimulatorRequest(id: identifier, command: command)))
    let reply = try wait("to answer") { $0.byIdentifier.removeValue(forKey: identifier) }
    if let error = reply.error { throw WorldError("the simulated radio can't do that: \(error)") }
  }

  @discardableResult
  private func wait<Found: Sendable>(_ what: String, for find: (inout Replies.State) -> Found?) throws -> Found {
    let giveUp = DispatchTime.now() + RunningProcess.patience
    while true {
      let (found, hasEnded) = replies.state.withLock { (find(&$0), $0.hasEnded) }
      if let found { return found }
      guard !hasEnded else {
        // The process's pipe closes before its end is known. Waiting for the end lets the next caller see it.
        try? process.waitForEnd()
        throw WorldError("bluez-simulator ended when it was \(what)\(logTail(log))")
      }
      guard replies.arrived.wait(timeout: giveUp) == .success else {
        throw WorldError("bluez-simulator takes too long \(what)")
      }
    }
  }
}
