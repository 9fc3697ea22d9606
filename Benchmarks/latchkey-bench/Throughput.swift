import AppLink
import AppLinkBus
import ChildProcesses
import Foundation
import Glibc
import Worlds

/// Notifications and write round trips a second of three clients of one peripheral, in one run on one simulated radio: an app on
/// Core Bluetooth and latchkeyd, a program on bleak, and one in C over sd-bus alone. The peripheral is the same program in C for
/// all of them, and the clients come in turns.
final class Throughput {
  enum Client: String, CaseIterable, Sendable {
    case latchkey = "Core Bluetooth, over latchkeyd"
    case bleak = "bleak"
    case plain = "C, over sd-bus"
  }

  struct Options: Sendable {
    /// How long one round of one kind lasts.
    var seconds = 2.0
    /// Rounds of each kind in one turn of a client.
    var rounds = 3
    /// How often each client comes.
    var turns = 2
    /// How many notifications the peripheral sends for a write.
    var burst = 500
  }

  private let folder: String
  private let sources: String
  private let executables: String
  private let options: Options
  private let clock: RacingClock
  private var buses: [BusDaemon] = []
  private var helpers: [RunningProcess] = []
  private var python: String { "\(sources)/../../.build/python/bin/python3" }

  /// Rates of each client, of all rounds.
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
    for name in ["clock", "door", "phone", "phone/state", "phone/apps/bench", "phone/credentials"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
    }
    clock = try RacingClock(directory: "\(folder)/clock")
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
    try startHelper(
      "bluez-simulator", "\(executables)/bluez-simulator", arguments + ["--radio", "clear", "--stay"],
      ["PATH": "/usr/bin:/bin", "LATCHKEY_CLOCK": "\(folder)/clock"], until: "\"ready\"")
    try startHelper("peripheral", "\(folder)/peripheral", [], environment("door"), until: "ready")
  }

  private func compile(_ name: String) throws {
    let flags = try output("/usr/bin/pkg-config", ["--cflags", "--libs", "libsystemd"], [:])
      .split(whereSeparator: \.isWhitespace).map(String.init)
    _ = try output(
      "/usr/bin/cc", ["-O2", "-Wall", "-Wextra", "-Werror", "-o", "\(folder)/\(name)", "\(sources)/\(name).c"] + flags,
      ["PATH": "/usr/bin:/bin"])
  }

  /// Starts a process that lives as long as the benchmark, and waits for a word of it.
  private func startHelper(
    _ name: String, _ executable: String, _ arguments: [String], _ environment: [String: String], until word: String
  ) throws {
    let pipe = Pipe()
    helpers.append(
      try RunningProcess(
        name,
        ProcessStart(
          executable: executable, arguments: arguments, environment: environment,
          standardOutput: pipe.fileHandleForWriting.fileDescriptor, standardError: STDERR_FILENO)))
    try pipe.fileHandleForWriting.close()
    var heard = ""
    while !heard.contains(word) {
      let data = pipe.fileHandleForReading.availableData
      guard !data.isEmpty else { throw WorldError("\(name) does not start: \(heard)") }
      heard += String(decoding: data, as: UTF8.self)
    }
    // What it says later is read by nobody.
    DispatchQueue.global().async { while !pipe.fileHandleForReading.availableData.isEmpty {} }
  }

  /// Runs a program to its end and returns what it prints.
  private func output(_ executable: String, _ arguments: [String], _ environment: [String: String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    process.environment = environment
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw WorldError("\(executable) \(arguments.joined(separator: " ")): status \(process.terminationStatus)")
    }
    return String(decoding: data, as: UTF8.self)
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
    let file = "\(folder)/phone/rates.json"
    unlink(file)
    let keys: [String: Any] = [
      "CFBundleIdentifier": "org.latchkey.bench", "CFBundleExecutable": "\(executables)/latchkey-bench",
      "UIBackgroundModes": ["bluetooth-central"],
      "LatchkeyArguments": ["--throughput-app", (numbers + [file]).joined(separator: ",")],
    ]
    try PropertyListSerialization.data(fromPropertyList: keys, format: .xml, options: 0)
      .write(to: URL(fileURLWithPath: "\(folder)/phone/apps/bench/Info.plist"))
    let daemon = try RunningProcess(
      "latchkeyd",
      ProcessStart(
        executable: "\(executables)/latchkeyd",
        arguments: [
          "--state", "\(folder)/phone/state", "--apps", "\(folder)/phone/apps", "--credentials",
          "\(folder)/phone/credentials",
        ], environment: environment("phone"), standardError: STDERR_FILENO))
    defer {
      daemon.signal(SIGTERM)
      try? daemon.waitForEnd()
    }
    let control = try MachineControl(address: "unix:path=\(folder)/phone/bus")
    _ = try control.perform(.openApp(bundleIdentifier: "org.latchkey.bench"))
    // It takes as long as it takes to measure, and some seconds to connect.
    let limit = Date() + 60 + 4 * options.seconds * Double(options.rounds)
    while !FileManager.default.fileExists(atPath: file) {
      guard Date() < limit else { throw WorldError("the app has not measured in time") }
      usleep(100_000)
    }
    return try String(contentsOfFile: file, encoding: .utf8)
  }

  private func end() {
    for process in helpers.reversed() {
      process.signal(SIGKILL)
      try? process.waitForEnd()
    }
    for bus in buses { bus.end() }
  }

  // MARK: The report

  /// Ratios, each with what was promised: at least that.
  static func ratios(_ rates: [Client: ThroughputRates]) -> [(name: String, value: Double, target: Double)] {
    func ratio(_ kind: KeyPath<ThroughputRates, [Double]>, _ other: Client) -> Double {
      guard let own = rates[.latchkey], let others = rates[other] else { return 0 }
      return median(own[keyPath: kind]) / median(others[keyPath: kind])
    }
    return [
      ("notifications, bleak's = 1", ratio(\.notifications, .bleak), 3),
      ("write round trips, bleak's = 1", ratio(\.writes, .bleak), 3),
      ("notifications, C's = 1", ratio(\.notifications, .plain), 0.5),
      ("write round trips, C's = 1", ratio(\.writes, .plain), 0.5),
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
      return "| \(ratio.name) | \(value) | \(ratio.target) | \(ratio.value > ratio.target ? "yes" : "no") |"
    }
    return """
      | client | notifications a second | write round trips a second |
      |---|---|---|
      \(Client.allCases.map(row).joined(separator: "\n"))

      | | now | over | met |
      |---|---|---|---|
      \(ratios.joined(separator: "\n"))
      """
  }
}
