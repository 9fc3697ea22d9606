import BlueZModel
import BlueZSimulator
import Foundation
import Glibc
import Synchronization
import SystemBus
import Worlds

/// `bluez-simulator` and two buses of its own. The processes get this process's environment, and with it its clock.
public final class SimulatedMachines: ConformanceWorld {
  public let subject = "bluez-simulator"
  public let quiet = Duration.seconds(3)

  private struct Running {
    var buses: [LineProcess]
    var simulator: LineProcess
    var lastRequest: UInt64 = 0
  }

  private let simulator: String
  private let folder: String
  private let running = Mutex<Running?>(nil)

  /// - Parameter programs: the folder with `bluez-simulator`.
  public init(programs: String) throws {
    simulator = programs + "/bluez-simulator"
    var template = Array("/tmp/latchkey-conformance-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw WorldFailure("a folder in /tmp can't be made: \(String(cString: strerror(errno)))")
    }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  public func busAddress(of machine: MachineName) -> BusAddress { BusAddress("unix:path=\(socket(machine))") }
  private func socket(_ machine: MachineName) -> String { "\(folder)/bus-\(machine)" }

  public func begin(_ setup: WorldSetup) async throws {
    await end()
    var buses: [LineProcess] = []
    for machine in MachineName.allCases { buses.append(try await startBus(machine)) }
    let arguments = MachineName.allCases.flatMap { machine in
      ["--machine", "\(machine)=\(busAddress(of: machine))"]
        + (setup.privateMachines.contains(machine) ? ["--private-machine", machine.rawValue] : [])
        + (setup.experimentalMachines.contains(machine) ? ["--experimental-machine", machine.rawValue] : [])
    }
    let process = try LineProcess(
      simulator, arguments, diesWithInput: true, log: "\(folder)/simulator.log")
    try await process.lines.hear("that it is ready") { $0.contains("\"ready\"") ? true : nil }
    running.withLock { $0 = Running(buses: buses, simulator: process) }
  }

  private func startBus(_ machine: MachineName) async throws -> LineProcess {
    unlink(socket(machine))
    let configuration = "\(folder)/bus-\(machine).xml"
    let text = BusConfiguration.text(socket: socket(machine))
    try text.write(toFile: configuration, atomically: true, encoding: .utf8)
    let bus = try LineProcess(
      "/usr/bin/dbus-daemon",
      ["--config-file=\(configuration)", "--nofork", "--nopidfile", "--nosyslog", "--print-address=1"],
      diesWithInput: false, log: "\(folder)/bus-\(machine).log")
    try await bus.lines.hear("its address") { $0.hasPrefix("unix:") ? true : nil }
    return bus
  }

  public func perform(_ fault: WorldFault) async throws {
    for command in Self.commands(fault) { try await obey(command) }
  }

  private static func commands(_ fault: WorldFault) -> [WorldCommand] {
    switch fault {
    case .range(let isOn): [.shield(machine: MachineName.lock.rawValue, isOn: !isOn)]
    case .stopBluetoothd(let machine, let killed): [.stopBluetoothd(machine: machine.rawValue, killed: killed)]
    case .startBluetoothd(let machine): [.startBluetoothd(machine: machine.rawValue)]
    case .block(let machine, let isOn): [.block(machine: machine.rawValue, isOn: isOn)]
    case .plug(let machine, let isOn): [.plug(machine: machine.rawValue, isOn: isOn)]
    case .reboot(let machine): [.shutDown(machine: machine.rawValue), .boot(machine: machine.rawValue)]
    }
  }

  private func obey(_ command: WorldCommand) async throws {
    guard
      let (process, identifier) = running.withLock({ running -> (LineProcess, UInt64)? in
        running?.lastRequest += 1
        return running.map { ($0.simulator, $0.lastRequest) }
      })
    else { throw WorldFailure("the world has not begun") }
    let request = SimulatorRequest(id: identifier, command: command)
    try process.lines.say(String(decoding: try JSONEncoder().encode(request), as: UTF8.self))
    let reply = try await process.lines.hear("an answer") { line -> SimulatorReply? in
      guard case .reply(let reply)? = try? JSONDecoder().decode(SimulatorLine.self, from: Data(line.utf8)),
        reply.id == identifier
      else { return nil }
      return reply
    }
    if let error = reply.error { throw WorldFailure("bluez-simulator refused \(command): \(error)") }
  }

  public func end() async {
    let ended = running.withLock { running -> Running? in
      defer { running = nil }
      return running
    }
    guard let ended else { return }
    await ended.simulator.end()
    for bus in ended.buses { await bus.end() }
  }
}
