import CSystemd
import ChildProcesses
import Foundation
import Glibc
import Radio

/// A virtual machine as in docs/machines.md: QEMU's process is its power, and the air has its controller.
final class VirtualHardware: MachineHardware {
  private let name: String
  private let settings: VirtualSettings
  private let image: String
  private let disk: String
  private let folder: String
  private let port: UInt16
  private let run: RunFolder
  private let tools: MachineTools
  private let air: AirProcess
  private let controller: String
  private let environment: [String: String]
  private var process: RunningProcess?
  private var input: Int32 = -1
  private let console: MachineConsole
  /// The places of all machines at the beginning of the story, and which of them the air knows.
  private let places: PlacesOfMachines

  /// The radio of the air: only the distance decides what is heard.
  static let radio = RadioPhysics.clear
  static let controllerUnit = "latchkey-lab-controller.service"
  /// An emulated machine boots in half a minute on an idle host, and in minutes on a busy one.
  static let bootLimit: Duration = .seconds(600)
  /// A shutdown takes about ten seconds. A frozen app that is not woken would delay it for ninety.
  static let powerOffSeconds = 60

  /// - Parameters:
  ///   - controller: the air's socket for its controller.
  ///   - environment: for its process; it contains the world's mark.
  init(
    _ name: String, _ settings: VirtualSettings, image: String, run: RunFolder, tools: MachineTools, air: AirProcess,
    controller: String, places: PlacesOfMachines, environment: [String: String]
  ) throws {
    self.name = name
    self.settings = settings
    self.image = image
    self.run = run
    self.tools = tools
    self.air = air
    self.controller = controller
    self.places = places
    self.environment = environment.merging([WorldProcesses.machineVariable: name]) { $1 }
    folder = run.folder(of: name)
    disk = settings.disks.map { "\($0)/\(name).qcow2" } ?? "\(folder)/disk.qcow2"
    try RunFolder.make(folder)
    port = try LoopbackPort.free()
    console = try MachineConsole(pipe: "\(run.sockets)/console-\(name)", log: "\(folder)/console.txt")
  }

  var destination: SecureShell.Destination {
    SecureShell.Destination(
      host: "machine", user: nil,
      options: ["-F", "\(image)/ssh_config", "-p", "\(port)", "-o", "ConnectTimeout=120"], bus: nil)
  }

  // MARK: Power

  /// Begins to boot. `powerOn` waits until that is done.
  func begin() throws {
    guard process == nil else { return }
    let (reading, writing) = try makePipe()
    let log = open("\(folder)/machine.txt", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    defer {
      close(reading)
      if log >= 0 { close(log) }
    }
    console.forget()
    process = try RunningProcess(
      "the machine \(name)",
      ProcessStart(
        executable: try tools.script("run-machine"),
        arguments: [
          "--name", name, "--image", image, "--disk", disk, "--ssh-port", "\(port)", "--hci", controller, "--console",
          console.pipe,
        ], environment: environment, standardInput: reading, standardOutput: log >= 0 ? log : nil,
        standardError: log >= 0 ? log : nil))
    input = writing
  }

  func powerOn() throws {
    try begin()
    let deadline = Date(timeIntervalSinceNow: Double(Self.bootLimit.components.seconds))
    while !console.wait(for: "latchkey-lab: ready", until: min(deadline, Date(timeIntervalSinceNow: 5))) {
      try check()
      guard Date() < deadline else {
        throw WorldError(
          "\(name) did not boot within \(DurationText.format(Self.bootLimit))\(logTail("\(folder)/console.txt"))")
      }
    }
  }

  func powerOff(clean: Bool, _ shell: SecureShell) throws {
    guard let process else { throw WorldError("\(name) is off already") }
    if clean {
      // The connection may be lost before the answer comes.
      _ = try? shell.perform("systemctl poweroff", limit: .seconds(60))
      do {
        try process.waitForEnd(limit: .seconds(Self.powerOffSeconds))
      } catch {
        throw WorldError("\(name) does not power off within \(Self.powerOffSeconds) s")
      }
    }
    try WorldProcesses(world: run.world).kill { [name] in $0.machine == name }
    try process.waitForEnd()
    if input >= 0 { close(input) }
    input = -1
    self.process = nil
  }

  var powerCut: Ability { .exact }

  func check() throws {
    if let end = process?.end {
      throw WorldError("the machine \(name) ended by itself: \(end)\(logTail("\(folder)/machine.txt"))")
    }
  }

  // MARK: Faults

  func ability(_ fault: MachineFault, _ shell: SecureShell) -> Ability? {
    switch fault {
    case .controller, .radio, .move: .exact
    default: nil
    }
  }

  func perform(_ fault: MachineFault, _ shell: SecureShell) throws {
    switch fault {
    case .controller(let isPlugged):
      try shell.run("systemctl \(isPlugged ? "start" : "stop") \(Self.controllerUnit)")
    case .radio(let isBlocked): try air.power(name, on: !isBlocked)
    case .move(let place, _, let over):
      if let over {
        try air.walk(name, to: place, over: over)
      } else {
        try air.place(name, at: place)
      }
    default: throw WorldError("\(name) can't do that")
    }
  }

  /// Keeps every machine out of range of this one, wherever it is, until `spread`.
  func hide() throws {
    for (other, _) in places.others(than: name) { try air.range(name, other, on: false) }
  }

  /// Tells the air where this machine is, once. From now on the distance decides which machines hear it, of those that have
  /// been told as well.
  func spread() throws {
    guard let here = places[name], places.spread.insert(name).inserted else { return }
    try air.place(name, at: here)
    for (other, _) in places.others(than: name) where places.spread.contains(other) {
      try air.range(name, other, on: true)
    }
  }
}

/// The machines' places at the beginning of the story, shared by all of them.
final class PlacesOfMachines {
  private let places: [String: Place]
  /// The machines that the air has placed.
  var spread: Set<String> = []
  init(_ places: [String: Place]) { self.places = places }
  subscript(name: String) -> Place? { places[name] }
  func others(than name: String) -> [(name: String, place: Place)] {
    places.filter { $0.key != name }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}

/// A machine's serial console: a pipe that its process writes into, read here and stored in a file.
final class MachineConsole: @unchecked Sendable {
  let pipe: String
  // Guarded by the condition.
  private let condition = NSCondition()
  private var lines: [String] = []
  private let descriptor: Int32

  init(pipe: String, log: String) throws {
    self.pipe = pipe
    guard mkfifo(pipe, 0o600) == 0 else { throw WorldError.system(pipe, errno) }
    // Open for writing as well, so that it does not end between two boots.
    descriptor = open(pipe, O_RDWR | O_CLOEXEC)
    let file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0, file >= 0 else { throw WorldError.system(pipe, errno) }
    try LineReader.start(
      descriptor,
      onLine: { [weak self] line in
        let bytes = Array(line) + [0x0A]
        _ = write(file, bytes, bytes.count)
        self?.take(String(decoding: line, as: UTF8.self))
      }, onEnd: { close(file) })
  }

  private func take(_ line: String) {
    condition.lock()
    lines.append(line)
    if lines.count > 10_000 { lines.removeFirst(5000) }
    condition.broadcast()
    condition.unlock()
  }

  /// Everything so far belongs to an earlier boot.
  func forget() {
    condition.lock()
    lines = []
    condition.unlock()
  }

  /// - Returns: whether the machine has printed these words by then.
  func wait(for words: String, until limit: Date) -> Bool {
    condition.lock()
    defer { condition.unlock() }
    while !lines.contains(where: { $0.contains(words) }) {
      guard condition.wait(until: limit) else { return false }
    }
    return true
  }
}
