// Runs a story in a simulated world for a test that inspects it: `story-teller FILE`. After each step whose note begins with
// "look" it prints that note, and time stands still until it reads a line. Exit status 0: every promise was kept.
import ConsoleOutput
import Foundation
import Stories
import StoryPresentation
import Worlds

func say(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }

struct NobodyLooks: Error {}

guard CommandLine.arguments.count == 2 else { exit(64) }
let folder = try Executables.ownFolder()
var options = ScenarioRun.Options()
options.inspect = { step, _ in
  guard let note = step.note, note.hasPrefix("look") else { return }
  say(note)
  // The end of the input means that the test has ended, so the story ends as well.
  guard readLine() != nil else { throw NobodyLooks() }
}
let report = try ScenarioRun.run(
  try ScenarioLibrary.load(CommandLine.arguments[1], executableFolder: folder),
  executables: try Executables(folder: folder), options: options)
say(VerdictScreen(report, .plain).lines().joined(separator: "\n"))
exit(report.kept ? 0 : 1)
