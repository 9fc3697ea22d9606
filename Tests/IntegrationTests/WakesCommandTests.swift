import BusTesting
import Foundation
import Journal
import JournalEvents
import MachinePresentation
import ProcessTesting
import Testing

/// The user's list of wakes, printed by `latchkey wakes`.
@Suite("The ledger of wakes, with real processes", .timeLimit(.minutes(20)))
struct WakesCommandTests {
  private static let agent = "org.latchkey.agent"

  private func wakes(_ arguments: String..., bus: String) async throws -> TestProcess.Outcome {
    try await TestProcess.run(
      LatchkeyCommand.programs + "/latchkey", ["wakes"] + arguments,
      adding: ["DBUS_SYSTEM_BUS_ADDRESS": bus, "TZ": "UTC"])
  }

  @Test("W3: the user reads when and why the agent was woken or relaunched, how long it took, and what it did")
  func ledger() async throws {
    let file = NSTemporaryDirectory() + "/latchkey-wakes-\(UUID().uuidString).yaml"
    defer { try? FileManager.default.removeItem(atPath: file) }
    try Self.story.write(toFile: file, atomically: true, encoding: .utf8)
    let story = try await TestProcess(LatchkeyCommand.programs + "/story-teller", [file])

    try await story.hear("look before any wake")
    let world = try environment(ofDaemonOn: "phone", of: story.processIdentifier)
    let bus = try #require(world["DBUS_SYSTEM_BUS_ADDRESS"])
    let none = try await wakes(bus: bus)
    #expect(none.output == "No app was woken for Bluetooth yet.\n")
    #expect(none.status == 0)

    try await story.ask("go on", "look at the first wake")
    var journal = try JournalReader(path: try #require(world["LATCHKEY_JOURNAL"]))
    let first = try #require(try ended(&journal).first)
    let one = try await wakes(bus: bus)
    #expect(one.output == line(first, "woken by a disconnection") + "\n")
    #expect(first.fields["outcome"] == "suspended")

    try await story.ask("go on", "look while it is awake")
    let relaunched = try await wakes(Self.agent, bus: bus).output.split(separator: "\n")
    #expect(relaunched.count == 2)
    #expect(relaunched.first.map(String.init) == line(first, "woken by a disconnection"))
    #expect(relaunched.last?.hasPrefix("6 Jan ") == true)
    #expect(relaunched.last?.contains("  \(Self.agent)  woken by a connection, awake for 0.") == true)
    #expect(relaunched.last?.hasSuffix(", still awake") == true)

    try await story.ask("go on", "look when it sleeps")
    let second = try #require(try ended(&journal).first)
    let both = try await wakes(bus: bus)
    #expect(
      both.output == line(first, "woken by a disconnection") + "\n" + line(second, "woken by a connection") + "\n")

    try await checkReports(phone: bus, door: environment(ofDaemonOn: "door", of: story.processIdentifier))

    try await story.ask("go on", "look at a new life of the daemon")
    #expect(try await wakes(Self.agent, bus: bus).output == both.output, "it is kept with the app")
    story.say("go on")
    let end = try await story.finish()
    #expect(end.status == 0, "\(end.output)\n\(end.errors)")
  }

