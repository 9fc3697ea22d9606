// Processes that misbehave, for tests that see promises broken by them. Lives with the tests only.
//
// `saboteur STORY PROGRAMS JSON` tells a story whose programs are, where the folder PROGRAMS has one of that name, those;
// after a step whose note begins with "sabotage" it does what the note says (`Sabotage`). The report goes to JSON.
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
