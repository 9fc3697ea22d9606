import BusTesting
import Foundation
import Glibc
import JournalEvents
import ProcessTesting
import Testing

/// `latchkey watch`: a screen that a person looks at, and a stream that a program reads.
@Suite("Watching a machine, with real processes", .serialized, .timeLimit(.minutes(10)))
struct WatchTests {
  private static let app = "org.example.app"
  private static let latchkey = LatchkeyCommand.programs + "/latchkey"

  /// A bus with a simulated controller and a latchkeyd that knows one app.
  private final class Machine {
    let bus: PrivateBus
    private let folder = NSTemporaryDirectory() + "/latchkey-watch-\(UUID().uuidString.prefix(8))"
    private let simulator: TestProcess
    private(set) var daemon: TestProcess

    init() async throws {
      bus = try PrivateBus()
      try FileManager.default.createDirectory(atPath: "\(folder)/apps/one", withIntermediateDirectories: true)
      try """
      <plist version="1.0"><dict><key>CFBundleIdentifier</key><string>\(WatchTests.app)</string>
      <key>CFBundleExecutable</key><string>/usr/bin/sleep</string>
      <key>LatchkeyArguments</key><array><string>600</string></array></dict></plist>
      """.write(toFile: "\(folder)/apps/one/Info.plist", atomically: true, encoding: .utf8)
      simulator = try await TestProcess(
        LatchkeyCommand.programs + "/bluez-simulator", ["--machine", "phone=\(bus.address.text)"],
        endsWithInput: true)
      try await simulator.hear("\"ready\":true")
      daemon = try await Self.daemon(folder, bus)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private static func daemon(_ folder: String, _ bus: PrivateBus) async throws -> TestProcess {
      let daemon = try await TestProcess(
        LatchkeyCommand.programs + "/latchkeyd", ["--state", folder + "/state", "--apps", folder + "/apps"],
        environment: TestProcess.inherited.merging(["DBUS_SYSTEM_BUS_ADDRESS": bus.address.text]) { $1 },
        mergesErrors: true)
      try await daemon.hear("poweredOn")
      return daemon
    }

    func stopDaemon() async throws {
      daemon.signal(SIGTERM)
      #expect(try await daemon.finish().status == 0)
    }

    func startDaemon() async throws { daemon = try await Self.daemon(folder, bus) }

    @discardableResult
    func latchkey(_ arguments: String...) async throws -> TestProcess.Outcome {
      try await TestProcess.run(
        WatchTests.latchkey, arguments, adding: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address.text])
    }

    /// Runs a command on a terminal of its own, by script(1). It says its process number first.
    func onTerminal(columns: Int, _ command: String) async throws -> TestProcess {
      // `swift test` sets NO_COLOR. An empty value means nothing (no-color.org).
      let variables = [
        "latchkey": WatchTests.latchkey, "TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": "",
        "DBUS_SYSTEM_BUS_ADDRESS": bus.address.text,
      ]
      return try await TestProcess(
        "/usr/bin/script",
        [
          "--quiet", "--return", "--command", "stty cols \(columns) rows 24; echo process $$.; exec \(command)",
          "/dev/null",
        ], environment: TestProcess.inherited.merging(variables) { $1 })
    }
  }

  @Test("The stream has the status first, then a line for each change, and none while nothing happens")
  func stream() async throws {
    let machine = try await Machine()
    let watch = try await TestProcess(
      Self.latchkey, ["watch", "--json"],
      environment: TestProcess.inherited.merging(["DBUS_SYSTEM_BUS_ADDRESS": machine.bus.address.text]) { $1 })
    try await watch.hear("\n")
    try await machine.latchkey("bluetooth", "off")
    try await watch.hear("\"bluetooth\":\"poweredOff\"")
    // Questions change nothing.
    for _ in 1...3 { try await machine.latchkey("status") }
    try await machine.latchkey("bluetooth", "on")
    try await watch.hear("\"bluetooth\":\"poweredOn\"")
    try await machine.stopDaemon()
    try await watch.hear("{\"available\":false}\n")
    try await machine.startDaemon()
    try await watch.hear("\"bluetooth\":\"poweredOn\"")
    watch.signal(SIGTERM)
    let lines = try await watch.finish().output.split(separator: "\n")
    let states = try lines.prefix(4).map { line in
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return object?["bluetooth"] as? String ?? "away"
    }
    #expect(states == ["poweredOn", "poweredOff", "poweredOn", "away"], "\(lines)")
  }

