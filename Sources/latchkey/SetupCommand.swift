import ArgumentParser
import ConsoleOutput
import Foundation
import LockCryptography
import LockProtocol
import MachineSetup

struct SetupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "setup", abstract: "Sets this machine up as a lock, or as a phone that opens one; or takes that back.",
    discussion: """
      Creates the keys, turns Bluetooth on, and starts the units now and after every boot. The lock's setup shows the code \
      that is to be printed on the lock; the phone's setup asks for it on a terminal, and enrols the phone while the lock's \
      window is open (`latchkey enroll`). What was set up before stays as it is.

      For scripts, keys can be exchanged as texts instead, in this order: `setup phone`, `setup lock --phone TEXT`, `setup \
      phone --lock TEXT`. Only this side's text is on standard output, and everything else is on standard error. Neither text \
      is secret.
      """,
    subcommands: [
      SetupLockCommand.self, SetupPhoneCommand.self, SetupCodeCommand.self, SetupUndoCommand.self,
    ])
}

struct SetupLockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lock", abstract: "Sets this machine up as a lock.")

  @Option(help: ArgumentHelp("The text of a phone for which the lock opens.", valueName: "text"))
  var phone: String?

  @Flag(inversion: .prefixedNo, help: ArgumentHelp(RadioSettingsQuestion.help))
  var radioSettings: Bool?

  func run() throws {
    let phone = try phone.map { text in
      try Dialogue.read { () throws(IntroductionError) in try PhoneIntroduction(text) }
    }
    let radio = RadioSettingsQuestion(RadioSettings(.lock), isWanted: radioSettings).answer
    let outcome = try Dialogue.perform(.lock(phone: phone), radio: radio)
    // The text is printed only for programs. A person at a terminal enrols phones by the code.
    if !Dialogue.isPossible { Console.say(outcome.introduction) }
    if let code = outcome.code { Dialogue.show(code) }
    Dialogue.say(
      "To enrol a phone: press the lock's button, and run `latchkey enroll` on the phone within two minutes.")
  }
}

struct SetupPhoneCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "phone", abstract: "Sets this machine up as a phone that opens a lock.")

  @Option(help: ArgumentHelp("The lock's text: the phone is to open it.", valueName: "text"))
  var lock: String?

  @Flag(
    inversion: .prefixedNo,
    help: "Whether bluetoothd listens all the time for the lock, instead of half of it: faster, at twice the energy.")
  var scanAlways: Bool?

  func run() throws {
    let lock = try lock.map { text in try Dialogue.read { () throws(IntroductionError) in try LockIntroduction(text) } }
    let radio = scanAlways.map { RadioSettings(.phone, scansAlways: $0) }
    let outcome = try Dialogue.perform(.phone(lock: lock), radio: radio)
    if !Dialogue.isPossible { Console.say(outcome.introduction) }
    if outcome.isComplete {
      return Dialogue.say("Done. The agent meets the lock when it is in range: `latchkey status`.")
    }
    if Dialogue.isPossible, let code = try Dialogue.askForCode() {
      Dialogue.say("Now press the lock's button.")
      let answer = try Enrolling().enroll(code, as: nil)
      Dialogue.say(Enrolling.words(answer))
      for namesake in answer.namesakes ?? [] { Dialogue.say(Enrolling.words(namesake, of: answer)) }
      return
    }
    Dialogue.say("The phone has no lock yet: press the lock's button, and run `latchkey enroll` here.")
  }
}

struct SetupCodeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "code", abstract: "Shows the code by which phones are enrolled at this lock.",
    discussion: """
      The code is on standard output; on a terminal with a QR code, if qrencode is installed. Keep it as a key: with it, and \
      with a press of the lock's button, anybody enrols a phone.
      """)

  @Option(help: ArgumentHelp("The lock's folder of keys.", valueName: "folder"))
  var lock = SetupRole.lock.keyFolder

  func run() throws {
    let code: EnrolmentCode
    do {
      guard let found = try LockKeys.read(fromDirectory: lock).code else {
        Dialogue.say("latchkey: the lock has no code yet; run `latchkey setup lock` once more.")
        throw ExitCode(1)
      }
      code = found
    } catch let error as KeyFileError {
      Dialogue.say("latchkey: \(error)")
      throw ExitCode(1)
    }
    Console.say(code.words)
    if Dialogue.isPossible, let picture = CodePicture.lines(code) { Dialogue.say(picture) }
  }
}

