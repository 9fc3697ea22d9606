import AppLink
import AppLinkBus
import ConsoleOutput
import Foundation
import Glibc
import Stories
import StoryPresentation
import Worlds

/// Tells a story, and does things to its world that no step of a story does.
enum Director {
  static func run(_ arguments: [String]) throws {
    guard arguments.count == 3 else { exit(64) }
    let folder = try Executables.ownFolder()
    let replacing = try FileManager.default.contentsOfDirectory(atPath: arguments[1]).reduce(into: [:]) {
      $0[$1] = arguments[1] + "/" + $1
    }
    var options = ScenarioRun.Options()
    options.inspect = { step, processes in
      let words = (step.note ?? "").split(separator: " ").map(String.init)
      guard words.first == "sabotage" else { return }
      try Sabotage(processes: processes).perform(Array(words.dropFirst()))
    }
    let report = try ScenarioRun.run(
      try ScenarioLibrary.load(arguments[0], executableFolder: folder),
      executables: try Executables(folder: folder, replacing: replacing), options: options)
    try report.json().write(to: URL(fileURLWithPath: arguments[2]))
    FileHandle.standardOutput.write(Data((VerdictScreen(report, .plain).lines().joined(separator: "\n") + "\n").utf8))
  }
}

/// Acts that are not part of the story, and of which the orchestrator has no mark.
struct Sabotage {
  let processes: WorldProcesses

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  func perform(_ words: [String]) throws {
    switch words.first {
    case "signal" where words.count >= 3:
      guard let number = Int32(words[1]) else { throw Failure(description: "no signal \(words[1])") }
      try signal(number, words[2], on: words.count > 3 ? words[3] : nil)
    case "turn" where words.count == 3: try turn(words[1], on: words[2])
    case "open" where words.count == 3:
      try MachineControl(address: try variable("DBUS_SYSTEM_BUS_ADDRESS", of: "latchkeyd", on: words[2]))
        .perform(.openApp(bundleIdentifier: words[1]))
    case "rewind" where words.count == 2:
      try Rewinding.rewind(try variable("LATCHKEY_CLOCK", of: "latchkeyd", on: words[1]))
    default: throw Failure(description: "unknown sabotage: \(words.joined(separator: " "))")
    }
  }

  private func process(_ program: String, on machine: String?) throws -> pid_t {
    guard
      let found = processes.all().first(where: { $0.program == program && (machine == nil || $0.machine == machine) })
    else { throw Failure(description: "no \(program) runs on \(machine ?? "the world")") }
    return found.pid
  }

  /// A signal that no step sent. Returns when the process has ended, if it is to end.
  private func signal(_ number: Int32, _ program: String, on machine: String?) throws {
    let pid = try process(program, on: machine)
    kill(pid, number)
    guard ![SIGSTOP, SIGCONT].contains(number) else { return }
    let giveUp = ContinuousClock().now + .seconds(60)
    while kill(pid, 0) == 0 {
      guard ContinuousClock().now < giveUp else { throw Failure(description: "\(program) does not end") }
      sched_yield()
    }
  }

  private func variable(_ name: String, of program: String, on machine: String) throws -> String {
    let pid = try process(program, on: machine)
    let data = FileManager.default.contents(atPath: "/proc/\(pid)/environ") ?? Data()
    for entry in data.split(separator: 0) {
      let text = String(decoding: entry, as: UTF8.self)
      if text.hasPrefix(name + "=") { return String(text.dropFirst(name.count + 1)) }
    }
    throw Failure(description: "\(program) has no \(name)")
  }

  /// A hand at the lock, of a person who is not in the story.
  private func turn(_ position: String, on machine: String) throws {
    let folder = try variable("STATE_DIRECTORY", of: "latchkey-lock", on: machine)
    try Socket.ask(folder, "{\"turn\":\"\(position)\"}")
  }
}

/// Sets the world's clock back by a day.
enum Rewinding {
  static func rewind(_ folder: String) throws {
    let file = open(folder + "/now", O_RDWR | O_CLOEXEC)
    guard file >= 0 else { throw Sabotage.Failure(description: "the clock can't be reached") }
    defer { close(file) }
    var now: Int64 = 0
    guard pread(file, &now, 8, 0) == 8 else { throw Sabotage.Failure(description: "the clock can't be read") }
    now = (Int64(littleEndian: now) - 86_400_000_000_000).littleEndian
    guard pwrite(file, &now, 8, 0) == 8 else { throw Sabotage.Failure(description: "the clock can't be set") }
  }
}
