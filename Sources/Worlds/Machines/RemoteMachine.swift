import AppLink
import AppLinkBus
import ChildProcesses
import Foundation
import Journal
import LockCryptography
import Synchronization
import TimeTypes

/// A separate machine with systemd, bluetoothd and Latchkey's packages, reached over ssh.
///
/// Latchkey's processes are its units, and their records are in its journal.
final class RemoteMachine: Machine {
  let description: MachineDescription
  let shell: SecureShell
  let hardware: any MachineHardware
  private let run: RunFolder
  private let records: RemoteRecords
  private let follower: JournalFollower
  private var bluetooth: RemoteBluetooth?
  private var control: MachineControl?
  private(set) var isUp = false
  /// The text that introduces its agent to a lock, if it was set up for the story.
  var introduction: String?

  static let daemonUnit = "latchkeyd.service"
  static let bluetoothUnit = "bluetooth.service"
  /// The folder with the lock's hardware (StateDirectory= of its unit).
  static let lockState = "/var/lib/latchkey-lock"

  var name: String { description.name }

  init(
    _ description: MachineDescription, _ hardware: any MachineHardware, tools: MachineTools, run: RunFolder,
    records: RemoteRecords, environment: [String: String]
  ) throws {
    self.description = description
    self.hardware = hardware
    self.run = run
    self.records = records
    shell = SecureShell(
      description.name, hardware.destination, tools: tools, control: "\(run.sockets)/ssh-\(description.name)",
      environment: environment)
    let name = description.name
    follower = JournalFollower(name, shell, now: { records.now }, onLine: { records.take($0, machine: name) })
    records.add(name, follower, apps: description.apps.filter(\.isDescribed))
    try RunFolder.make(run.folder(of: name))
    try RunFolder.make(handFolder)
  }

  private var handFolder: String { "\(run.sockets)/hand-\(name)" }

  // MARK: Connection

  /// Powers it on, connects, and follows its journal. Latchkey need not be installed yet.
  func connect() throws {
    try hardware.powerOn()
    try shell.connect(limit: .seconds(180))
    try follower.open()
    if description.apps.contains(.lock) {
      try shell.forward("\(handFolder)/hardware.sock", to: "\(Self.lockState)/hardware.sock")
    }
    isUp = true
  }

  func boot() throws {
    guard !isUp else { throw WorldError("\(name) is up already") }
    try connect()
    try startDaemon()
    try watchLinks()
  }

  /// If nothing else observes the links, bluetoothd's own reports of them are recorded.
  func watchLinks() throws {
    guard records.recordsLinks else { return }
    bluetooth = try RemoteBluetooth(shell.busAddress) { [records, name] device, isConnected in
      records.link(device, isUp: isConnected, machine: name)
    }
  }

  func shutDown(clean: Bool) throws {
    guard isUp else { throw WorldError("\(name) is down already") }
    try follower.sync()
    isUp = false
    control = nil
    bluetooth = nil
    try hardware.powerOff(clean: clean, shell)
    follower.close()
    shell.close()
  }

  /// Asks for everything that was recorded on this machine so far. The returned function waits until it has been
  /// delivered.
  func beginToSettle() throws -> () throws -> Void {
    guard isUp else { return {} }
    let question = try follower.beginSync()
    return { [follower] in try follower.finish(question) }
  }

  func tend() throws -> [UnexpectedEnd] {
    guard isUp else { return [] }
    try hardware.check()
    guard shell.isOpen, follower.isOpen else { throw WorldError("the connection to \(name) is lost") }
    return records.takeUnexpectedEnds(of: name)
  }

  // MARK: Processes

  static func unit(of app: InstalledApp) -> String {
    app.isDescribed ? StoryUnit(app).name : app.unit ?? "\(app.program).service"
  }

  func killDaemon(staysDown: Bool) throws {
    records.expectEnd(of: Self.daemonUnit, on: name)
    try shell.run("systemctl kill --signal=KILL --kill-whom=main \(Self.daemonUnit)")
    // Without this, systemd would restart it.
    if staysDown { try shell.run("systemctl stop \(Self.daemonUnit)") }
  }

  func startDaemon() throws {
    do {
      try shell.run("systemctl start \(Self.daemonUnit)", limit: .seconds(180))
    } catch {
      throw WorldError("Latchkey does not start on \(name): \(error)")
    }
  }