struct SetupUndoCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "undo", abstract: "Takes a setup of this machine back.",
    discussion: """
      Ends latchkeyd and its apps, and keeps latchkeyd from running at boot. The keys stay, unless --forget-keys is \
      given; what a setup wrote into bluetoothd's settings is taken out. Says what it did and what stays. Repeating it does no harm.
      """)

  @Flag(
    help:
      "Also removes the keys, whom the lock has enrolled, what the agent knows of its locks, and its guests. Asks first."
  )
  var forgetKeys = false

  @Flag(help: "Removes the keys without asking.")
  var yes = false

  func validate() throws {
    if forgetKeys, !yes, !Dialogue.isPossible {
      throw ValidationError("--forget-keys asks on a terminal, and there is none: add --yes if you are sure.")
    }
  }

  func run() throws {
    let facts = MachineUndo.facts()
    do {
      let plan = try UndoPlan(forgetsKeys: forgetKeys, facts)
      guard !plan.isEmpty else { return Dialogue.say("Nothing is set up on this machine.") }
      if forgetKeys, !yes, !facts.keyFiles.isEmpty, !confirms(facts.keyFiles) {
        Dialogue.say("Nothing was changed.")
        throw ExitCode(1)
      }
      try MachineUndo(progress: Dialogue.say).run(plan)
      for sentence in plan.remains { Dialogue.say(sentence) }
    } catch let problem as SetupProblem {
      Dialogue.say("latchkey: \(problem)")
      throw ExitCode(1)
    }
  }

  private func confirms(_ files: [String]) -> Bool {
    Dialogue.say("This removes for good: \(files.joined(separator: ", ")).")
    Dialogue.say("Without these keys the phone does not open the door any more, until both sides are set up again.")
    return Dialogue.ask("Type yes to remove them: ")?.trimmingCharacters(in: .whitespaces) == "yes"
  }
}

/// Whether bluetoothd's settings are to be changed, and how: shown before it is done.
private struct RadioSettingsQuestion {
  static let help = "Whether \(RadioSettings.path) gets the settings of a fast arrival. Without it, asks on a terminal."

  let answer: RadioSettings?

  init(_ settings: RadioSettings, isWanted: Bool?) {
    if isWanted == false {
      answer = nil
      return
    }
    if isWanted == nil {
      guard Dialogue.isPossible, !RadioSettings.isWritten(settings) else {
        answer = nil
        return
      }
      Dialogue.say("A phone that comes home is heard and served faster with these lines in \(RadioSettings.path):")
      for line in settings.block.split(separator: "\n") { Dialogue.say("    \(line)") }
      Dialogue.say("bluetoothd restarts with them, which ends every link of this machine for a moment.")
      guard let text = Dialogue.ask("Type yes to add them, or return alone to leave the file as it is: "),
        text.trimmingCharacters(in: .whitespaces) == "yes"
      else {
        answer = nil
        return
      }
    }
    answer = settings
  }
}

/// What the setups print and ask.
private enum Dialogue {
  static var isPossible: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

  static func perform(_ request: SetupRequest, radio: RadioSettings? = nil) throws -> SetupOutcome {
    do { return try MachineSetup(request, radio: radio, progress: say).run() } catch { throw failure(error) }
  }

  /// Reads an introduction, from an argument or an answer.
  static func read<Value>(_ read: () throws(IntroductionError) -> Value) throws -> Value {
    do { return try read() } catch { throw ValidationError("\(error)") }
  }

  /// The lock's code, for the label on it.
  static func show(_ code: EnrolmentCode) {
    if let picture = isPossible ? CodePicture.lines(code) : nil { say(picture) }
    say("The code of this lock: \(code.words)")
    say("Put it on the lock's inside. `latchkey setup code` shows it again.")
  }

  /// Asks for the lock's code. `nil` if the person wants to do that later.
  static func askForCode() throws -> EnrolmentCode? {
    while let text = ask("The code on the lock, or return alone to do that later with `latchkey enroll`: ") {
      do throws(EnrolmentCodeError) { return try EnrolmentCode(text) } catch { say("\(error).") }
    }
    return nil
  }

  static func ask(_ question: String) -> String? {
    Console.complain(question, terminator: "")
    guard let line = readLine(), !line.allSatisfy(\.isWhitespace) else { return nil }
    return line
  }

  static func say(_ line: String) { Console.complain(line) }

  private static func failure(_ error: any Error) -> ExitCode {
    say("latchkey: \(Complaint.words(for: error))")
    return ExitCode(1)
  }
}
