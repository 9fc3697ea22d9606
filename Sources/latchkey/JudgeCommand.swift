import ArgumentParser
import ConsoleOutput
import Foundation
import Stories
import Worlds

struct JudgeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "judge", abstract: "Checks in machines' journals which promises of a scenario were kept.",
    discussion: """
      For stories that ran without prove: at a real home, or on machines that prove can't control. The journals are \
      exported by journalctl --output=json. One of them has the steps of the story, as lines of the orchestrator \
      (docs/scenarios.md). Prints the story and the verdict like prove. Exits with 0 if a promise was \
      kept and none broken, with 1 if one was broken, the story stopped before its end or no promise could be judged, \
      with 64 for wrong arguments or a wrong scenario, with 65 if a file is not such a journal or the journals do not belong together, with 66 if one can't be read, \
      with 74 if the output or a file could not be written, and with 141 if the reader of the output went away.
      """)

  @Argument(
    help: "A scenario's name, such as days-away, or a scenario file.",
    completion: .custom { _, _, _ in ProveCommand.completions() })
  var scenario: String

  @Option(
    name: .customLong("journal"),
    help: ArgumentHelp("A machine of the scenario, and the file or pipe with its journal.", valueName: "machine=file"))
  var journals: [Source]

  @OptionGroup var output: ReportOptions

  /// One machine's journal, as given on the command line.
  struct Source: ExpressibleByArgument {
    var machine: String
    var file: String

    init?(argument: String) {
      guard let sign = argument.firstIndex(of: "=") else { return nil }
      machine = String(argument[..<sign])
      file = String(argument[argument.index(after: sign)...])
      guard !machine.isEmpty, !file.isEmpty else { return nil }
    }
  }

  func validate() throws {
    guard !journals.isEmpty else { throw ValidationError("--journal MACHINE=FILE is needed, one for each machine") }
  }

  func run() throws {
    do {
      let story = try ScenarioLibrary.load(scenario, executableFolder: try Executables.ownFolder())
      // This is checked before hundreds of megabytes are read.
      try JournalJudge.check(journals.map(\.machine), of: story)
      let exported = try journals.map { try ExportedJournal(of: $0.machine, path: $0.file) }
      let report = try JournalJudge.judge(story, exported)
      output.tellStory(report)
      try output.tell(report)
    } catch let error as ExitCode {
      throw error
    } catch {
      Console.complain("latchkey: \(error)")
      throw ExitCode(Self.status(of: error))
    }
  }

  private static func status(of error: any Error) -> Int32 {
    switch error {
    case is ScenarioError: 64
    case let error as JournalExportError: error.isMissing ? 66 : 65
    case is OutputFile.Failure: 74
    default: 1
    }
  }
}