  @Test("The stream ends with status 141, quietly, when its reader goes, even if nothing happens")
  func noReader() async throws {
    let machine = try await Machine()
    let outcome = try await TestProcess.run(
      "/bin/bash", ["-c", "\"$latchkey\" watch --json | head -n 1 >/dev/null; echo \"status ${PIPESTATUS[0]}\""],
      adding: ["latchkey": Self.latchkey, "DBUS_SYSTEM_BUS_ADDRESS": machine.bus.address.text])
    #expect(outcome.output == "status 141\n" && outcome.errors.isEmpty, "\(outcome)")
  }

  @Test(
    "The screen shows the app, follows what happens to it and to latchkeyd, and q restores the terminal",
    arguments: [40, 200])
  func screen(columns: Int) async throws {
    let machine = try await Machine()
    let screen = try await machine.onTerminal(columns: columns, "$latchkey watch")
    try await screen.hear("\u{1B}[?1049h")
    let first = try await screen.hear("not running")
    #expect(first.contains("Bluetooth: on") && first.contains(Self.app))
    try await machine.latchkey("open", Self.app)
    try await screen.hear("being started")
    try await machine.latchkey("bluetooth", "off")
    try await screen.hear("Switch it on")
    try await machine.latchkey("bluetooth", "on")
    try await screen.hear("Bluetooth: on")
    try await machine.stopDaemon()
    try await screen.hear("latchkeyd is away")
    try await machine.startDaemon()
    try await screen.hear("Bluetooth: on")
    screen.say("q")
    try await screen.hear("\u{1B}[?1049l")
    let outcome = try await screen.finish()
    #expect(outcome.status == 0, "\(outcome)")
  }

  @Test("A signal that ends it restores the terminal, too")
  func terminated() async throws {
    let machine = try await Machine()
    let screen = try await machine.onTerminal(columns: 80, "$latchkey watch")
    try await screen.hear("process ")
    let number = try #require(Int32(try await screen.hear(".").dropLast()))
    try await screen.hear("Requests held")
    kill(number, SIGTERM)
    try await screen.hear("\u{1B}[?1049l")
    #expect(try await screen.finish().status == 128 + SIGTERM)
  }

  @Test("Without a terminal, on a dumb one, and without a bus, it says what is wrong in one line")
  func wrong() async throws {
    let machine = try await Machine()
    let piped = try await machine.latchkey("watch")
    #expect(piped.status == 64 && piped.output.isEmpty)
    #expect(
      piped.errors == "latchkey: watch needs a terminal on which it can draw; programs use latchkey watch --json\n")
    let dumb = try await machine.onTerminal(columns: 80, "env TERM=dumb $latchkey watch").finish()
    #expect(dumb.status == 64 && dumb.output.contains("watch needs a terminal"), "\(dumb)")
    let nowhere = try await TestProcess.run(
      Self.latchkey, ["watch", "--json"], adding: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nowhere"])
    #expect(nowhere.status == 1 && nowhere.errors.split(separator: "\n").count == 1, "\(nowhere)")
    #expect(nowhere.errors.contains("no bus at unix:path=/nowhere"))
  }

  @Test("status, apps and wakes have their JSON, and status says first what needs attention")
  func forms() async throws {
    let machine = try await Machine()
    for command in ["status", "apps", "wakes"] {
      let outcome = try await machine.latchkey(command, "--json")
      #expect(outcome.status == 0 && outcome.output.split(separator: "\n").count == 1, "\(outcome)")
      let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
      #expect(object?[command == "wakes" ? "wakes" : "apps"] is [Any])
    }
    #expect(
      try await machine.latchkey("status").output
        == "Bluetooth: on\n\(Self.app)  not running, 0 connections, 0 requests held, 0 launches\n")
    try await machine.latchkey("bluetooth", "off")
    // The adapter goes off a moment after the command.
    let watch = try await TestProcess(
      Self.latchkey, ["watch", "--json"],
      environment: TestProcess.inherited.merging(["DBUS_SYSTEM_BUS_ADDRESS": machine.bus.address.text]) { $1 })
    try await watch.hear("\"bluetooth\":\"poweredOff\"")
    #expect(try await machine.latchkey("status").output.hasPrefix("! Bluetooth is off, so nothing connects."))
  }
}
