// Processes that misbehave, so that tests can check that broken promises are found. Only for tests.
//
// `saboteur STORY PROGRAMS JSON` runs a story. Programs that exist in the folder PROGRAMS replace the usual ones. After a
// step whose note begins with "sabotage", it does what the note says (`Sabotage`). It writes the report to JSON.
//
// Under the name of an app it is that app, and misbehaves in the way that the variable SABOTAGE names.
import Foundation

let name = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().lastPathComponent
let way = ProcessInfo.processInfo.environment["SABOTAGE"] ?? ""
switch name {
case "latchkey-agent": try RogueAgent.run(way)
case "latchkey-lock": try RogueLock.run(way)
default:
  do { try Director.run(Array(CommandLine.arguments.dropFirst())) } catch {
    FileHandle.standardError.write(Data("saboteur: \(error)\n".utf8))
    exit(1)
  }
}
