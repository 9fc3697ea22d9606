import ChildProcesses
import Foundation
import Glibc
import Journal
import JournalEvents
import Radio
import TimeTypes

/// A world of separate machines: real ones over ssh, or virtual ones with the air between them. Its time is this
/// machine's, counted from its beginning, and can't be moved.
package final class RemoteWorld: World {
  package let run: RunFolder
  private let machines: [RemoteMachine]
  private let virtual: [(machine: RemoteMachine, hardware: VirtualHardware, settings: VirtualSettings)]
  private let air: AirProcess?
  private let records: RemoteRecords
  private let pace: Pace?
  private let progress: @Sendable (String) -> Void
  private let tools: MachineTools
  private let hasRadioOfItsOwn: Bool

  package var now: Instant { Instant(nanoseconds: records.now) }
  package var damagedLines: Int { 0 }

  package init(
    _ stage: [MachineDescription], radio: RadioPhysics, on description: MachinesDescription, tools: MachineTools,
    run: RunFolder, pace: Pace?, recordsAir: Bool = false,
    progress: @escaping @Sendable (String) -> Void
  ) throws {
    self.run = run
    self.pace = pace
    self.progress = progress
    self.tools = tools
    hasRadioOfItsOwn = radio != .ordinary
    let environment = Self.environment(run)
    let machinesOfStage = try StageMachines(stage, on: description)
    try machinesOfStage.checkPrograms(tools)
    let kinds = machinesOfStage.pairs
    let isVirtual = kinds.contains { if case .virtual = $0.kind { true } else { false } }
    let records = try RemoteRecords(run: run, machines: kinds.map(\.machine.name), recordsLinks: !isVirtual)
    self.records = records
    let places = PlacesOfMachines(
      Dictionary(uniqueKeysWithValues: stage.map { ($0.name, $0.position) }))
    let air =
      isVirtual
      ? try Self.air(kinds.map(\.machine.name), tools, run, environment, records, recordsAir: recordsAir) : nil
    self.air = air

    var machines: [RemoteMachine] = []
    var virtual: [(RemoteMachine, VirtualHardware, VirtualSettings)] = []
    var image: String?
    for (machine, kind) in kinds {
      switch kind {
      case .virtual(let settings):
        guard let air else { throw WorldError("no air") }
        let folder = try settings.image ?? image ?? Self.buildImage(tools, environment, progress)
        image = folder
        let hardware = try VirtualHardware(
          machine.name, settings, image: folder, run: run, tools: tools, air: air,
          controller: Self.socket(machine.name, run), places: places, environment: environment)
        let remote = try RemoteMachine(
          machine, hardware, tools: tools, run: run, records: records, environment: environment)
        machines.append(remote)
        virtual.append((remote, hardware, settings))
      case .ssh(let settings):
        let hardware = RealHardware(
          machine.name, settings, tools: tools, environment: environment, progress: progress)
        let remote = try RemoteMachine(
          machine, hardware, tools: tools, run: run, records: records, environment: environment)
        // What it can do is known only once it is connected.
        progress("connecting to \(machine.name)")
        try remote.connect()
        if machine.hasPrivateAddresses,
          try remote.shell.perform("grep -q '^ *Privacy *= *device' /etc/bluetooth/main.conf").end != .exited(0)
        {
          throw WorldError(
            "the story wants private addresses on \(machine.name): set `Privacy = device` under [General] in its "
              + "/etc/bluetooth/main.conf, and restart bluetooth.service")
        }
        machines.append(remote)
      }
    }
    self.machines = machines
    self.virtual = virtual
    try air?.waitUntilReady()
  }

  /// This user's own environment, with the world's mark.
  private static func environment(_ run: RunFolder) -> [String: String] {
    var environment = ProcessInfo.processInfo.environment.filter { name, _ in
      (!name.hasPrefix("LATCHKEY_") || ["LATCHKEY_CACHE", "LATCHKEY_AIR_PYTHON"].contains(name))
        && !name.hasPrefix("DBUS_") && !name.hasPrefix("WATCHDOG_")
        && !["NOTIFY_SOCKET", "JOURNAL_STREAM", "LISTEN_FDS", "LISTEN_PID"].contains(name)
    }
    environment[WorldProcesses.worldVariable] = run.world
    return environment
  }

  private static func socket(_ machine: String, _ run: RunFolder) -> String { "\(run.sockets)/hci-\(machine)" }

  private static func air(
    _ machines: [String], _ tools: MachineTools, _ run: RunFolder, _ environment: [String: String],
    _ records: RemoteRecords, recordsAir: Bool
  ) throws -> AirProcess {
    let controllers = machines.enumerated().map { index, name in
      "\(name)=C0:DE:00:00:00:0\(index + 1)@unix:\(socket(name, run))"
    }
    return try AirProcess(
      script: try tools.script("air.py"), arguments: controllers, environment: environment,
      log: "\(run.files)/air.txt"
    ) { line in
      // Its links and walks already have the journal's names.
      let name = line.event ?? ""
      guard let event = Recorded.Radio(rawValue: name) ?? Recorded.Radio(rawValue: "controller.\(name)") else { return }
      let isAboutAir = event == .advertisingChanged || event == .scanningChanged
      guard recordsAir || !isAboutAir else { return }
      var fields: [JournalField: String] = [:]
      if isAboutAir {
        fields[.on] = "\(line.on ?? false)"
        (fields[.set], fields[.name]) = (line.set, line.local)
        (fields[.services], fields[.interval]) = (line.services, line.interval)
      }
      fields[.central] = line.central
      fields[.peripheral] = line.peripheral
      fields[.reason] = line.reason
      fields[.machine] = line.name
      if let x = line.x, let y = line.y { (fields[.x], fields[.y]) = ("\(x)", "\(y)") }
      records.record(Recorded.air, event, fields)
    }
  }

  /// The image for virtual machines, built if it does not exist yet.
  private static func buildImage(
    _ tools: MachineTools, _ environment: [String: String], _ progress: @Sendable (String) -> Void
  ) throws -> String {
    progress("the image of virtual machines (built once, minutes)")
    let start = ProcessStart(
      executable: try tools.script("build-image"), environment: environment, standardError: STDERR_FILENO)
    guard let outcome = try FinishedProcess.run("build-image", start, limit: .seconds(3600)) else {
      throw WorldError("the image takes over an hour")
    }
    guard outcome.end == .exited(0) else { throw WorldError("the image can't be built: \(outcome.end)") }
    return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  // MARK: For the story

  package var remarks: [String] {
    var remarks: [String] = []
    if let pace {
      remarks.append(
        "time: \(pace), and pauses of at most \(DurationText.format(pace.longestPause)), on clocks that are not moved")
    }
    if hasRadioOfItsOwn { remarks.append("radio: the story's noise is for simulated worlds, and is not made here") }
    if !virtual.isEmpty {
      let range = VirtualHardware.radio.clearRange
      remarks.append(
        "radio: machines hear each other up to \(Int(range)) m, more weakly with the distance; without shadows, bodies and "
          + "noise")
    }
    return remarks
  }

  package func boot() throws {
    // The machines are prepared apart from each other and meet in the story. Their apps start during the preparation,
    // and would bond at once.
    for (_, hardware, _) in virtual { try hardware.hide() }
    // Each booting machine takes a processor. If more of them boot at a time, they only time out.
    let atOnce = max(2, ProcessInfo.processInfo.activeProcessorCount)
    for first in stride(from: 0, to: virtual.count, by: atOnce) {
      let group = virtual[first..<min(first + atOnce, virtual.count)]
      for (machine, hardware, _) in group {
        progress("\(machine.name) boots")
        try hardware.begin()
      }
      for (machine, _, _) in group {
        try machine.connect()
        progress("\(machine.name) is up")
      }
    }
    let installation = installation
    try installation.hideAddresses()
    try installation.install()
    for machine in machines {
      try machine.startDaemon()
      try machine.watchLinks()
    }
    try settle()
  }

  private var installation: Installation {
    Installation(
      machines: virtual.map { ($0.machine, $0.settings.packages ?? tools.packages) }, tools: tools, progress: progress)
  }

  package var provisioningRestarts: [InstalledApp] { [.agent, .lock] }

  package func provision(phone name: String, at door: String) throws {
    guard virtual.contains(where: { $0.machine.name == name }) else {
      throw WorldError("\(name) can't be provisioned in the middle of a story over ssh")
    }
    try installation.introduce(name)
  }

  package func meet(_ machines: Set<String>) throws {
    for (machine, hardware, _) in virtual where machines.contains(machine.name) { try hardware.spread() }
  }

  package func settle() throws {
    // All are asked before any is waited for, so it takes only as long as the slowest machine.
    let waits = try machines.map { try $0.beginToSettle() }
    for wait in waits { try wait() }
  }

  @discardableResult
  package func run(until limit: Instant, stopWhen: () throws -> Bool) throws -> Bool {
    while true {
      let seen = records.count
      if try stopWhen() { return true }
      guard now < limit else { return false }
      // Checks at least this often, because a lost connection leaves no record.
      records.wait(beyond: seen, until: min(limit, now + .seconds(5)))
    }
  }

  package func machine(_ name: String) throws -> any Machine {
    guard let machine = machines.first(where: { $0.name == name }) else {
      throw WorldError("there is no machine '\(name)' in this world")
    }
    return machine
  }

  package func tend() throws -> [(machine: String, UnexpectedEnd)] {
    if let end = air?.process.end {
      let ended = UnexpectedEnd(
        process: Recorded.air, pid: air?.process.pid ?? 0, end: end,
        fatal: "the air ended by itself: \(end)\(logTail("\(run.files)/air.txt"))")
      return [("", ended)]
    }
    return try machines.flatMap { machine in try machine.tend().map { (machine.name, $0) } }
  }

  package func readRecords() throws -> [JournalEntry] { records.takeEntries() }
}
