// Tells a story in a simulated world for a test that looks into it: `story-teller FILE`. After each step whose note begins
// with "look" it says that note, and time stands still until a line comes. Ends with 0 where every promise was kept.
import Foundation
import Stories
import Worlds

func say(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }

struct NobodyLooks: Error {}

guard CommandLine.arguments.count == 2 else { exit(64) }
let folder = try Executables.ownFolder()
var options = ScenarioRun.Options()
options.inspect = { step, _ in
  guard let note = step.note, note.hasPrefix("look") else { return }
  say(note)
  // The end of the input is the end of the test: so it is the story's.
  guard readLine() != nil else { throw NobodyLooks() }
}
let report = try ScenarioRun.run(
  try ScenarioLibrary.load(CommandLine.arguments[1], executableFolder: folder),
  executables: try Executables(folder: folder), options: options)
say(report.text())
exit(report.kept ? 0 : 1)
