import ArgumentParser
import Foundation
import Glibc
import Orchestrator

struct ProveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "prove", abstract: "Runs a scenario with real processes and tells which promises were kept.",
    discussion: """
      Prints what happens as it happens, then the timeline, then the verdict. Ends with 0 where every promise was \
      kept, with 1 where one was broken or the story could not be told to its end, with 64 for wrong arguments.
      """)

  @Argument(help: "A scenario's name, such as days-away, or a scenario file.")
  var scenario: String

  @Option(help: "Days that each chapter of the story lasts; its times scale.")
  var days: Double?

  @Option(help: "Where the radio's randomness begins; the same seed gives the same timeline of the radio.")
  var seed: UInt64?

  @Option(help: ArgumentHelp("Write the timeline and the verdict to this file as JSON.", valueName: "file"))
  var json: String?

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

  func validate() throws {
    if let pace, Pace(pace) == nil {
      throw ValidationError("--pace is a time of the story and how long it takes, such as 5d=5min, not '\(pace)'")
    }
    if pace != nil, on == nil { throw ValidationError("--pace is for machines: give --on as well") }
    if let days, !(0.001...36500).contains(days) {
      throw ValidationError("--days must be from 0.001 to 36500")
    }
    if let json {
      let folder = URL(fileURLWithPath: json).deletingLastPathComponent().path
      guard access(folder, W_OK) == 0 else { throw ValidationError("--json: the folder \(folder) can't be written to") }
    }
  }

  func run() throws {
    let interruption = Interruption()
    do {
      let folder = try Executables.ownFolder()
      let story = try ScenarioLibrary.load(scenario, executableFolder: folder)
      let report = try ScenarioRun.run(
        story, on: try setting(folder),
        options: ScenarioRun.Options(
          days: days, seed: seed, pace: pace.flatMap(Pace.init), keep: keep, progress: { Self.show($0) },
          worldBegan: { interruption.watch($0) }))
      interruption.letItEnd()
      Self.show(report.text())
      if let json { try report.json().write(to: URL(fileURLWithPath: json)) }
      if !report.kept { throw ExitCode(1) }
    } catch let error as ExitCode {
      throw error
    } catch {
      // Whoever ends the world makes the story fail, which is then not what is to be told.
      interruption.letItEnd()
      FileHandle.standardError.write(Data("latchkey: \(error)\n".utf8))
      throw ExitCode(error is ScenarioError ? 64 : 1)
    }
  }
}

extension ProveCommand {
  private func setting(_ folder: String) throws -> ScenarioRun.Setting {
    guard let on else { return .simulated(try Executables(folder: folder)) }
    let machines = on == "vm" ? MachinesDescription.virtual() : try MachinesDescription.load(on)
    return .machines(machines, try MachineTools(folder: folder))
  }

  /// Whole lines, at once, also into a pipe.
  static func show(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
}

/// Ends the world in order when somebody interrupts the run; without it the guardian would, a moment later.
final class Interruption: Sendable {
  // `watch` alone uses it, once; held so that the sources live as long as the run.
  private nonisolated(unsafe) var sources: [any DispatchSourceSignal] = []
  private let queue = DispatchQueue(label: "interruption")

  /// Returns at once where nobody has interrupted the run; does not return where somebody has.
  func letItEnd() { queue.sync {} }

  func watch(_ guardian: Guardian) {
    sources = [SIGINT, SIGTERM, SIGHUP].map { number in
      // Else the signal ends this process before the queue hears of it.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        FileHandle.standardError.write(Data("latchkey: interrupted; ending what runs\n".utf8))
        try? guardian.endWorld()
        _exit(128 + number)
      }
      source.resume()
      return source
    }
  }
}
