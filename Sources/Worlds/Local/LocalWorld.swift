import ChildProcesses
import Foundation
import Glibc
import Journal
import JournalEvents
import LockCryptography
import Radio
import TimeTypes
import Timekeeping

/// A running simulated world: machines, their processes, one radio, one clock. Only one thread uses it.
package final class LocalWorld: World {
  package let run: RunFolder
  package let conductor: Conductor
  package let simulator: SimulatorProcess
  private var simulated: [LocalMachine] = []
  private var journal: JournalReader
  /// In a story with several locks: the keys of each phone that has not started yet.
  private var doorKeys: [String: [DoorKeys]] = [:]
  /// The latest processes of the story's own apps.
  private var appProcesses: [AppPlace: Int32] = [:]

  private struct AppPlace: Hashable {
    var machine: String
    var bundleIdentifier: String
  }

  package var now: Instant { conductor.now }
  package var remarks: [String] { [] }

  /// Starts everything up to the machines' buses. `boot` starts the rest.
  ///
  /// - Parameter recordsAir: advertisements and scans are recorded, too.
  package init(
    _ machines: [MachineDescription], radio: RadioPhysics, seed: UInt64, run: RunFolder, executables: Executables,
    recordsAir: Bool = false
  ) throws {
    self.run = run
    try OpenFiles.require()
    try BusConfiguration.requireKnownUser()
    try run.requireSpace()
    try ProcessTable.shared.adoptOrphans()
    try RunFolder.make(run.clock)
    conductor = try Conductor(directory: run.clock)
    guard FileManager.default.createFile(atPath: run.journal, contents: nil, attributes: [.posixPermissions: 0o600])
    else { throw WorldError("the journal \(run.journal) can't be made") }
    journal = try JournalReader(path: run.journal)
    let environment = Self.environment(run, seed: seed)

    // The simulator connects to every bus as it starts, so the buses must exist first.
    var buses: [String: BusDaemon] = [:]
    for machine in machines {
      try RunFolder.make(run.folder(of: machine.name))
      buses[machine.name] = try BusDaemon(
        executable: executables.busDaemon, socket: run.busSocket(of: machine.name),
        folder: run.folder(of: machine.name),
        environment: environment.merging([WorldProcesses.machineVariable: machine.name]) { $1 })
    }
    simulator = try SimulatorProcess(
      executable: executables.simulator,
      machines: machines.map { ($0.name, BusConfiguration.address(ofSocket: run.busSocket(of: $0.name))) },
      privateMachines: machines.filter(\.hasPrivateAddresses).map(\.name), seed: seed,
      radio: radio.text, recordsAir: recordsAir,
      environment: environment, log: "\(run.files)/simulator.log")
    conductor.ownWork = [
      { ProcessTable.shared.hasUntoldEnds ? "an ended process is not taken note of yet" : nil },
      { [simulator] in simulator.hasUnreadOutput ? "what bluez-simulator says is not read yet" : nil },
    ]
    for machine in machines {
      simulated.append(
        try LocalMachine(
          machine, bus: buses[machine.name], run: run, executables: executables, simulator: simulator,
          environment: environment))
    }
    try provision()
    try simulator.waitUntilReady()
    for machine in machines {
      try simulator.send(.move(machine: machine.name, x: machine.position.x, y: machine.position.y))
    }
  }

  /// The environment of every process of the world: this user's own, without what would tie it to another world.
  private static func environment(_ run: RunFolder, seed: UInt64) -> [String: String] {
    var environment = ProcessInfo.processInfo.environment.filter { name, _ in
      !name.hasPrefix("LATCHKEY_") && !name.hasPrefix("DBUS_") && !name.hasPrefix("WATCHDOG_")
        && ![
          "NOTIFY_SOCKET", "JOURNAL_STREAM", "STATE_DIRECTORY", "CREDENTIALS_DIRECTORY", "LISTEN_FDS", "LISTEN_PID",
          "RUNTIME_DIRECTORY",
        ].contains(name)
    }
    environment[WorldProcesses.worldVariable] = run.world
    environment[ProcessClock.variable] = run.clock
    environment[WorldSeed.variable] = String(seed)
    // Otherwise sets and dictionaries have another order in every process.
    environment["SWIFT_DETERMINISTIC_HASHING"] = "1"
    // The backtracer of a crashed process is a new process without the world's mark, and would outlive the world.
    environment["SWIFT_BACKTRACE"] = environment["SWIFT_BACKTRACE"] ?? "enable=no"
    environment["LATCHKEY_JOURNAL"] = run.journal
    return environment
  }

  private var locks: [LocalMachine] { simulated.filter { $0.description.apps.contains(.lock) } }

  /// Gives the owners' phones and the locks each other's keys, without enrolment over the air. If the story has no lock
  /// or no phone, the other side's half of the keys is not used.
  private func provision() throws {
    let all = simulated.filter { $0.description.apps.contains(.agent) }
    // Guests' phones, and phones that are bought later, have no keys yet.
    for phone in all where !phone.description.isEnrolled || locks.count > 1 {
      try RunFolder.make(phone.credentials(of: .agent))
    }
    let phones = all.filter(\.description.isEnrolled)
    if locks.count > 1 {
      for lock in locks { _ = try Provisioning.makeLock(directory: lock.credentials(of: .lock), enrolledPhones: []) }
      for phone in phones {
        doorKeys[phone.name] = try locks.filter { phone.description.mayKnow($0.name) }.map { try enrol(phone, at: $0) }
      }
      return
    }
    guard !locks.isEmpty || !phones.isEmpty else { return }
    let lockFolder = locks.first?.credentials(of: .lock) ?? "\(run.files)/unused-lock-keys"
    try Provisioning.provision(
      lockDirectory: lockFolder,
      phoneDirectory: phones.first?.credentials(of: .agent) ?? "\(run.files)/unused-phone-keys")
    let lock = LockIntroduction(try LockKeys.read(fromDirectory: lockFolder))
    for phone in phones.dropFirst() {
      let keys = try Provisioning.makePhone(directory: phone.credentials(of: .agent), lock: lock)
      _ = try LockKeys.enroll(PhoneIntroduction(keys), inDirectory: lockFolder)
    }
  }

  /// With several locks, each door is called by its machine's name.
  private func enrol(_ phone: LocalMachine, at lock: LocalMachine) throws -> DoorKeys {
    let lockFolder = lock.credentials(of: .lock)
    let keys = PhoneKeys.draw(for: LockIntroduction(try LockKeys.read(fromDirectory: lockFolder)))
    _ = try LockKeys.enroll(PhoneIntroduction(keys), inDirectory: lockFolder)
    return DoorKeys(name: lock.name, keys: keys, grant: nil)
  }

  package func unixSeconds(at instant: Instant) -> Int64 {
    Conductor.unixSecondsAtZero + instant.nanoseconds / 1_000_000_000
  }

  package func provision(phone name: String, at door: String) throws {
    guard let lock = locks.first(where: { $0.name == door }) else {
      throw WorldError("the story has no lock '\(door)' that \(name) could be introduced to")
    }
    guard let phone = simulated.first(where: { $0.name == name }) else {
      throw WorldError("there is no machine '\(name)' in this world")
    }
    if locks.count > 1 { return try enrol(phone, at: lock).write(toDirectory: phone.doorKeys) }
    let lockFolder = lock.credentials(of: .lock)
    let introduction = LockIntroduction(try LockKeys.read(fromDirectory: lockFolder))
    let keys = try Provisioning.makePhone(directory: phone.credentials(of: .agent), lock: introduction)
    _ = try LockKeys.enroll(PhoneIntroduction(keys), inDirectory: lockFolder)
  }

  package func boot() throws {
    for machine in simulated {
      try machine.boot()
      try conductor.finishMoment()
      // The keys are written only after latchkeyd has started, because it would take the agent's folder for the rest of
      // a lost store.
      for door in doorKeys.removeValue(forKey: machine.name) ?? [] {
        try door.write(toDirectory: machine.doorKeys)
      }
    }
  }

  package func machine(_ name: String) throws -> any Machine {
    guard let machine = simulated.first(where: { $0.name == name }) else {
      throw WorldError("there is no machine '\(name)' in this world")
    }
    return machine
  }

  package func settle() throws { try conductor.finishMoment() }

  @discardableResult
  package func run(until limit: Instant, stopWhen: () throws -> Bool) throws -> Bool {
    try conductor.run(until: limit, stopWhen: stopWhen)
  }

  package func readRecords() throws -> [JournalEntry] {
    var entries = try journal.read()
    for entry in entries where entry.is(Recorded.Daemon.appLaunched) {
      guard let app = entry[.app], let pid = entry[.pid].flatMap({ Int32($0) }) else { continue }
      appProcesses[AppPlace(machine: entry.machine, bundleIdentifier: app)] = pid
    }
    let (t, wall) = (now.nanoseconds, unixNanoseconds())
    for output in simulated.flatMap(\.outputs) {
      let place = AppPlace(machine: output.machine, bundleIdentifier: output.app.bundleIdentifier)
      entries += try output.read(at: t, wall: wall, pid: appProcesses[place] ?? 0)
    }
    return entries
  }

  package var damagedLines: Int { journal.damagedLineCount }

  package func tend() throws -> [(machine: String, UnexpectedEnd)] {
    if let end = simulator.process.end {
      let ended = UnexpectedEnd(
        process: Recorded.simulator, pid: simulator.process.pid, end: end,
        fatal: "bluez-simulator ended by itself: \(end)\(logTail(simulator.log))")
      return [("", ended)]
    }
    for output in simulated.flatMap(\.outputs) {
      if let complaint = output.takeComplaint() { throw WorldError(complaint) }
    }
    return try simulated.flatMap { machine in try machine.tend().map { (machine.name, $0) } }
  }
}
