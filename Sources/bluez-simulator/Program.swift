import ArgumentParser
import BlueZSimulator
import ConsoleOutput
import Foundation
import Glibc
import Journal
import JournalEvents
import LatchkeyVersion
import Logging
import Radio
import Synchronization
import Timekeeping

@main
enum Main {
  static func main() async {
    Console.begin()
    await Program.main()
    Console.end(program: "bluez-simulator")
  }
}

/// Serves `org.bluez` on the buses of machines without Bluetooth, over one simulated radio.
struct Program: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bluez-simulator",
    abstract: "Serves org.bluez on the buses of several machines, over one simulated radio.",
    discussion: """
      Takes commands as lines of JSON on standard input, such as \
      {"id":1,"command":{"move":{"machine":"phone","x":40,"y":0}}}, and answers each with a line on standard output, \
      where it also reports what happens on the radio. It ends with its standard input, unless --stay is given. \
      {"id":2,"command":{"list":{}}} lists machines, places and links; bluez-simulator(1) has all commands.

      A client of a machine needs the address of its bus: DBUS_SYSTEM_BUS_ADDRESS=unix:path=/tmp/phone bluetoothctl
      """,
    version: LatchkeyVersion.current)

  @Option(help: ArgumentHelp("A machine and its bus; may be repeated.", valueName: "name=address"))
  var machine: [String] = []

  @Option(help: ArgumentHelp("One of these machines, which uses resolvable private addresses.", valueName: "name"))
  var privateMachine: [String] = []

  @Option(
    help: ArgumentHelp(
      "One of these machines, whose bluetoothd runs with --experimental and has AdvertisementMonitorManager1.",
      valueName: "name"))
  var experimentalMachine: [String] = []

  @Option(
    help: ArgumentHelp(
      "One of these machines, whose adapters have classic Bluetooth as well, as most computers' have: a discovery with Transport=le "
        + "has a filter there.", valueName: "name"))
  var dualModeMachine: [String] = []

  @Option(help: ArgumentHelp("The number of adapters of one of these machines, up to 8.", valueName: "name=count"))
  var adapters: [String] = []

  @Option(help: "The seed of the radio's random numbers.")
  var seed: UInt64 = 1

  @Flag(
    help: "Continue after the end of standard input, until SIGTERM or SIGINT: for a service or a background job.")
  var stay = false

  @Flag(help: "Also record what is on the air: each advertisement and each scan that begins, changes or ends.")
  var recordAir = false

  @Option(
    help: ArgumentHelp(
      "Waits of up to this many milliseconds take no time, so that a measurement is not one of the radio's intervals.",
      valueName: "milliseconds"))
  var leap: Int?

  private func adapterCount(of name: String) throws -> Int {
    for text in adapters {
      let parts = text.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, let count = Int(parts[1]), (1...8).contains(count) else {
        throw ValidationError("--adapters \(text): expected NAME=COUNT, such as phone=2, of at most 8")
      }
      if parts[0] == name { return count }
    }
    return 1
  }

  @Option(
    help: ArgumentHelp(
      "The radio's noise: clear, calm, ordinary or harsh, and parameters that are otherwise: 'harsh,body loss=15'.",
      valueName: "noise"))
  var radio = "ordinary"

  func validate() throws {
    guard RadioPhysics(text: radio) != nil else {
      throw ValidationError(
        "--radio \(radio): expected a level (\(RadioPhysics.Level.allCases.map(\.rawValue).joined(separator: ", "))) "
          + "and parameters in their ranges: "
          + RadioPhysics.parameters.map { "\($0.name)=\($0.range.lowerBound) to \($0.range.upperBound)" }
          .joined(separator: ", "))
    }
    guard (1...1000).contains(leap ?? 1) else {
      throw ValidationError("--leap \(leap ?? 0): expected milliseconds, 1 to 1000")
    }
    guard !machine.isEmpty else { throw ValidationError("no machine: --machine NAME=ADDRESS") }
    let names = try machines().map(\.name)
    if let unknown = privateMachine.first(where: { !names.contains($0) }) {
      throw ValidationError("--private-machine \(unknown): there is no such --machine")
    }
    if let unknown = experimentalMachine.first(where: { !names.contains($0) }) {
      throw ValidationError("--experimental-machine \(unknown): there is no such --machine")
    }
    if let unknown = dualModeMachine.first(where: { !names.contains($0) }) {
      throw ValidationError("--dual-mode-machine \(unknown): there is no such --machine")
    }
    for text in adapters {
      let name = String(text.prefix { $0 != "=" })
      guard names.contains(name) else { throw ValidationError("--adapters \(text): there is no --machine \(name)") }
    }
  }

  private func machines() throws -> [SimulatorMachine] {
    try machine.map { text in
      let parts = text.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, !parts[0].isEmpty, parts[0].utf8.count <= 64, !parts[1].isEmpty else {
        throw ValidationError("--machine \(text): expected NAME=ADDRESS, such as door=unix:path=/run/door/bus")
      }
      let (name, address) = (String(parts[0]), String(parts[1]))
      guard address.hasPrefix("/") || address.contains(":") else {
        throw ValidationError(
          "--machine \(text): '\(address)' is not a bus; give an absolute path, or write unix:path=/run/door/bus")
      }
      guard !name.contains("/") else { throw ValidationError("--machine \(text): a name has no '/'") }
      var machine = SimulatorMachine(
        name: name, busAddress: address.hasPrefix("/") ? "unix:path=\(address)" : address,
        isPrivate: privateMachine.contains(name))
      machine.adapterCount = try adapterCount(of: name)
      machine.isExperimental = experimentalMachine.contains(name)
      machine.isDualMode = dualModeMachine.contains(name)
      return machine
    }
  }

  private func clock() throws -> any TimeSource {
    guard let leap else { return try ProcessClock.fromEnvironment() }
    guard getenv(ProcessClock.variable).map({ $0.pointee == 0 }) ?? true else {
      throw ValidationError(
        "--leap \(leap): a world's clock (\(ProcessClock.variable)) does not leap; do without one of them")
    }
    return LeapingClock(try ProcessClock.fromEnvironment(), over: .milliseconds(leap))
  }

  func run() async throws {
    let staying = stay
    Output.isStaying.withLock { $0 = staying }
    let time = try clock()
    try Journal.bootstrap(process: Recorded.simulator, time: time)
    let logger = Logger(label: "bluez-simulator")
    let simulator = BlueZSimulator(
      machines: try machines(), seed: seed, physics: RadioPhysics(text: radio) ?? RadioPhysics(), time: time,
      logger: logger, recordsAir: recordAir, takesTurns: time is SharedClock
    ) { line in
      Output.write(line)
    }
    let reader = Thread { Input.read(into: simulator, staying: staying) }
    reader.start()
    try await simulator.run()
  }
}

/// Standard output. Answers come from two threads, and lines stay whole.
enum Output {
  /// With `--stay`, it continues even without a reader.
  static let isStaying = Mutex(false)

  static func write(_ line: SimulatorLine) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard var data = try? encoder.encode(line) else { return }
    data.append(UInt8(ascii: "\n"))
    // The reader is gone, so there is no reason to continue.
    if !Console.write(Array(data)), !isStaying.withLock({ $0 }) { Console.end(program: "bluez-simulator") }
  }
}

enum Input {
  static func read(into simulator: BlueZSimulator, staying: Bool) {
    var lineCount = 0
    while let line = readLine() {
      guard !line.isEmpty else { continue }
      lineCount += 1
      do throws(SimulatorLineReader.Failure) {
        switch try SimulatorLineReader.read(line) {
        case .request(let request): simulator.send(request)
        case .survey(let id): simulator.survey(id: id)
        }
      } catch {
        Output.write(.reply(SimulatorReply(id: error.id, error: error.reason)))
      }
    }
    if staying { return }
    if lineCount == 0 {
      // This may be unintended: a job in the background has no input.
      Console.complain("bluez-simulator: ended with standard input, which had no command; --stay prevents this")
    }
    simulator.stop()
  }
}
