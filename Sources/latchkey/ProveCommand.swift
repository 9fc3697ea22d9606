import ArgumentParser
import ConsoleOutput
import Foundation
import Glibc
import Stories
import StoryPresentation
import Worlds

struct ProveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "prove", abstract: "Runs a scenario with real processes, and reports which promises were kept.",
    discussion: """
      Prints what happens as it happens, in plain words, then the verdict. Exits with 0 if a \
      promise was kept and none broken, with 1 if one was broken, the story stopped before its end or no promise could \
      be judged, with 64 for wrong arguments or a mistake in the scenario, with 74 if the output or a file could not be \
      written, and with 141 if the reader of the output went away.
      """)

  @Argument(
    help: "A scenario's name, such as days-away, or a scenario file.",
    completion: .custom { _, _, _ in Self.completions() })
  var scenario: String?

  @Flag(help: "List the available scenarios.")
  var list = false

  @Option(help: "The length of each chapter in days; the story's times scale with it.")
  var days: Double?

  @Option(help: "The seed of the radio's random numbers; the same seed gives the same radio timeline.")
  var seed: UInt64?

  @OptionGroup var output: ReportOptions

  @Option(help: ArgumentHelp("Keep the run's files (journal, logs, state) in this new folder.", valueName: "folder"))
  var keep: String?

  @Option(
    help: ArgumentHelp(
      "Run the story on machines: a file that names them, or vm for two virtual ones.", valueName: "machines"))
  var on: String?

  @Option(
    help: ArgumentHelp(
      "On machines: how much faster the story's days pass, as in 5d=5min. Without it they take as long as written.",
      valueName: "pace"))
  var pace: String?

  @Option(
    name: .customLong("repeat"),
    help: ArgumentHelp(
      "Run it so many times, of all scenarios where none is named, and tell verdicts and fingerprints by seed.",
      valueName: "times", visibility: .hidden))
  var times: Int?

  @Option(help: ArgumentHelp("With --repeat: how many seeds take turns, from --seed on.", visibility: .hidden))
  var seeds = 1

  func validate() throws {
    guard !list else { return }
    if let pace, Pace(pace) == nil {
      throw ValidationError("--pace is a time of the story and how long it takes, such as 5d=5min, not '\(pace)'")
    }
    if pace != nil, on == nil { throw ValidationError("--pace is for machines: give --on as well") }
    if let days, !(0.001...36500).contains(days) {
      throw ValidationError("--days must be from 0.001 to 36500")
    }
    if let times, times < 1 || output.namesFile || keep != nil || on != nil {
      throw ValidationError("--repeat takes a number from 1 up, and neither --json, --html, --keep nor --on")
    }
    if seeds != 1, times == nil { throw ValidationError("--seeds is for many runs: give --repeat as well") }
    guard (1...1_000_000).contains(seeds) else { throw ValidationError("--seeds must be from 1 to 1000000") }
    if let keep { try Self.check(keep: keep) }
  }

  /// Checks what can be known before anything runs.
  private static func check(keep: String) throws {
    guard !keep.isEmpty else { throw ValidationError("--keep needs the name of a folder") }
    var isFolder: ObjCBool = false
    if FileManager.default.fileExists(atPath: keep, isDirectory: &isFolder) {
      guard isFolder.boolValue else { throw ValidationError("--keep: \(keep) is not a folder") }
      return
    }
    let above = URL(fileURLWithPath: keep).standardizedFileURL.deletingLastPathComponent().path
    guard FileManager.default.fileExists(atPath: above, isDirectory: &isFolder), isFolder.boolValue else {
      throw ValidationError("--keep: there is no folder \(above) to make \(keep) in")
    }
  }

  func run() throws {
    if let times { return try repeatRuns(times) }
    guard !list, let scenario else { return try tellScenarios() }
    let interruption = Interruption()
    let printer = StoryPrinter(.output)
    do {
      let folder = try Executables.ownFolder()
      let story = try ScenarioLibrary.load(scenario, executableFolder: folder)
      let isFollowed = output.namesFile || keep != nil
      let report = try ScenarioRun.run(
        story, on: try setting(folder),
        options: ScenarioRun.Options(
          days: days, seed: seed, pace: pace.flatMap(Pace.init), keep: keep,
          observe: { news in
            // If the output has no reader any more, and the run leaves nothing behind, there is no reason to
            // continue.
            if !printer.tell(news), !isFollowed { interruption.endWithOutput() }
          },
          worldBegan: { interruption.watch($0) }))
      interruption.letItEnd()
      printer.end()
      try output.tell(report, again: again(report), keep: keep)
    } catch let error as ExitCode {
      throw error
    } catch {
      // An interruption makes the story fail, and that failure should not be reported.
      interruption.letItEnd()
      printer.end()
      Console.complain("latchkey: \(error)")
      throw ExitCode(Self.status(of: error))
    }
  }

  /// The command that runs the same story again, or `nil` if it would not be the same.
  private func again(_ report: Report) -> String? {
    guard on == nil, let scenario else { return nil }
    return "\(Self.quoted(Self.ownName)) prove \(Self.quoted(scenario)) --seed \(report.seed)"
      + (days.map { " --days \($0)" } ?? "")
  }

  /// Quotes a word for a shell, if that is necessary.
  private static func quoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { byte in
      byte >= 0x80 || "-_./,:=+@%".utf8.contains(byte)
        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
    return isPlain ? word : "'" + word.replacing("'", with: "'\\''") + "'"
  }

  /// How this program is called from here, for commands that it suggests.
  private static var ownName: String {
    guard let name = CommandLine.arguments.first, name.contains("/") else { return "latchkey" }
    let here = FileManager.default.currentDirectoryPath + "/"
    return name.hasPrefix(here) ? String(name.dropFirst(here.count)) : name
  }

  private static func status(of error: any Error) -> Int32 {
    switch error {
    case is ScenarioError: 64
    case is OutputFile.Failure: 74
    default: 1
    }
  }
}

extension ProveCommand {
  private func setting(_ folder: String) throws -> ScenarioRun.Setting {
    guard let on else { return .simulated(try Executables(folder: folder)) }
    let machines = on == "vm" ? MachinesDescription.virtual() : try MachinesDescription.load(on)
    return .machines(machines, try MachineTools(folder: folder))
  }

  /// Lists the scenarios. Without `--list`, this is the reply to a command that names none.
  private func tellScenarios() throws {
    let lines = try SystemControl.reporting {
      ScenarioLibrary.list(executableFolder: try Executables.ownFolder()).map { "  \($0.name)  \($0.title)" }
    }
    guard !list else {
      Console.say(lines.map { String($0.dropFirst(2)) }.joined(separator: "\n"))
      return
    }
    Console.complain("latchkey: which scenario? There are these, and files of your own (docs/scenarios.md):")
    Console.complain(lines.joined(separator: "\n"))
    Console.complain("As in: latchkey prove days-away")
    throw ExitCode(64)
  }

  /// For the shell: names of scenarios, and scenario files.
  static func completions() -> [String] {
    let names = (try? Executables.ownFolder()).map { ScenarioLibrary.list(executableFolder: $0).map(\.name) } ?? []
    let files = (try? FileManager.default.contentsOfDirectory(atPath: ".")) ?? []
    return names + files.filter { $0.hasSuffix(".yaml") }.sorted()
  }
}
