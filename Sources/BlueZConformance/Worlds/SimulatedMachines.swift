import BlueZModel
import BlueZSimulator
import ChildProcesses
import Foundation
import Glibc
import Synchronization
import SystemBus

/// `bluez-simulator` with two buses of its own. The processes get this process's environment, and with it its clock.
package final class SimulatedMachines: ConformanceWorld {
  package let subject = "bluez-simulator"
  package let quiet = Duration.seconds(3)

  private struct Running {
    var buses: [BusDaemon]
    var simulator: LineProcess
    var lines: LineChannel
    var lastRequest: UInt64 = 0
  }

  private let simulator: String
  private let folder: String
  private let running = Mutex<Running?>(nil)

  /// - Parameter programs: the folder with `bluez-simulator`.
  package init(programs: String) throws {
    simulator = programs + "/bluez-simulator"
    var template = Array("/tmp/latchkey-conformance-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw WorldFailure("a folder in /tmp can't be made: \(String(cString: strerror(errno)))")
    }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  package func busAddress(of machine: MachineName) -> BusAddress { BusAddress("unix:path=\(socket(machine))") }
  private func socket(_ machine: MachineName) -> String { "\(folder)/bus-\(machine)" }

  package func begin(_ setup: WorldSetup) async throws {
    await end()
    let buses = try MachineName.allCases.map(startBus)
    // The air of the virtual machines loses nothing, so this one must not either. Otherwise chance would decide some
    // cases.
    var arguments = ["--radio", "clear"]
    arguments += MachineName.allCases.flatMap { machine in
      ["--machine", "\(machine)=\(busAddress(of: machine))"]
        + (setup.privateMachines.contains(machine) ? ["--private-machine", machine.rawValue] : [])
        + (setup.experimentalMachines.contains(machine) ? ["--experimental-machine", machine.rawValue] : [])
        + (setup.twoControllers.contains(machine) ? ["--adapters", "\(machine)=2"] : [])
    }
    // Its output arrives on another thread, possibly before this code has the process.
    let process = Mutex<LineProcess?>(nil)
    let lines = LineChannel("bluez-simulator") { line in try process.withLock { $0 }?.say(line) }
    let simulator = try LineProcess(
      "bluez-simulator", executable: simulator, arguments: arguments,
      environment: ProcessInfo.processInfo.environment, log: "\(folder)/simulator.log",
      onLine: { lines.take($0) }, onEnd: { lines.finish() })
    process.withLock { $0 = simulator }
    try await lines.hear("that it is ready") { $0.contains("\"ready\"") ? true : nil }
    running.withLock { $0 = Running(buses: buses, simulator: simulator, lines: lines) }
    for machine in setup.twoControllers.sorted(by: { $0.rawValue < $1.rawValue }) {
      try await perform(.plugSecond(machine, false))
    }
  }

  private func startBus(_ machine: MachineName) throws -> BusDaemon {
    let own = "\(folder)/\(machine)"
    try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
    return try BusDaemon(
      socket: socket(machine), folder: own, environment: ProcessInfo.processInfo.environment, endsWithThisProcess: true)
  }

  package func perform(_ fault: WorldFault) async throws {
    for command in Self.commands(fault) { try await obey(command) }
  }

  private static func commands(_ fault: WorldFault) -> [WorldCommand] {
    switch fault {
    case .range(let isOn): [.shield(machine: MachineName.lock.rawValue, isOn: !isOn)]
    case .stopBluetoothd(let machine, let killed): [.stopBluetoothd(machine: machine.rawValue, killed: killed)]
    case .startBluetoothd(let machine): [.startBluetoothd(machine: machine.rawValue)]
    case .block(let machine, let isOn): [.block(machine: machine.rawValue, isOn: isOn)]
    case .plug(let machine, let isOn): [.plug(machine: "\(machine)/hci0", isOn: isOn)]
    case .plugSecond(let machine, let isOn): [.plug(machine: "\(machine)/hci1", isOn: isOn)]
    case .reboot(let machine): [.shutDown(machine: machine.rawValue), .boot(machine: machine.rawValue)]
    }
  }

  private func obey(_ command: WorldCommand) async throws {
    guard
      let (lines, identifier) = running.withLock({ running -> (LineChannel, UInt64)? in
        running?.lastRequest += 1
        return running.map { ($0.lines, $0.lastRequest) }
      })
    else { throw WorldFailure("the world has not begun") }
    let request = SimulatorRequest(id: identifier, command: command)
    try lines.say(String(decoding: try JSONEncoder().encode(request), as: UTF8.self))
    let reply = try await lines.hear("an answer") { line -> SimulatorReply? in
      guard case .reply(let reply)? = try? JSONDecoder().decode(SimulatorLine.self, from: Data(line.utf8)),
        reply.id == identifier
      else { return nil }
      return reply
    }
    if let error = reply.error { throw WorldFailure("bluez-simulator refused \(command): \(error)") }
  }

  package func end() async {
    let ended = running.withLock { running -> Running? in
      defer { running = nil }
      return running
    }
    guard let ended else { return }
    ended.simulator.endInput()
    await ended.lines.waitForEnd()
    for bus in ended.buses { bus.end() }
  }
}
