import BlueZSimulator
import BusTesting
import ChildProcesses
import Foundation
import LockCryptography

/// The world around the machine: the radio, and a door with its own system on its own bus.
final class Home {
  static let programs = "/usr/libexec/latchkey"
  private let bus: PrivateBus
  private var simulator: LineProcess?
  private let said = SimulatorWords()
  private var doorDaemon: RunningProcess?
  private let folder = "/run/door"
  private var lastCommand: UInt64 = 0

  init() throws {
    bus = try PrivateBus()
    try Provisioning.provision(
      lockDirectory: folder + "/credentials/org.latchkey.lock", phoneDirectory: "/etc/latchkey/agent")
    // This machine has a lock as well, a different one.
    try Provisioning.provision(lockDirectory: "/etc/latchkey/lock", phoneDirectory: "/run/unused")
  }

  /// Starts the radio, and returns when both machines have it.
  func start() throws {
    let said = said
    simulator = try LineProcess(
      "bluez-simulator", executable: Self.programs + "/bluez-simulator",
      arguments: [
        "--machine", "phone=unix:path=/run/dbus/system_bus_socket", "--machine", "door=\(bus.address)", "--seed", "1",
      ], environment: environment("radio"), log: "/run/bluez-simulator.log", onLine: { said.take($0) },
      onEnd: { said.end() })
    while true { if case .ready = try said.next() { break } }
  }

  func startDoor() throws {
    let apps = folder + "/apps/org.latchkey.lock"
    try FileManager.default.createDirectory(atPath: apps, withIntermediateDirectories: true)
    try FileManager.default.copyItem(
      atPath: "/usr/share/latchkey/apps/org.latchkey.lock/Info.plist", toPath: apps + "/Info.plist")
    doorDaemon = try RunningProcess(
      "the door's latchkeyd",
      ProcessStart(
        executable: Self.programs + "/latchkeyd",
        arguments: [
          "--state", folder + "/state", "--apps", folder + "/apps", "--credentials", folder + "/credentials",
        ], environment: environment("door").merging(["DBUS_SYSTEM_BUS_ADDRESS": "\(bus.address)"]) { $1 },
        standardOutput: STDOUT_FILENO, standardError: STDERR_FILENO))
  }

  /// Their logs go to the machine's journal, under the names of their machines.
  private func environment(_ machine: String) -> [String: String] {
    ProcessInfo.processInfo.environment.merging(["LATCHKEY_MACHINE": machine, "JOURNAL_STREAM": "0:0"]) { $1 }
  }

  /// Sends the radio a command, and returns when it is done.
  func command(_ command: SimulatorCommand) throws {
    lastCommand += 1
    try simulator?.say(try JSONEncoder().encode(SimulatorRequest(id: lastCommand, command: command)))
    while true {
      if case .reply(let reply) = try said.next(), reply.id == lastCommand {
        if let error = reply.error { throw TrialError("bluez-simulator: \(error)") }
        return
      }
    }
  }
}

/// What the simulator has said, in order.
private final class SimulatorWords: @unchecked Sendable {
  // Guarded by the condition.
  private let condition = NSCondition()
  private var lines: [Data] = []
  private var hasEnded = false

  func take(_ line: Data) {
    condition.lock()
    lines.append(line)
    condition.signal()
    condition.unlock()
  }

  func end() {
    condition.lock()
    hasEnded = true
    condition.signal()
    condition.unlock()
  }

  /// Blocks until there is one.
  func next() throws -> SimulatorLine {
    condition.lock()
    defer { condition.unlock() }
    while lines.isEmpty {
      guard !hasEnded else { throw TrialError("bluez-simulator has ended") }
      condition.wait()
    }
    return try JSONDecoder().decode(SimulatorLine.self, from: lines.removeFirst())
  }
}
