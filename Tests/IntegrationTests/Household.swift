import ChildProcesses
import Foundation
import Glibc
import Journal
import JournalEvents
import LockCryptography
import LockProtocol
import ProcessTesting

@testable import Worlds

/// A door with its lock, and phones with their agents, each machine with its latchkeyd, in real processes and in real time.
/// Tests use it as people do: by the `latchkey` command. All of it ends with this object, even when the tests are killed.
final class Household: @unchecked Sendable {
  static let door = "door"
  private let folder: String
  private let guardian: TestProcess
  private let environment: [String: String]
  private var buses: [BusDaemon] = []
  private var simulator: TestProcess?
  private var daemons: [String: TestProcess] = [:]
  /// How many seconds a machine's date is ahead.
  private var movedClocks: [String: Int] = [:]
  /// What all programs record, as it is written.
  private(set) var journal: TestProcess?

  /// - Parameters:
  ///   - phones: the names of the owners' phones.
  ///   - guests: phones that have no keys yet. Their agents run already.
  ///   - strangers: phones with keys for another lock.
  ///   - publisher: the arguments of a trial app on the door that publishes something before the lock does.
  init(
    phones: [String], guests: [String] = [], strangers: [String] = [], publisher: [String]? = nil
  ) async throws {
    var template = Array("/tmp/latchkey-household-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TestProcess.Failure("a folder in /tmp: errno \(errno)") }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let mark = "household-\(getpid())-\(folder.suffix(6))"
    try mark.write(toFile: "\(folder)/\(RunFolder.ownerFile)", atomically: true, encoding: .utf8)
    guard FileManager.default.createFile(atPath: "\(folder)/journal.jsonl", contents: nil) else {
      throw TestProcess.Failure("a journal in \(folder)")
    }
    environment = ProcessInfo.processInfo.environment
      .filter { name, _ in
        !name.hasPrefix("LATCHKEY_") && !name.hasPrefix("DBUS_")
          && !["NOTIFY_SOCKET", "JOURNAL_STREAM", "STATE_DIRECTORY", "CREDENTIALS_DIRECTORY"].contains(name)
      }
      .merging([WorldProcesses.worldVariable: mark, "LATCHKEY_JOURNAL": "\(folder)/journal.jsonl", "TZ": "UTC"]) { $1 }
    guardian = try await TestProcess(
      LatchkeyCommand.programs + "/latchkey", ["guard", "--world", mark, "--folder", folder],
      environment: environment.filter { $0.key != WorldProcesses.worldVariable }, endsWithInput: true)
    journal = try await TestProcess(
      "/usr/bin/tail", ["--follow=name", "--lines=+1", "\(folder)/journal.jsonl"], environment: environment)
    for machine in [Self.door] + phones + guests + strangers {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(machine)", withIntermediateDirectories: false)
      buses.append(
        try BusDaemon(socket: "\(folder)/bus-\(machine)", folder: "\(folder)/\(machine)", environment: environment))
    }
    let simulator = try await TestProcess(
      LatchkeyCommand.programs + "/bluez-simulator",
      ([Self.door] + phones + guests + strangers).flatMap { ["--machine", "\($0)=unix:path=\(folder)/bus-\($0)"] },
      environment: environment, mergesErrors: true)
    self.simulator = simulator
    try await simulator.hear("\"ready\"")
    try provision(phones)
    if let publisher {
      let monitor = try await listen(on: Self.door, to: "type='method_call',member='RegisterApplication'")
      try await startTrialApp("publisher", modes: ["bluetooth-peripheral"], on: Self.door, publisher)
      try await monitor.hear("RegisterApplication")
      monitor.signal(SIGTERM)
    }
    try await start(.lock, on: Self.door)
    for phone in phones { try await start(.agent, on: phone) }
    for stranger in strangers {
      try Provisioning.provision(
        lockDirectory: "\(folder)/\(stranger)/lock", phoneDirectory: credentials(stranger, .agent))
      try await start(.agent, on: stranger)
    }
    for guest in guests {
      try FileManager.default.createDirectory(
        atPath: credentials(guest, .agent), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      try await start(.agent, on: guest)
    }
  }

  private func credentials(_ machine: String, _ app: InstalledApp) -> String {
    "\(folder)/\(machine)/credentials/\(app.bundleIdentifier)"
  }

  private func provision(_ phones: [String]) throws {
    let lockFolder = credentials(Self.door, .lock)
    guard let first = phones.first else {
      _ = try Provisioning.makeLock(directory: lockFolder, enrolledPhones: [])
      return
    }
    try Provisioning.provision(lockDirectory: lockFolder, phoneDirectory: credentials(first, .agent))
    let lock = LockIntroduction(try LockKeys.read(fromDirectory: lockFolder))
    for phone in phones.dropFirst() {
      let keys = try Provisioning.makePhone(directory: credentials(phone, .agent), lock: lock)
      _ = try LockKeys.enroll(PhoneIntroduction(keys), inDirectory: lockFolder)
    }
  }

  private func start(_ app: InstalledApp, on machine: String) async throws {
    let place = "\(folder)/\(machine)/apps/\(app.name)"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    let program = app == .lock ? "latchkey-lock" : "latchkey-agent"
    try AppDescription(app, home: "\(folder)/\(machine)/state", machine: machine)
      .propertyList(executable: LatchkeyCommand.programs + "/" + program)
      .write(to: URL(fileURLWithPath: place + "/Info.plist"))
    try await startDaemon(machine)
  }

  /// Starts the trial app, with these arguments, beside the machine's own app.
  private func startTrialApp(_ name: String, modes: [String], on machine: String, _ arguments: [String]) async throws {
    let place = "\(folder)/\(machine)/apps/\(name)"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    let keys: [String: Any] = [
      "CFBundleIdentifier": "org.example.\(name)", "CFBundleExecutable": LatchkeyCommand.programs + "/trial-app",
      "UIBackgroundModes": modes, "LatchkeyKeepAlive": true, "LatchkeyArguments": arguments,
    ]
    try PropertyListSerialization.data(fromPropertyList: keys, format: .xml, options: 0)
      .write(to: URL(fileURLWithPath: place + "/Info.plist"))
    try await startDaemon(machine)
  }

  /// Carries a machine out of everybody's reach.
  func carryAway(_ machine: String) async throws {
    try await simulator?.ask(
      "{\"id\":7,\"command\":{\"move\":{\"machine\":\"\(machine)\",\"x\":500,\"y\":0}}}", "\"id\":7")
  }

  /// Starts latchkeyd.
  /// - Parameter isOutOfReach: carry the machine away first.
  func startDaemon(_ machine: String, isOutOfReach: Bool = false) async throws {
    if isOutOfReach { try await carryAway(machine) }
    // The last one holds the state folder until it has ended.
    if let last = daemons.removeValue(forKey: machine) {
      last.signal(SIGTERM)
      _ = try await last.finish()
    }
    let daemon = try await TestProcess(
      LatchkeyCommand.programs + "/latchkeyd",
      [
        "--state", "\(folder)/\(machine)/state", "--apps", "\(folder)/\(machine)/apps", "--credentials",
        "\(folder)/\(machine)/credentials",
      ], environment: daemonEnvironment(on: machine), mergesErrors: true)
    daemons[machine] = daemon
    // It serves as soon as it has read its store.
    while try await latchkey(machine, "status").status != 0 {
      guard daemon.isRunning else { throw TestProcess.Failure("latchkeyd has ended: \(try await daemon.finish())") }
      try Task.checkCancellation()
    }
  }

  private func environment(on machine: String) -> [String: String] {
    environment.merging([
      WorldProcesses.machineVariable: machine, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder)/bus-\(machine)",
    ]) { $1 }
  }

  /// Of latchkeyd and its apps, whose date may be wrong. What waits until a date, as a command does, would wait too long or not at all.
  private func daemonEnvironment(on machine: String) -> [String: String] {
    guard let seconds = movedClocks[machine] else { return environment(on: machine) }
    return environment(on: machine).merging([
      "LD_PRELOAD": "\(folder)/moved-clock.so", "MOVED_CLOCK_SECONDS": String(seconds),
    ]) { $1 }
  }

  /// Starts a machine anew, with a date that is so many seconds ahead of the others', and brings its owner home.
  func restart(_ machine: String, clockAhead seconds: Int = 0) async throws {
    let library = "\(folder)/moved-clock.so"
    if seconds != 0, !FileManager.default.fileExists(atPath: library) {
      let compiler = try await TestProcess(
        "/usr/bin/env",
        ["clang", "-shared", "-fPIC", "-o", library, "\(TestPlaces.package)/Tests/Support/moved-clock/clock.c"],
        environment: environment, mergesErrors: true)
      let outcome = try await compiler.finish()
      guard outcome.status == 0 else { throw TestProcess.Failure("\(outcome)") }
    }
    try await stop(machine)
    movedClocks[machine] = seconds == 0 ? nil : seconds
    try await startDaemon(machine)
    // What was heard of the agent before is of no use.
    try await hear(Recorded.Daemon.started.rawValue, on: machine)
    try await bringHome(machine)
  }

  /// Runs `latchkey` on a machine, until it ends.
  func latchkey(
    _ machine: String, _ arguments: String..., input: String? = nil
  ) async throws -> TestProcess.Outcome {
    try await latchkey(machine, arguments, input: input)
  }

  func latchkey(_ machine: String, _ arguments: [String], input: String? = nil) async throws -> TestProcess.Outcome {
    let command = try await TestProcess(
      LatchkeyCommand.programs + "/latchkey", arguments, environment: environment(on: machine))
    if let input { command.say(input) }
    command.closeInput()
    return try await command.finish()
  }

  /// Starts `latchkey` on a machine, for a test that ends it.
  func latchkeyToEnd(_ machine: String, _ arguments: String...) async throws -> TestProcess {
    try await TestProcess(LatchkeyCommand.programs + "/latchkey", arguments, environment: environment(on: machine))
  }

  /// Starts `latchkey` on a machine, at a terminal.
  func latchkeyAtTerminal(_ machine: String, _ arguments: String) async throws -> TestProcess {
    try await TestProcess(
      "/usr/bin/script", ["-qfec", "\(LatchkeyCommand.programs)/latchkey \(arguments)", "/dev/null"],
      environment: environment(on: machine))
  }

  /// Runs a line of bash on a machine, with `$latchkey` set.
  func bash(_ machine: String, _ line: String) async throws -> TestProcess.Outcome {
    let places = environment(on: machine).merging(["latchkey": LatchkeyCommand.programs + "/latchkey"]) { $1 }
    let shell = try await TestProcess("/bin/bash", ["-c", line], environment: places)
    shell.closeInput()
    return try await shell.finish()
  }

  /// Does something to the simulated world, in the simulator's own words.
  func world(_ command: String) async throws {
    try await simulator?.ask("{\"id\":8,\"command\":\(command)}", "\"id\":8")
  }

  /// Listens to the calls that a machine's bluetoothd gets for characteristics. They are what goes over the air, besides
  /// what bluetoothd does for itself.
  func listenToCharacteristics(on machine: String) async throws -> TestProcess {
    try await listen(on: machine, to: "type='method_call',interface='org.bluez.GattCharacteristic1'")
  }

  private func listen(on machine: String, to rule: String) async throws -> TestProcess {
    let monitor = try await TestProcess(
      "/usr/bin/dbus-monitor",
      [
        "--address", "unix:path=\(folder)/bus-\(machine)", "--monitor",
        rule,
        "type='signal',interface='org.freedesktop.DBus',member='NameAcquired'",
      ],
      environment: environment, mergesErrors: true)
    // A monitor gets and loses its own name when it begins to listen.
    try await monitor.hear("NameLost")
    return monitor
  }

  /// Opens a phone's agent, and waits until the lock knows that the phone is here.
  func bringHome(_ phone: String) async throws {
    let opened = try await latchkey(phone, "open", "org.latchkey.agent")
    guard opened.status == 0 else { throw TestProcess.Failure(opened.errors) }
    try await hear(Recorded.Agent.statusAnswered.rawValue, on: phone)
  }

  /// Reads the journal on until an event of a machine.
  ///
  /// - Parameter unwanted: events of any machine that must not come before it. With one, what is waited for may never come.
  /// - Throws: `Failure` if such an event comes first, or if the test's time ends.
  func hear(_ event: String, on machine: String, unless unwanted: Set<String> = []) async throws {
    while true {
      let line: String
      do {
        line = try await journal?.hear("\n") ?? ""
      } catch is CancellationError {
        throw TestProcess.Failure("\(event) did not come on \(machine) in the test's time")
      }
      guard let entry = try? JSONDecoder().decode(JournalEntry.self, from: Data(line.utf8)), let name = entry.event
      else { continue }
      if name == event, entry.machine == machine { return }
      guard !unwanted.contains(name) else {
        throw TestProcess.Failure("\(name) came in place of \(event) on \(machine): \(entry.machine): \(entry.message)")
      }
    }
  }

  /// Everything that was recorded.
  func journalText() throws -> String { try String(contentsOfFile: "\(folder)/journal.jsonl", encoding: .utf8) }

  /// The code that is printed on the lock.
  func lockCode() throws -> EnrolmentCode {
    guard let code = try LockKeys.read(fromDirectory: credentials(Self.door, .lock)).code else {
      throw TestProcess.Failure("the lock has no code")
    }
    return code
  }

  /// Somebody presses the lock's button for enrolments.
  func press() async throws {
    try hardware.perform(.enrolmentButton)
    try await hear(Recorded.Lock.enrolmentOpened.rawValue, on: Self.door)
  }

  /// What a hand does at the lock.
  var hardware: LockHardware { LockHardware(stateFolder: stateFolder(Self.door, .lock)) }

  /// Where an app keeps its state.
  func stateFolder(_ machine: String, _ app: InstalledApp) -> String {
    "\(folder)/\(machine)/state/apps/\(app.bundleIdentifier)"
  }

  /// Stops a machine's latchkeyd as a debugger would: its links stay, and nothing over them is answered.
  func freeze(_ machine: String) { daemons[machine]?.signal(SIGSTOP) }

  /// It goes on.
  func thaw(_ machine: String) { daemons[machine]?.signal(SIGCONT) }

  /// Ends a machine's latchkeyd, and kills its apps.
  func stop(_ machine: String) async throws {
    daemons[machine]?.signal(SIGTERM)
    _ = try await daemons[machine]?.finish()
    daemons[machine] = nil
    // Apps outlive it: its next run takes them over.
    try killApp(machine)
  }

  /// Kills a machine's app.
  func killApp(_ machine: String) throws {
    var reader = try JournalReader(path: "\(folder)/journal.jsonl")
    let launches = try reader.read().filter { $0.is(Recorded.Daemon.appLaunched) && $0.machine == machine }
    if let process = launches.last?[.pid].flatMap({ Int32($0) }) { kill(process, SIGKILL) }
  }
}
