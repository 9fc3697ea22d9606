import BusTesting
import Foundation
import Glibc
import ProcessTesting

/// A phone with a latchkeyd and an app that reads from a door nearby, all in separate processes and in real time.
struct MachineNearDoor {
  private static let programs = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().path
  private static let service = "5f1a0001-3c0c-4d6a-9a42-1c6f3d8e7b10"
  private static let (good, bad) = ("org.example.good", "org.example.hostile")

  let simulator: TestProcess
  let daemon: TestProcess
  let reader: TestProcess
  private let buses: (door: PrivateBus, phone: PrivateBus)
  private let folder: String
  private let door: TestProcess
  private let environment: [String: String]

  /// The address of the phone's bus.
  var bus: String { buses.phone.address.text }

  /// - Parameter adapters: the phone's number of adapters; `options` are latchkeyd's.
  init(adapters: Int = 1, options: [String] = []) async throws {
    buses = (try PrivateBus(), try PrivateBus())
    var template = Array("/tmp/latchkey-siege-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TestProcess.Failure("a folder in /tmp: errno \(errno)") }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    for bundle in [Self.good, Self.bad] {
      let place = "\(folder)/apps/\(bundle)"
      try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
      let properties: [String: Any] = [
        "CFBundleIdentifier": bundle, "CFBundleExecutable": "\(Self.programs)/hostile-app",
        "UIBackgroundModes": ["bluetooth-central", "bluetooth-peripheral"],
      ]
      try PropertyListSerialization.data(fromPropertyList: properties, format: .xml, options: 0)
        .write(to: URL(fileURLWithPath: "\(place)/Info.plist"))
    }
    environment = ProcessInfo.processInfo.environment.filter {
      !$0.key.hasPrefix("LATCHKEY_") && !$0.key.hasPrefix("DBUS_") && $0.key != "NOTIFY_SOCKET"
    }
    simulator = try await TestProcess(
      "\(Self.programs)/bluez-simulator",
      [
        "--machine", "door=\(buses.door.address.text)", "--machine", "phone=\(buses.phone.address.text)",
        "--adapters", "phone=\(adapters)",
      ], environment: environment, endsWithInput: true)
    try await simulator.hear("\"ready\"")
    door = try await TestProcess(
      "\(Self.programs)/hostile-app", ["door", buses.door.address.text, Self.service], environment: environment)
    try await door.hear("open")
    daemon = try await TestProcess(
      "\(Self.programs)/latchkeyd", ["--state", "\(folder)/state", "--apps", "\(folder)/apps"] + options,
      environment: environment.merging([
        "DBUS_SYSTEM_BUS_ADDRESS": buses.phone.address.text, "LATCHKEY_JOURNAL": "\(folder)/journal.jsonl",
      ]) { $1 }, mergesErrors: true)
    reader = try await TestProcess(
      "\(Self.programs)/hostile-app", ["good", buses.phone.address.text, Self.good, Self.service],
      environment: environment)
    try await reader.hear("read 1\n")
  }

  /// An app that sends this many random messages.
  func attacker(seed: UInt64, count: Int) async throws -> TestProcess {
    try await TestProcess(
      "\(Self.programs)/hostile-app", ["hostile", buses.phone.address.text, Self.bad, "\(seed)", "\(count)"],
      environment: environment)
  }

  /// Sends the simulator a command.
  func obey(_ command: String) async throws {
    try await simulator.ask("{\"id\":77,\"command\":\(command)}\n", "{\"reply\":{\"id\":77}}")
  }

  func removeFolder() { try? FileManager.default.removeItem(atPath: folder) }
}
