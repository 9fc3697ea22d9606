import AppLink
import AppLinkBus
import ChildProcesses
import Foundation
import Glibc
import JournalEvents
import Worlds

/// Notifications and write round trips a second of three clients of one peripheral, in one run on one simulated radio:
/// an app on Core Bluetooth and latchkeyd, a program on bleak, and a program in C over sd-bus alone. The peripheral is
/// the same program in C for all of them, and the clients take turns. The simulator skips the radio's waits, so what
/// takes time are the programs.
final class Throughput {
  enum Client: String, CaseIterable, Sendable {
    case latchkey = "Core Bluetooth, over latchkeyd"
    case bleak = "bleak"
    case plain = "C, over sd-bus"
  }

  struct Options: Sendable {
    /// How long one round of one kind lasts.
    var seconds = 2.0
    /// Rounds of each kind in one turn of a client, after one that warms up.
    var rounds = 1
    /// How many turns each client gets.
    var turns = 3
    /// How many notifications the peripheral sends for a write.
    var burst = 500
  }

  private let folder: String
  private let sources: String
  private let executables: String
  private let options: Options
  private var buses: [BusDaemon] = []
  private var peripheral: RunningProcess?
  private var simulator: LineProcess?
  /// How often latchkeyd was started. Each start has its own state folder, because the last one's still says that its
  /// app runs.
  private var starts = 0
  /// The simulator's lines that were not waited for yet.
  private let said = Announcements()
  /// How long one turn may take: it measures, and connects and disconnects, which takes some seconds.
  private var limit: Duration { .seconds(30 + 4 * options.seconds * Double(options.rounds)) }
  private var python: String { "\(sources)/../../.build/python/bin/python3" }

  /// Measures the rates of each client, in all rounds.
  static func measure(_ options: Options, progress: (String) -> Void) throws -> [Client: ThroughputRates] {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("latchkey-bench-\(getpid())").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let throughput = try Throughput(options, folder: folder)
    defer { throughput.end() }
    try throughput.start()
    var rates: [Client: ThroughputRates] = [:]
    for turn in 1...options.turns {
      for client in Client.allCases {
        let more = try throughput.run(client)
        // bluetoothd ends a link only some time after it was asked to. The next client would find it, and lose it.
        try throughput.said.wait(for: "\"linkDown\"", limit: .seconds(30))
        let words = "\(Int(median(more.notifications))) notifications and \(Int(median(more.writes))) writes a second"
        progress("turn \(turn), \(client.rawValue): \(words)")
        rates[client, default: ThroughputRates(notifications: [], writes: [])].notifications += more.notifications
        rates[client]?.writes += more.writes
      }
    }
    return rates
  }

