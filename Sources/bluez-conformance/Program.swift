import ArgumentParser
import BlueZConformance
import Foundation
import TimeTypes
import Timekeeping

/// Runs a suite of BlueZ behaviours on the simulator and on bluetoothd, and compares the results.
@main
struct Program: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bluez-conformance",
    abstract: "One suite of BlueZ behaviour for bluez-simulator and for bluetoothd.",
    subcommands: [List.self, Simulator.self, Machines.self, Compare.self])
}

struct List: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Lists the cases.")

  @OptionGroup var choice: Choice

  func run() throws { for one in try choice.cases() { print(one.name) } }
}

struct Choice: ParsableArguments {
  @Option(name: .customLong("case"), help: "Only cases whose names contain this; may be repeated.")
  var names: [String] = []

  @Option(help: ArgumentHelp("Not the cases that this transcript has; may be repeated.", valueName: "transcript"))
  var done: [String] = []

  @Option(help: ArgumentHelp("Of the cases chosen only every so many, from one of them on.", valueName: "of/count"))
  var part = "1/1"

  @Option(help: "The file for the transcript. Cases that fail are not in it, but in one with .failed after its name.")
  var transcript: String?

  func cases() throws -> [ConformanceCase] {
    let chosen =
      names.isEmpty
      ? ConformanceCase.all : ConformanceCase.all.filter { one in names.contains { one.name.contains($0) } }
    guard !chosen.isEmpty else { throw ValidationError("no case has \(names.joined(separator: " or ")) in its name") }
    let numbers = part.split(separator: "/").compactMap { Int($0) }
    guard numbers.count == 2, numbers[0] >= 1, numbers[0] <= numbers[1] else {
      throw ValidationError("--part: '\(part)' is not as 2/3")
    }
    let finished = Set(try done.flatMap { try Transcript(file: $0).cases.map(\.name) })
    return chosen.filter { !finished.contains($0.name) }.enumerated().filter {
      $0.offset % numbers[1] == numbers[0] - 1
    }.map(\.element)
  }

  /// Written at once, even into a pipe.
  private func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

  /// Runs the chosen cases. Returns whether every expectation held.
  func run(on world: any ConformanceWorld, time: any TimeSource) async throws -> Bool {
    let run = ConformanceRun(world: world, time: time)
    var seen = Transcript(subject: world.subject)
    var failed = seen
    for one in try cases() {
      let started = time.now
      let result = await run.run(one)
      let seconds = (time.now - started) / .seconds(1)
      say("\(result.failures.isEmpty ? "ok    " : "FAILED") \(one.name) (\(Int(seconds.rounded())) s)")
      for failure in result.failures { say("       \(failure)") }
      if result.failures.isEmpty { seen.cases.append(result.seen) } else { failed.cases.append(result.seen) }
      // After every case, so that what ends this run early takes none of them with it.
      if let transcript {
        try seen.text.write(toFile: transcript, atomically: true, encoding: .utf8)
        if !failed.cases.isEmpty {
          try failed.text.write(toFile: transcript + ".failed", atomically: true, encoding: .utf8)
        }
      }
    }
    await world.end()
    return failed.cases.isEmpty
  }
}

struct Simulator: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Runs the suite on bluez-simulator.",
    discussion: "Uses its own clock, which skips every wait, unless LATCHKEY_CLOCK names one.")

  @OptionGroup var choice: Choice

  func run() async throws {
    if ProcessInfo.processInfo.environment[ProcessClock.variable] == nil {
      throw ExitCode(try VirtualTime.runAgain())
    }
    let world = try SimulatedMachines(programs: VirtualTime.ownFolder)
    let isGood = try await choice.run(on: world, time: try ProcessClock.fromEnvironment())
    if !isGood { throw ExitCode.failure }
  }
}

struct Machines: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Runs the suite on bluetoothd, on two machines that are already running.")

  @OptionGroup var choice: Choice

  @Option(help: "An ssh configuration with the hosts `lock` and `phone`, as root.")
  var sshConfig = ProcessInfo.processInfo.environment["LATCHKEY_MACHINES_SSH"] ?? ""

  @Option(help: "The control socket of the air between the machines.")
  var air = ProcessInfo.processInfo.environment["LATCHKEY_MACHINES_AIR"] ?? ""

  func validate() throws {
    guard !sshConfig.isEmpty, !air.isEmpty else {
      throw ValidationError("no machines: scripts/vm/with-two-machines boots two and says where they are")
    }
  }

  func run() async throws {
    let world = try VirtualMachines(sshConfiguration: sshConfig, airSocket: air)
    if try await !choice.run(on: world, time: try BootClock()) { throw ExitCode.failure }
  }
}

struct Compare: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Compares the transcripts of the simulator and of bluetoothd.")

  @Argument(help: "The simulator's transcript.")
  var simulator: String

  @Argument(help: "bluetoothd's transcript, or those of its parts.")
  var bluetoothd: [String]

  @Flag(help: "Compare only cases that both have; explanations may then be unused.")
  var partial = false

  func run() throws {
    var left = try Transcript(file: simulator)
    let parts = try bluetoothd.map(Transcript.init(file:))
    var right = Transcript(subject: "bluetoothd", cases: parts.flatMap(\.cases))
    if partial {
      left.cases.removeAll { one in !right.cases.contains { $0.name == one.name } }
      right.cases.removeAll { one in !left.cases.contains { $0.name == one.name } }
    }
    let differences = Comparison.differences(simulator: left, bluetoothd: right)
    var verdict = Verdict(differences, explanations: Explanation.known)
    if partial { verdict.stale = [] }
    print(verdict.text)
    if !verdict.isGood { throw ExitCode.failure }
  }
}

extension Transcript {
  /// - Throws: what is wrong with the file, with its name.
  fileprivate init(file: String) throws {
    do {
      try self.init(text: String(contentsOfFile: file, encoding: .utf8))
    } catch let error as Malformed {
      throw ValidationError("\(file): \(error)")
    }
  }
}
