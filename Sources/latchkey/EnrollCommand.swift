import AgentQuestions
import ArgumentParser
import ConsoleOutput
import Foundation
import LockCryptography
import LockProtocol

struct EnrollCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "enroll",
    abstract: "Enrols this phone at a lock, as an owner's, by the code that is printed on the lock.",
    discussion: """
      The lock must be within reach, and somebody must press its button: from then on it enrols one phone, for two minutes. \
      Reads the code from standard input: other users see the arguments of a program that runs.
      """)
  @Option(name: .customLong("as"), help: ArgumentHelp("What the door is called here.", valueName: "name"))
  var doorName: String?
  @Option(help: "For how many seconds to wait for the lock and its button.") var wait: UInt16 = 120
  @Flag(help: "Print one JSON object, for programs. The manual describes its keys.") var json = false
  @Option(help: "The bundle identifier of the app that has the keys.") var app = Agent.standard
  @Argument(help: .hidden) var further: [String] = []

  func validate() throws {
    guard further.isEmpty else {
      throw ValidationError(
        "The code is no argument, because other users see those: type it when asked, or write it to standard input.")
    }
    guard wait <= 3600 else { throw ValidationError("--wait is from 0 to 3600 seconds, not \(wait).") }
  }

  func run() throws {
    let code = try Enrolling.read(Enrolling.askForCode())
    let answer = try Enrolling(app: app, wait: .seconds(Int64(wait))).enroll(code, as: doorName)
    Console.say(json ? try Agent.json(answer) : Enrolling.words(answer))
    if !json { for namesake in answer.namesakes ?? [] { Console.complain(Enrolling.words(namesake, of: answer)) } }
  }
}

/// Asks the agent to enrol this phone, until somebody has pressed the lock's button.
struct Enrolling {
  var app = Agent.standard
  var wait: Duration = .seconds(120)

  /// - Throws: `ValidationError` if the text is not a code.
  static func read(_ text: String) throws -> EnrolmentCode {
    do throws(EnrolmentCodeError) { return try EnrolmentCode(text) } catch { throw ValidationError("\(error).") }
  }

  static func askForCode() throws -> String {
    if isatty(STDIN_FILENO) == 1 { Console.complain("The code on the lock: ", terminator: "") }
    guard let text = readLine(), !text.allSatisfy(\.isWhitespace), text.utf8.count < 200 else {
      throw ValidationError("There is no code on standard input.")
    }
    return text
  }

  static func words(_ answer: EnrollAnswer) -> String {
    let door = answer.door ?? ""
    let lock = answer.lock.map { $0 == door || $0.isEmpty ? "" : ", which calls itself \($0)" } ?? ""
    return "Enrolled: this phone opens \(door)\(lock). latchkey unlock \(door)"
  }

  static func words(_ namesake: OwnerAnswer, of answer: EnrollAnswer) -> String {
    "Another owner's phone is called \(namesake.name), too. If it is this one before it was set up anew, take its key back: latchkey guests "
      + "revoke --key \(namesake.key)\(answer.door.map { " --door \($0)" } ?? "")"
  }

  func enroll(_ code: EnrolmentCode, as name: String?) throws -> EnrollAnswer {
    let end = ContinuousClock.now + wait
    var toldOutcome = ""
    while true {
      let answer = try Agent(app: app).ask(
        .enroll, EnrollQuestion(code: code.words, name: name), EnrollAnswer.self)
      if answer.outcome == "enrolled" { return answer }
      guard ContinuousClock.now < end, answer.outcome != "lockedOut" else {
        Console.complain("latchkey: \(Self.problem(answer.outcome))")
        throw ExitCode(1)
      }
      if toldOutcome != answer.outcome { Console.complain(Self.problem(answer.outcome) + " Waiting for it.") }
      toldOutcome = answer.outcome
    }
  }

  private static func problem(_ outcome: String) -> String {
    switch outcome {
    case "closed": "The lock enrols nobody now: press its button for enrolments."
    case "lockedOut": "The lock was tried with wrong codes too often, and enrols nobody for five minutes."
    default: "No lock is within reach: come nearer, and check that it has power."
    }
  }
}

struct OwnersCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "owners", abstract: "Lists the owners' phones of a door.",
    discussion: "The lock is asked, so this needs a link. `latchkey guests revoke --key` revokes a phone that was lost."
  )
  @OptionGroup var options: DoorOptions

  func run() throws {
    let answer = try options.ask(.owners, DoorQuestion(door: options.door), OwnersAnswer.self)
    let lines = answer.owners.map { owner in
      "\(owner.name.isEmpty ? "without a name" : owner.name)\(owner.isThisPhone ? " (this phone)" : ""): key \(owner.key)"
    }
    try options.show(answer, lines)
  }
}