  /// What the agent and the lock reported of the door is in each machine's status.
  private func checkReports(phone: String, door: [String: String]) async throws {
    func status(_ bus: String) async throws -> String {
      try await TestProcess.run(
        LatchkeyCommand.programs + "/latchkey", ["status"],
        adding: ["DBUS_SYSTEM_BUS_ADDRESS": bus, "TZ": "UTC", "COLUMNS": "200"]
      ).output
    }
    let seen = try await (status(phone), status(try #require(door["DBUS_SYSTEM_BUS_ADDRESS"])))
    for (text, parts) in [
      (seen.0, ["\nDoors\n  Door  unlocked, door shut, since 6 Jan ", "  Door: unlocked, because you came\n"]),
      (
        seen.1,
        [
          "\nDoors\n  Door  unlocked, door shut, since 6 Jan ", "  Door: unlocked, as a phone asked\n",
        ]
      ),
    ] {
      for part in parts { #expect(text.contains(part), "\(part) is not in \(text)") }
    }
  }

  /// The line for a wake that has ended, derived from its journal entry.
  private func line(_ entry: JournalEntry, _ reason: String) -> String {
    func field(_ name: String) -> String { entry.fields[name] ?? "?" }
    func count(_ name: String, _ what: String) -> String { "\(field(name)) \(what)\(field(name) == "1" ? "" : "s")" }
    let milliseconds = Int64(field("milliseconds")) ?? 0
    let began = 1_767_225_600 + Double(entry.t) / 1e9 - Double(milliseconds) / 1000
    return LocalClock.utc.second(began, now: Date().timeIntervalSince1970) + "  \(field("app"))  \(reason), awake for "
      + String(format: "%.3f", Double(milliseconds) / 1000)
      + " s, told \(count("told", "event")), made \(count("said", "request")), then \(field("outcome"))"
  }

  private func ended(_ journal: inout JournalReader) throws -> [JournalEntry] {
    try journal.read().filter { $0.is(Recorded.Daemon.wakeEnded) && $0.machine == "phone" }
  }

  /// The environment that the story's world gave a machine's latchkeyd.
  private func environment(ofDaemonOn machine: String, of storyTeller: pid_t) throws -> [String: String] {
    for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") where Int32(name) != nil {
      guard let data = FileManager.default.contents(atPath: "/proc/\(name)/environ"),
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(name)/exe"))?.hasSuffix("/latchkeyd")
          == true
      else { continue }
      let variables = data.split(separator: 0).reduce(into: [String: String]()) { variables, entry in
        let parts = String(decoding: entry, as: UTF8.self).split(separator: "=", maxSplits: 1)
        if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
      }
      if variables["LATCHKEY_WORLD"]?.hasPrefix("\(storyTeller)-") == true, variables["LATCHKEY_MACHINE"] == machine {
        return variables
      }
    }
    throw TestProcess.Failure("no latchkeyd runs on \(machine)")
  }

  private static let story = """
    name: the ledger of wakes
    days: 5
    machines:
      door: {position: [0, 0], apps: [lock]}
      phone: {position: [1, 0], apps: [agent]}
    steps:
      - open app: {machine: phone, app: agent}
      - wait for: {event: subscribed, machine: phone, within: 2min}
      - pass: 30s
      - leave app: {machine: phone, app: agent}
      - wait for: {event: app.suspended, machine: phone, fields: {app: \(agent)}, within: 2min}
        note: look before any wake
      - move: {machine: phone, to: [200, 0], over: 140s, as: departure}
      - wait for: {event: wake.ended, machine: phone, fields: {app: \(agent)}, within: 5min}
        note: look at the first wake
      - reclaim app: {machine: phone, app: agent}
      - day: 5
        move: {machine: phone, to: [1, 0], over: 140s, as: arrival}
      - wait for: {event: didConnect, machine: phone, within: 4min}
        note: look while it is awake
      - wait for: {event: wake.ended, machine: phone, fields: {app: \(agent)}, within: 2min}
        note: look when it sleeps
      - kill daemon: phone
        note: look at a new life of the daemon
    promises: [nothing-crashed]
    """

  @Test("W3: the command reports an unknown app, one word too many, no latchkeyd, no bus")
  func wrong() async throws {
    let bus = try PrivateBus()
    let nobody = try await wakes(bus: bus.address.text)
    #expect(nobody.status == 1)
    #expect(nobody.output.isEmpty)
    #expect(nobody.errors.hasPrefix("latchkey: latchkeyd is not there"))
    #expect(nobody.errors.contains("`systemctl start latchkeyd`"))
    #expect(nobody.errors.split(separator: "\n").count == 1)

    let folder = NSTemporaryDirectory() + "/latchkey-wakes-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for part in ["lock", "agent"] {
      let identifier = "org.latchkey.\(part)"
      try FileManager.default.createDirectory(
        atPath: "\(folder)/apps/\(identifier)", withIntermediateDirectories: true)
      try """
      <plist version="1.0"><dict><key>CFBundleIdentifier</key><string>\(identifier)</string>
      <key>CFBundleExecutable</key><string>/bin/false</string></dict></plist>
      """.write(toFile: "\(folder)/apps/\(identifier)/Info.plist", atomically: true, encoding: .utf8)
    }
    let daemon = try await TestProcess(
      LatchkeyCommand.programs + "/latchkeyd", ["--state", folder + "/state", "--apps", folder + "/apps"],
      environment: TestProcess.inherited.merging(["DBUS_SYSTEM_BUS_ADDRESS": bus.address.text]) { $1 },
      mergesErrors: true)
    try await daemon.hear(Recorded.Daemon.started.rawValue)
    let unknown = try await wakes("org.latchkey.agnt", bus: bus.address.text)
    #expect(unknown.status == 1)
    #expect(unknown.output.isEmpty)
    #expect(
      unknown.errors.contains("no app \"org.latchkey.agnt\" here; there are: org.latchkey.agent, org.latchkey.lock"))
    let known = try await wakes(Self.agent, bus: bus.address.text)
    #expect(known.output == "\(Self.agent) was not woken for Bluetooth yet.\n")

    let many = try await wakes(Self.agent, "org.latchkey.lock", bus: bus.address.text)
    #expect(many.status == 64)
    #expect(many.errors.contains("Unexpected argument 'org.latchkey.lock'"))
    let nowhere = try await wakes(bus: "unix:path=\(folder)/nothing")
    #expect(nowhere.status == 1)
    #expect(nowhere.errors.hasPrefix("latchkey: no bus at unix:path=\(folder)/nothing"))
  }
}
