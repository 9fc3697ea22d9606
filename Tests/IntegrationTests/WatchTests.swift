import BusTesting
import Foundation
import Glibc
import JournalEvents
import ProcessTesting
import Testing

/// `latchkey watch`: a screen that a person looks at, and a stream that a program reads.
@Suite("Watching a machine, with real processes", .serialized, .timeLimit(.minutes(20)))
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
      try await inTerminal("stty cols \(columns) rows 24; echo process $$.; exec \(command)")
    }

    /// Runs lines of bash on a terminal.
    func inTerminal(_ lines: String) async throws -> TestProcess {
      // `swift test` sets NO_COLOR. An empty value means nothing (no-color.org).
      let variables = [
        "latchkey": WatchTests.latchkey, "TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": "",
        "DBUS_SYSTEM_BUS_ADDRESS": bus.address.text,
      ]
      return try await TestProcess(
        "/usr/bin/script",
        [
          "--quiet", "--return", "--command", lines, "/dev/null",
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

  /// What the terminal is set to, in the words of stty(1).
  private func settings(_ terminal: String, _ arguments: String...) async throws -> Set<String> {
    let outcome = try await TestProcess.run("/usr/bin/stty", ["-F", terminal] + arguments)
    #expect(outcome.status == 0, "\(outcome)")
    return Set(outcome.output.split(whereSeparator: { $0.isWhitespace || $0 == ";" }).map(String.init))
  }

  /// The next whole screen, line by line, without the codes.
  private func frame(_ screen: TestProcess) async throws -> [String] {
    try await screen.hear("\u{1B}[H")
    let text = try await screen.hear("\u{1B}[J").replacing(/\u{1B}\[[0-9;?]*[a-zA-Z]/, with: "")
    return text.components(separatedBy: "\r\n")
  }

  @Test("H7: a terminal that changes its size gets a new screen that fits it")
  func resized() async throws {
    let machine = try await Machine()
    let screen = try await machine.inTerminal("tty; stty cols 120 rows 30; exec $latchkey watch")
    try await screen.hear("/dev/")
    let terminal = "/dev/" + (try await screen.hear("\n")).trimmingCharacters(in: .whitespacesAndNewlines)
    try await screen.hear("Requests held")
    for (columns, rows) in [(38, 9), (200, 40), (20, 2)] {
      _ = try await settings(terminal, "cols", "\(columns)", "rows", "\(rows)")
      // Between the two changes it may draw once more at a size of which only one half is new.
      var lines = try await frame(screen)
      while lines.count > rows || lines.contains(where: { $0.count > columns }) { lines = try await frame(screen) }
      #expect(lines.first?.contains("Bluetooth: on") == true || columns < 40, "\(lines)")
    }
    screen.say("q")
    #expect(try await screen.finish().status == 0)
  }

  @Test("H7: Ctrl-Z gives the terminal back as it was, and fg takes it again")
  func suspended() async throws {
    let machine = try await Machine()
    // With job control, but not interactive: such a bash leaves the terminal's settings alone.
    let screen = try await machine.inTerminal(
      "bash -c 'tty; set -m; $latchkey watch; echo status $?; read line; fg; echo ended $?'")
    try await screen.hear("/dev/")
    let terminal = "/dev/" + (try await screen.hear("\n")).trimmingCharacters(in: .whitespacesAndNewlines)
    try await screen.hear("Requests held")
    #expect(try await settings(terminal, "-a").isSuperset(of: ["-icanon", "-echo", "isig"]))
    screen.type("\u{1A}")
    try await screen.hear("\u{1B}[?1049l")
    try await screen.hear("status \(128 + SIGTSTP)")
    #expect(try await settings(terminal, "-a").isSuperset(of: ["icanon", "echo"]))
    // What happens meanwhile is on the screen after it.
    try await machine.latchkey("bluetooth", "off")
    screen.say("")
    try await screen.hear("\u{1B}[?1049h")
    try await screen.hear("Switch it on")
    #expect(try await settings(terminal, "-a").isSuperset(of: ["-icanon", "-echo"]))
    screen.type("q")
    try await screen.hear("\u{1B}[?1049l")
    try await screen.hear("ended 0")
    #expect(try await screen.finish().status == 0)
  }

  /// How often all threads of a process have gone to sleep by themselves, which is how often they were woken.
  private func sleeps(_ process: pid_t) throws -> Int {
    let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")
    return threads.reduce(0) { sum, thread in
      let status = (try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/status", encoding: .utf8)) ?? ""
      let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
      return sum + (line?.split(separator: "\t").last.flatMap { Int($0) } ?? 0)
    }
  }

  @Test("H7: what is no news to the user wakes nobody who watches", arguments: ["watch", "watch --json"])
  func idle(_ command: String) async throws {
    let machine = try await Machine()
    let screen = try await machine.onTerminal(columns: 100, "$latchkey \(command)")
    try await screen.hear("process ")
    let process = try #require(Int32(try await screen.hear(".").dropLast()))
    let (on, off) = command == "watch" ? ("Bluetooth: on", "Switch it on") : ("\"poweredOn\"", "\"poweredOff\"")
    try await screen.hear(on)
    func news() async throws {
      for (word, text) in [("off", off), ("on", on)] {
        try await machine.latchkey("bluetooth", word)
        try await screen.hear(text)
      }
    }
    try await news()
    let before = try sleeps(process)
    try await news()
    let withNews = try sleeps(process) - before
    // Each of these is a turn of latchkeyd, and changes nothing that a user sees.
    let quiet = 60
    for _ in 1...quiet { try await machine.latchkey("wakes") }
    try await news()
    let withQuestions = try sleeps(process) - before - withNews
    #expect(withNews > 0)
    #expect(
      withQuestions < withNews + quiet / 2, "\(withNews) times with news; with \(quiet) questions \(withQuestions)")
    screen.signal(SIGTERM)
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
        == "Bluetooth: on\n\nApps\n\(Self.app)  not running, 0 connections, 0 requests held, 0 launches\n")
    try await machine.latchkey("bluetooth", "off")
    // The adapter goes off a moment after the command.
    let watch = try await TestProcess(
      Self.latchkey, ["watch", "--json"],
      environment: TestProcess.inherited.merging(["DBUS_SYSTEM_BUS_ADDRESS": machine.bus.address.text]) { $1 })
    try await watch.hear("\"bluetooth\":\"poweredOff\"")
    #expect(try await machine.latchkey("status").output.hasPrefix("! Bluetooth is off, so nothing connects."))
  }
}
