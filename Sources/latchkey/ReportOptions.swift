import ArgumentParser
import ConsoleOutput
import Foundation
import Stories
import StoryPresentation

/// Where the report of a story goes, and how much of it is printed.
struct ReportOptions: ParsableArguments {
  @Flag(help: "Also print the timeline: every event, one line each.")
  var verbose = false

  @Option(help: ArgumentHelp("Write the timeline and the verdict to this file as JSON.", valueName: "file"))
  var json: String?

  @Option(help: ArgumentHelp("Write a picture of the story to this file, for a browser.", valueName: "file"))
  var html: String?

  /// Whether somebody will have the report even if the output has no reader.
  var namesFile: Bool { json != nil || html != nil }

  private var jsonFile: OutputFile? { json.map { OutputFile($0, option: "--json") } }
  private var htmlFile: OutputFile? { html.map { OutputFile($0, option: "--html") } }

  func validate() throws {
    try jsonFile?.check()
    try htmlFile?.check()
    if let json, let html, Self.isSame(json, html) {
      throw ValidationError("--json and --html name the same file, \(json)")
    }
  }

  private static func isSame(_ one: String, _ other: String) -> Bool {
    func path(_ name: String) -> String {
      URL(fileURLWithPath: name).standardizedFileURL.resolvingSymlinksInPath().path
    }
    // Two options may name the same device, because a device does not replace what was written before.
    return path(one) == path(other) && !path(one).hasPrefix("/dev/")
  }

  /// Prints a story that was not printed while it happened.
  func tellStory(_ report: Report) {
    let terminal = Terminal.output
    let machines = report.stage?.map(\.name) ?? Array(Set(report.timeline.map(\.machine)))
    var screen = StoryScreen(terminal, machines: machines)
    Console.say(terminal.wrapped(report.title).joined(separator: "\n"))
    let lines = report.timeline.flatMap { screen.lines($0) }
    if !lines.isEmpty { Console.say(lines.joined(separator: "\n")) }
  }

  /// Prints the verdict, and writes the files.
  ///
  /// - Parameters:
  ///   - again: the command that runs the same story again.
  ///   - keep: the folder with the run's files.
  /// - Throws: `ExitCode` 1 if a promise was not kept.
  func tell(_ report: Report, again: String? = nil, keep: String? = nil) throws {
    let terminal = Terminal.output
    var lines = verbose ? TimelineScreen(report).lines : []
    lines += VerdictScreen(report, terminal).lines(isVerbose: verbose)
    Console.say(lines.joined(separator: "\n"))
    try jsonFile?.write(try report.json())
    try htmlFile?.write(Data(StoryPicture(report).html.utf8))
    Console.say(whereabouts(again: again, keep: keep).flatMap { terminal.hanging("  ", $0) }.joined(separator: "\n"))
    Console.end(program: "latchkey")
    if !report.kept { throw ExitCode(1) }
  }

  /// Where a reader finds the rest.
  private func whereabouts(again: String?, keep: String?) -> [String] {
    var lines: [String] = []
    if let html { lines.append("the picture is in \(html): open it in a browser") }
    if let json { lines.append("the report is in \(json)") }
    if let keep { lines.append("the run's files are in \(keep)") }
    if let again, !verbose { lines.append("every event: \(again) --verbose") }
    if let again, html == nil { lines.append("a picture: \(again) --html story.html") }
    return lines
  }
}
