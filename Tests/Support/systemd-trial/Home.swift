import BlueZSimulator
import BusTesting
import Foundation
import LockCryptography

/// The world around the machine: the radio, and a door with its own system on its own bus.
final class Home {
  static let programs = "/usr/libexec/latchkey"
  private let bus: PrivateBus
  private let simulator = Process()
  private let input = Pipe()
  private let output = Pipe()
  private let doorDaemon = Process()
  private let folder = "/run/door"
  private var unread = Data()
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
    simulator.executableURL = URL(fileURLWithPath: Self.programs + "/bluez-simulator")
    simulator.arguments = [
      "--machine", "phone=unix:path=/run/dbus/system_bus_socket", "--machine", "door=\(bus.address)", "--seed", "1",
    ]
    simulator.environment = environment("radio")
    simulator.standardInput = input
    simulator.standardOutput = output
    try simulator.run()
    while true { if case .ready = try readLine() { break } }
  }

  func startDoor() throws {
    let apps = folder + "/apps/org.latchkey.lock"
    try FileManager.default.createDirectory(atPath: apps, withIntermediateDirectories: true)
    try FileManager.default.copyItem(
      atPath: "/usr/share/latchkey/apps/org.latchkey.lock/Info.plist", toPath: apps + "/Info.plist")
    doorDaemon.executableURL = URL(fileURLWithPath: Self.programs + "/latchkeyd")
    doorDaemon.arguments = [
      "--state", folder + "/state", "--apps", folder + "/apps", "--credentials", folder + "/credentials",
    ]
    doorDaemon.environment = environment("door").merging(["DBUS_SYSTEM_BUS_ADDRESS": "\(bus.address)"]) { $1 }
    try doorDaemon.run()
  }

  /// Their logs go to the machine's journal, under the names of their machines.
  private func environment(_ machine: String) -> [String: String] {
    ProcessInfo.processInfo.environment.merging(["LATCHKEY_MACHINE": machine, "JOURNAL_STREAM": "0:0"]) { $1 }
  }

  /// Sends the radio a command, and returns when it is done.
  func command(_ command: SimulatorCommand) throws {
    lastCommand += 1
    let data = try JSONEncoder().encode(SimulatorRequest(id: lastCommand, command: command)) + [0x0A]
    try input.fileHandleForWriting.write(contentsOf: data)
    while true {
      if case .reply(let reply) = try readLine(), reply.id == lastCommand {
        if let error = reply.error { throw TrialError("bluez-simulator: \(error)") }
        return
      }
    }
  }

  private func readLine() throws -> SimulatorLine {
    while true {
      if let end = unread.firstIndex(of: 0x0A) {
        let line = Data(unread[unread.startIndex..<end])
        unread.removeSubrange(unread.startIndex...end)
        return try JSONDecoder().decode(SimulatorLine.self, from: line)
      }
      let data = output.fileHandleForReading.availableData
      guard !data.isEmpty else { throw TrialError("bluez-simulator has ended") }
      unread += data
    }
  }
}
