import ArgumentParser
import BlueZSimulator
import ConsoleOutput
import Foundation
import Journal
import LatchkeyVersion
import Logging
import Radio
import Timekeeping

@main
enum Main {
  static func main() async {
    Console.begin()
    await Program.main()
    Console.end(program: "bluez-simulator")
  }
}

/// Serves `org.bluez` on the buses of machines that have no Bluetooth, over one simulated radio.
struct Program: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bluez-simulator",
    abstract: "Serves org.bluez on the buses of several machines, over one simulated radio.",
    discussion: """
      Takes commands as lines of JSON on standard input, such as \
      {"id":1,"command":{"move":{"machine":"phone","x":40,"y":0}}}, and answers each with a line on standard output; \
      what happens on the radio comes there too. It ends with its standard input.
      """,
    version: LatchkeyVersion.current)

  @Option(help: ArgumentHelp("A machine and its bus; may be repeated.", valueName: "name=address"))
  var machine: [String] = []

  @Option(help: ArgumentHelp("A machine of those above that uses resolvable private addresses.", valueName: "name"))
  var privateMachine: [String] = []

  @Option(help: "The same seed gives the same radio.")
  var seed: UInt64 = 1

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
    guard !machine.isEmpty else { throw ValidationError("no machine: --machine NAME=ADDRESS") }
    let names = try machines().map(\.name)
    if let unknown = privateMachine.first(where: { !names.contains($0) }) {
      throw ValidationError("--private-machine \(unknown): there is no such --machine")
    }
  }

  private func machines() throws -> [SimulatorMachine] {
    try machine.map { text in
      let parts = text.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, !parts[0].isEmpty, parts[0].utf8.count <= 64, !parts[1].isEmpty else {
        throw ValidationError("--machine \(text): expected NAME=ADDRESS, such as door=unix:path=/run/door/bus")
      }
      let name = String(parts[0])
      return SimulatorMachine(
        name: name, busAddress: String(parts[1]), isPrivate: privateMachine.contains(name))
    }
  }

  func run() async throws {
    let time = try ProcessClock.fromEnvironment()
    try Journal.bootstrap(process: "bluez-simulator", time: time)
    let logger = Logger(label: "bluez-simulator")
    let simulator = BlueZSimulator(
      machines: try machines(), seed: seed, physics: RadioPhysics(text: radio) ?? RadioPhysics(), time: time,
      logger: logger
    ) { line in
      Output.write(line)
    }
    let reader = Thread { Input.read(into: simulator) }
    reader.start()
    try await simulator.run()
  }
}

enum Output {
  static func write(_ line: SimulatorLine) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard var data = try? encoder.encode(line) else { return }
    data.append(UInt8(ascii: "\n"))
    // Whoever is to hear of the radio can't: so is the reason to go on.
    if !Console.write(Array(data)) { Console.end(program: "bluez-simulator") }
  }
}

enum Input {
  /// What an overlong line is cut down to before it is refused.
  private static let lineLimit = 65_536

  static func read(into simulator: BlueZSimulator) {
    while let line = readLine() {
      guard !line.isEmpty else { continue }
      guard line.utf8.count <= lineLimit else {
        refuse(0, "a line is longer than \(lineLimit) bytes")
        continue
      }
      let data = Data(line.utf8)
      do {
        simulator.send(try JSONDecoder().decode(SimulatorRequest.self, from: data))
      } catch {
        let identifier = (try? JSONDecoder().decode(Identified.self, from: data))?.id ?? 0
        refuse(identifier, "not a command: \(explain(error))")
      }
    }
    simulator.stop()
  }

  private struct Identified: Decodable { var id: UInt64 }

  private static func refuse(_ identifier: UInt64, _ reason: String) {
    Output.write(.reply(SimulatorReply(id: identifier, error: reason)))
  }

  private static func explain(_ error: any Error) -> String {
    switch error {
    case DecodingError.dataCorrupted(let context), DecodingError.keyNotFound(_, let context),
      DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
      context.debugDescription
    default: "\(error)"
    }
  }
}
