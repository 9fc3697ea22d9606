import AgentQuestions
import ArgumentParser
import ConsoleOutput
import Foundation

/// What every command about a door takes.
struct DoorOptions: ParsableArguments {
  @Argument(help: "The door's name. It may be left out if the phone has one door.") var door: String?
  @Flag(help: "Print one JSON object, for programs. The manual describes its keys.") var json = false
  @Option(help: "The bundle identifier of the app that has the keys.") var app = Agent.standard
  /// The option that the commands about guests have, to explain its absence here.
  @Option(name: .customLong("door"), help: .hidden) var misplaced: String?

  func validate() throws {
    guard misplaced == nil else {
      throw ValidationError("The door is named without --door here: its name alone is the argument.")
    }
  }

  /// Asks the app that has the keys.
  func ask<Answer: Decodable>(_ question: AgentQuestion, _ argument: some Encodable, _ type: Answer.Type) throws
    -> Answer
  {
    try Agent(app: app).ask(question, argument, type)
  }

  /// Prints an answer as JSON, or as these lines.
  func show(_ answer: some Encodable, _ lines: [String]) throws {
    Console.say(json ? try Agent.json(answer) : lines.joined(separator: "\n"))
  }
}

/// Passes the owner's command to this machine's agent.
struct UnlockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlock", abstract: "Opens the door, if the agent asks or at any time in range.",
    discussion: """
      The agent is started or woken, and sends the command to the lock. This needs a link: nothing is kept for later. \
      Exits with 0 if the lock reports that its bolt is open, and with 1 otherwise. Who interrupts it \
      takes the word back, unless it has been sent to the lock, and is told which.
      """)
  @OptionGroup var options: DoorOptions

  func run() throws {
    // An app that handles only actions answers with an empty text.
    let text = try SystemControl.reporting {
      try Agent(app: options.app).text(.unlock, DoorQuestion(door: options.door), isWord: true)
    }
    Console.say(options.json ? (text.isEmpty ? "{}" : text) : "The door is unlocked.")
  }
}

struct LockDoorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lock", abstract: "Locks the door.",
    discussion: """
      The agent is started or woken, and sends the command to the lock. This needs a link: nothing is kept for later. \
      Exits with 0 if the lock reports that its bolt is thrown, and with 1 otherwise. Who interrupts it \
      takes the word back, unless it has been sent to the lock, and is told which.
      """)
  @OptionGroup var options: DoorOptions

  func run() throws {
    let answer = try Agent(app: options.app)
      .ask(.lock, DoorQuestion(door: options.door), BoltAnswer.self, isWord: true)
    try options.show(answer, [answer.result == "notNeeded" ? "The door was locked already." : "The door is locked."])
  }
}

struct DoorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "door", abstract: "Shows how the door is: its bolt, its battery, and who moved the bolt last.",
    discussion: "The lock is asked, so this needs a link. Exits with 1 if it does not answer.")
  @OptionGroup var options: DoorOptions

  func run() throws {
    let answer = try options.ask(.door, DoorQuestion(door: options.door), DoorAnswer.self)
    let bolt = answer.bolt == "between" ? "neither locked nor unlocked" : answer.bolt
    var lines = ["\(answer.door): \(bolt), \(answer.position)"]
    lines.append("battery: \(answer.battery.map { "\($0) %" } ?? "not measured")")
    lines.append(
      "last: \(answer.lastMovement.map { "\(RecordText.moment($0.unixSeconds)), \(RecordText.words($0))" } ?? "nothing")"
    )
    lines.append("log: \(answer.records == 1 ? "1 record" : "\(answer.records) records")")
    switch answer.mode {
    case nil, "normal": break
    case "privacy": lines.append("mode: privacy; no phone unlocks it until somebody inside does")
    case "passage": lines.append("mode: passage; it does not lock by itself")
    case "noRemoteLockUnlock": lines.append("mode: no phone locks or unlocks it")
    case let other?: lines.append("mode: \(other)")
    }
    lines += (answer.alarms ?? []).map { "alarm: \(RecordText.alarm($0))" }
    lines += TroubleLines(answer.troubles, answer.troubleTimes).lines().map { "trouble: \($0)" }
    try options.show(answer, lines)
  }
}
