import ChildProcesses
import Foundation
import Glibc
import Journal
import JournalEvents
import ProcessTesting

@testable import Worlds

/// A door with the lock, and a phone with only a Bluetooth, in real processes and in real time, because programs by
/// others know no other time. All of it ends with this object, even when the tests are killed.
final class LockedDoor: @unchecked Sendable {
  static let programs = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .path
  static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  /// The charge of the lock's battery.
  static let batteryPercent = 80

  private let folder: String
  private let mark: String
  private let guardian: TestProcess
  private let environment: [String: String]
  private var buses: [BusDaemon] = []
  private var simulator: TestProcess?
  private var daemon: TestProcess?

  private let simulatorOptions: [String]

  /// - Parameters:
  ///   - hasLock: whether the lock, with a latchkeyd for it, runs on the door. It may not be discoverable yet.
  ///   - simulatorOptions: further options for bluez-simulator.
  init(hasLock: Bool = true, simulatorOptions: [String] = []) async throws {
    self.simulatorOptions = simulatorOptions
    var template = Array("/tmp/latchkey-clients-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw TestProcess.Failure("a folder in /tmp: \(String(cString: strerror(errno)))")
    }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    mark = "clients-\(getpid())-\(folder.suffix(6))"
    try mark.write(toFile: "\(folder)/\(RunFolder.ownerFile)", atomically: true, encoding: .utf8)
    guard FileManager.default.createFile(atPath: "\(folder)/journal.jsonl", contents: nil) else {
      throw TestProcess.Failure("a journal in \(folder)")
    }
    environment = ProcessInfo.processInfo.environment
      .filter { name, _ in
        !name.hasPrefix("LATCHKEY_") && !name.hasPrefix("DBUS_") && !name.hasPrefix("PYTHON")
          && !["NOTIFY_SOCKET", "JOURNAL_STREAM", "STATE_DIRECTORY", "CREDENTIALS_DIRECTORY"].contains(name)
      }
      .merging([
        WorldProcesses.worldVariable: mark, "LATCHKEY_JOURNAL": "\(folder)/journal.jsonl", "TERM": "dumb",
      ]) { $1 }
    // It ends all processes and removes the folder when its input closes: with this object, or with the tests.
    guardian = try await TestProcess(
      Self.programs + "/latchkey", ["guard", "--world", mark, "--folder", folder],
      environment: environment.filter { $0.key != WorldProcesses.worldVariable }, endsWithInput: true)
    try await startMachines()
    if hasLock { try await startLock() }
  }

  private func startMachines() async throws {
    for machine in ["door", "phone"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(machine)", withIntermediateDirectories: false)
      buses.append(
        try BusDaemon(socket: busSocket(machine), folder: "\(folder)/\(machine)", environment: environment))
    }
    let simulator = try await TestProcess(
      Self.programs + "/bluez-simulator",
      ["door", "phone"].flatMap { ["--machine", "\($0)=unix:path=\(busSocket($0))"] } + simulatorOptions,
      environment: environment, mergesErrors: true)
    self.simulator = simulator
    try await simulator.hear("\"ready\"")
  }

  private func startLock() async throws {
    let credentials = "\(folder)/door/credentials"
    let keys = try await TestProcess(
      Self.programs + "/latchkey",
      [
        "provision", "--lock", "\(credentials)/\(InstalledApp.lock.bundleIdentifier)", "--phone",
        "\(folder)/phone/credentials",
      ], environment: environment, mergesErrors: true)
    let provisioned = try await keys.finish()
    guard provisioned.status == 0 else { throw TestProcess.Failure("the lock's keys: \(provisioned.output)") }
    try FileManager.default.createDirectory(
      atPath: "\(folder)/door/apps/lock", withIntermediateDirectories: true)
    // A lock reads its battery when it starts. A state folder in which only an app has lived is no folder of latchkeyd's, so
    // latchkeyd makes it first, without an app.
    let first = try await latchkeyd(credentials, isHeard: true)
    try await first.hear("daemon.started")
    first.signal(SIGTERM)
    _ = try await first.finish()
    let state = "\(folder)/door/state/apps/\(InstalledApp.lock.bundleIdentifier)"
    try FileManager.default.createDirectory(
      atPath: state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try "\(Self.batteryPercent)".write(toFile: state + "/battery", atomically: true, encoding: .utf8)
    try AppDescription(.lock, home: "\(folder)/door/state", machine: "door")
      .propertyList(executable: Self.programs + "/latchkey-lock")
      .write(to: URL(fileURLWithPath: "\(folder)/door/apps/lock/Info.plist"))
    daemon = try await latchkeyd(credentials)
  }

  /// - Parameter isHeard: whether it writes its events to its output, not to the journal.
  private func latchkeyd(_ credentials: String, isHeard: Bool = false) async throws -> TestProcess {
    try await TestProcess(
      Self.programs + "/latchkeyd",
      ["--state", "\(folder)/door/state", "--apps", "\(folder)/door/apps", "--credentials", credentials],
      environment: environment(on: "door").filter { !isHeard || $0.key != "LATCHKEY_JOURNAL" }, mergesErrors: true)
  }

  private func busSocket(_ machine: String) -> String { "\(folder)/bus-\(machine)" }

  func environment(on machine: String) -> [String: String] {
    environment.merging([
      WorldProcesses.machineVariable: machine, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(busSocket(machine))",
    ]) { $1 }
  }

  /// These events in the journal so far.
  func events(_ events: Recorded.Lock...) throws -> [JournalEntry] {
    var reader = try JournalReader(path: "\(folder)/journal.jsonl")
    return try reader.read().filter { entry in events.contains { entry.is($0) } }
  }
}