  static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return 0 }
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }

  private init(_ options: Options, folder: String) throws {
    self.options = options
    self.folder = folder
    sources =
      URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("throughput").path
    executables = try Executables.ownFolder()
    for name in ["door", "phone", "phone/apps/bench", "phone/credentials"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
    }
  }

  private func environment(_ machine: String) -> [String: String] {
    ["PATH": "/usr/bin:/bin", "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder)/\(machine)/bus", "LANG": "C.UTF-8"]
  }

  private func start() throws {
    for name in ["peripheral", "client"] { try compile(name) }
    for machine in ["door", "phone"] {
      buses.append(
        try BusDaemon(
          socket: "\(folder)/\(machine)/bus", folder: "\(folder)/\(machine)", environment: environment(machine),
          endsWithThisProcess: true))
    }
    let arguments = ["door", "phone"].flatMap { ["--machine", "\($0)=unix:path=\(folder)/\($0)/bus"] }
    simulator = try LineProcess(
      "bluez-simulator", executable: "\(executables)/bluez-simulator",
      arguments: arguments + ["--radio", "clear", "--leap", "50"], environment: ["PATH": "/usr/bin:/bin"],
      log: "\(folder)/simulator.log", onLine: { [said] in said.add(String(decoding: $0, as: UTF8.self)) },
      onEnd: { [said] in said.end() })
    try said.wait(for: "\"ready\"", limit: .seconds(30))
    try startPeripheral()
  }

  private func startPeripheral() throws {
    let pipe = try makePipe()
    defer { close(pipe.writing) }
    let words = Announcements()
    try LineReader.start(pipe.reading, onLine: { words.add(String(decoding: $0, as: UTF8.self)) }, onEnd: words.end)
    peripheral = try RunningProcess(
      "peripheral",
      ProcessStart(
        executable: "\(folder)/peripheral", environment: environment("door"), standardOutput: pipe.writing,
        standardError: STDERR_FILENO))
    try words.wait(for: "ready", limit: .seconds(30))
  }

  private func compile(_ name: String) throws {
    let flags = try output("/usr/bin/pkg-config", ["--cflags", "--libs", "libsystemd"], [:])
      .split(whereSeparator: \.isWhitespace).map(String.init)
    _ = try output(
      "/usr/bin/cc", ["-O2", "-Wall", "-Wextra", "-Werror", "-o", "\(folder)/\(name)", "\(sources)/\(name).c"] + flags,
      ["PATH": "/usr/bin:/bin"])
  }

  /// Runs a program to its end and returns what it prints.
  private func output(_ executable: String, _ arguments: [String], _ environment: [String: String]) throws -> String {
    let start = ProcessStart(
      executable: executable, arguments: arguments, environment: environment, standardError: STDERR_FILENO)
    let words = "\(executable) \(arguments.joined(separator: " "))"
    guard let finished = try FinishedProcess.run(words, start, limit: limit) else {
      throw WorldError("\(words): it has not come to its end in \(limit.components.seconds) s")
    }
    guard finished.end == .exited(0) else { throw WorldError("\(words): \(finished.end)") }
    return finished.output
  }

  private func run(_ client: Client) throws -> ThroughputRates {
    let numbers = ["\(options.seconds)", "\(options.rounds)", "\(options.burst)"]
    let text: String
    switch client {
    case .plain: text = try output("\(folder)/client", numbers, environment("phone"))
    case .bleak:
      guard FileManager.default.isExecutableFile(atPath: python) else {
        throw WorldError("bleak is not installed: scripts/install-dependencies.sh tests does that")
      }
      text = try output(python, ["\(sources)/bleak_client.py"] + numbers, environment("phone"))
    case .latchkey: text = try runApp(numbers)
    }
    return try JSONDecoder().decode(ThroughputRates.self, from: Data(text.utf8))
  }

  /// The app is started by latchkeyd, in the foreground, and latchkeyd runs only as long as it does.
  private func runApp(_ numbers: [String]) throws -> String {
    let file = "\(folder)/phone/rates"
    unlink(file)
    guard mkfifo(file, 0o600) == 0 else { throw WorldError("\(file): \(String(cString: strerror(errno)))") }
    // This side also opens the pipe for writing, so reading does not end before the app has opened it.
    let fifo = open(file, O_RDWR | O_CLOEXEC)
    guard fifo >= 0 else { throw WorldError("\(file): \(String(cString: strerror(errno)))") }
    defer { close(fifo) }
    let keys: [String: Any] = [
      "CFBundleIdentifier": "org.latchkey.bench", "CFBundleExecutable": "\(executables)/latchkey-bench",
      "UIBackgroundModes": ["bluetooth-central"],
      "LatchkeyArguments": ["--throughput-app", (numbers + [file]).joined(separator: ",")],
    ]
    try PropertyListSerialization.data(fromPropertyList: keys, format: .xml, options: 0)
      .write(to: URL(fileURLWithPath: "\(folder)/phone/apps/bench/Info.plist"))
    starts += 1
    let state = "\(folder)/phone/state-\(starts)"
    try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
    let pipe = try makePipe()
    defer { close(pipe.writing) }
    let words = Announcements()
    try LineReader.start(
      pipe.reading,
      onLine: {
        FileHandle.standardError.write($0 + Data("\n".utf8))
        words.add(String(decoding: $0, as: UTF8.self))
      }, onEnd: words.end)
    let daemon = try RunningProcess(
      "latchkeyd",
      ProcessStart(
        executable: "\(executables)/latchkeyd",
        arguments: [
          "--state", state, "--apps", "\(folder)/phone/apps", "--credentials",
          "\(folder)/phone/credentials",
        ], environment: environment("phone"), standardError: pipe.writing))
    defer {
      daemon.signal(SIGTERM)
      try? daemon.waitForEnd()
    }
    try words.wait(for: Recorded.Daemon.started.rawValue, limit: .seconds(30))
    let control = try MachineControl(address: "unix:path=\(folder)/phone/bus")
    _ = try control.perform(.openApp(bundleIdentifier: "org.latchkey.bench"))
    return try Self.readLine(fifo, limit: limit)
  }

  private static func readLine(_ descriptor: Int32, limit: Duration) throws -> String {
    let end = ContinuousClock.now + limit
    var text = ""
    while !text.hasSuffix("\n") {
      let left = max(.zero, end - ContinuousClock.now)
      var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let ready = poll(&poller, 1, Int32(left / .milliseconds(1)))
      if ready < 0, errno == EINTR { continue }
      guard ready > 0 else { throw WorldError("the app has not measured in \(limit.components.seconds) s") }
      var buffer = [UInt8](repeating: 0, count: 4096)
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { throw WorldError("the app's figures can't be read") }
      text += String(decoding: buffer[..<count], as: UTF8.self)
    }
    return text
  }

  private func end() {
    for process in [peripheral, simulator?.process].compactMap(\.self) {
      process.signal(SIGKILL)
      try? process.waitForEnd()
    }
    for bus in buses { bus.end() }
  }

  // MARK: The report

  /// Ratios of Latchkey's rates to another client's, each with the least value that was promised.
  static func ratios(_ rates: [Client: ThroughputRates]) -> [(name: String, value: Double, target: Double)] {
    func ratio(_ kind: KeyPath<ThroughputRates, [Double]>, _ other: Client) -> Double {
      guard let own = rates[.latchkey], let others = rates[other] else { return 0 }
      return median(own[keyPath: kind]) / median(others[keyPath: kind])
    }
    return [
      ("notifications of Core Bluetooth, bleak's = 1", ratio(\.notifications, .bleak), 3),
      ("write round trips of Core Bluetooth, bleak's = 1", ratio(\.writes, .bleak), 3),
      ("notifications of Core Bluetooth, C's = 1", ratio(\.notifications, .plain), 0.5),
      ("write round trips of Core Bluetooth, C's = 1", ratio(\.writes, .plain), 0.5),
    ]
  }

  static func report(_ rates: [Client: ThroughputRates]) -> String {
    func row(_ client: Client) -> String {
      guard let rates = rates[client] else { return "" }
      func text(_ values: [Double]) -> String {
        let sorted = values.sorted()
        return "\(Int(median(values))) (\(Int(sorted.first ?? 0)) to \(Int(sorted.last ?? 0)))"
      }
      return "| \(client.rawValue) | \(text(rates.notifications)) | \(text(rates.writes)) |"
    }
    let ratios = ratios(rates).map { ratio in
      let value = (ratio.value * 100).rounded() / 100
      return "| \(ratio.name) | over \(ratio.target) | \(value) | \(ratio.value > ratio.target ? "yes" : "no") |"
    }
    return """
      | client | notifications a second | write round trips a second |
      |---|---|---|
      \(Client.allCases.map(row).joined(separator: "\n"))

      | figure | wanted | ratio | met |
      |---|---|---|---|
      \(ratios.joined(separator: "\n"))
      """
  }
}