  func process(of app: InstalledApp) throws -> Int32 {
    let text = try shell.run("systemctl show --property=MainPID --value \(Self.unit(of: app))")
    guard let pid = Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)), pid > 0 else {
      throw WorldError("the \(app) does not run on \(name)")
    }
    return pid
  }

  func kill(_ app: InstalledApp) throws {
    try shell.run("systemctl kill --signal=KILL --kill-whom=main \(Self.unit(of: app))")
  }

  func hold(_ app: InstalledApp, isHung: Bool) throws {
    try shell.run("systemctl kill --signal=\(isHung ? "STOP" : "CONT") --kill-whom=main \(Self.unit(of: app))")
  }

  func control(_ request: ControlRequest) throws {
    try openControl().perform(request, limit: .seconds(120))
  }

  func say(_ request: ControlRequest) throws { try openControl().say(request) }

  func type(_ words: [String], input: String?) throws -> any TypedCommand {
    guard isUp else { throw WorldError("\(name) is down") }
    // The input is limited to what a pipe takes without a reader.
    let entered = Array("\(input ?? "")\n".utf8.prefix(60_000))
    let pipe = try makePipe()
    defer { close(pipe.reading) }
    _ = entered.withUnsafeBytes { write(pipe.writing, $0.baseAddress, $0.count) }
    close(pipe.writing)
    return FinishedCommand(
      try shell.perform(
        "TZ=UTC latchkey " + words.map(SecureShell.quoted).joined(separator: " "), input: pipe.reading,
        limit: .seconds(120)))
  }

  func phoneKey(at door: String?) throws -> String {
    guard let introduction else {
      throw WorldError("the key of \(name)'s phone is not known here: it was set up before the story")
    }
    return Hex.text(try PhoneIntroduction(introduction).publicKey)
  }

  private func openControl() throws -> MachineControl {
    guard isUp else { throw WorldError("\(name) is down") }
    let control = try control ?? MachineControl(address: shell.busAddress)
    self.control = control
    return control
  }

  func lockHardware() throws -> LockHardware {
    guard description.apps.contains(.lock) else { throw WorldError("\(name) has no lock") }
    // A lock that was just restarted on a busy machine needs some time.
    return LockHardware(stateFolder: handFolder, patience: .seconds(120))
  }

  // MARK: Faults

  var powerCut: Ability { hardware.powerCut }

  func ability(_ fault: MachineFault) -> Ability {
    if let ability = hardware.ability(fault, shell) { return ability }
    switch fault {
    case .restartBluetoothd, .adapterPower, .forgetPairings: return .exact
    case .rfkill:
      // Before the connection this is not known, but the virtual machines have rfkill.
      guard shell.isOpen, (try? shell.run("command -v rfkill")) == nil else { return .exact }
      return .unsupported("rfkill is not installed there")
    case .controller: return .unsupported("its controller can't be unplugged")
    case .radio: return .unsupported("it can't be shielded")
    case .move: return .unsupported("it can't be moved; `walk:` in the machines file says how")
    case .clock: return .unsupported("its records are put in order by its clock")
    case .malformedAdvertisement, .unknownNotification: return .unsupported("nothing in its radio range can send this")
    }
  }

  func perform(_ fault: MachineFault) throws {
    guard isUp else { throw WorldError("\(name) is down") }
    if hardware.ability(fault, shell) != nil { return try hardware.perform(fault, shell) }
    switch fault {
    case .restartBluetoothd(let killed):
      if killed {
        records.expectEnd(of: Self.bluetoothUnit, on: name)
        try shell.run("systemctl kill --signal=KILL --kill-whom=main \(Self.bluetoothUnit)")
      } else {
        try shell.run("systemctl restart \(Self.bluetoothUnit)", limit: .seconds(120))
      }
    case .adapterPower(let isOn):
      try RemoteBluetooth.setPowered(isOn, at: shell.busAddress)
    case .forgetPairings: try RemoteBluetooth.forgetPairings(at: shell.busAddress)
    case .rfkill(let isBlocked):
      try shell.run("rfkill \(isBlocked ? "block" : "unblock") bluetooth")
    case .controller, .radio, .move, .clock, .malformedAdvertisement, .unknownNotification:
      throw WorldError("\(name) can't do that")
    }
  }
}
