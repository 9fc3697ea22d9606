import AgentQuestions
import ArgumentParser
import ConsoleOutput
import Foundation
import MachinePresentation

struct LogCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Shows the lock's log: every movement of the bolt, when, why and by whom.",
    discussion: """
      The lock is asked, so this needs a link. The records are followed along their hash chain from the end that this \
      phone saw last. Exits with 1 if the lock does not answer, or if records that this phone saw are missing or were \
      changed; what was found is on standard error, until it is accepted.
      """)
  @OptionGroup var options: DoorOptions
  @Option(help: "How many of the newest records, 1 to 128; 20 by default.") var last: Int?
  @Flag(help: "All records that the lock still has.") var all = false
  @Flag(help: "Forgets what was found to be wrong with the log, after showing it.") var accept = false

  func validate() throws {
    guard let last else { return }
    guard !all else { throw ValidationError("--all and --last \(last) can't both be meant: give one of them.") }
    guard (1...LogQuestion.maximumCount).contains(last) else {
      throw ValidationError("--last is from 1 to \(LogQuestion.maximumCount), not \(last). For more, --all.")
    }
  }

  func run() throws {
    var question = LogQuestion(door: options.door)
    if all { question.from = 1 } else { question.last = last ?? 20 }
    question.isAccepted = accept ? true : nil
    var answer = try options.ask(.log, question, LogAnswer.self)
    var whole = answer
    var reached: UInt64 = 0
    // After a long time, the phone must first read all that it has not seen, some thousand records with each question.
    while answer.records.isEmpty, answer.end.index < answer.last, answer.end.index > reached {
      reached = answer.end.index
      Console.complain("latchkey: reading what is new: record \(reached) of \(answer.last)")
      answer = try options.ask(.log, question, LogAnswer.self)
      let earlier = whole
      whole = answer
      whole.keepTroubles(of: earlier)
    }
    while true {
      if !options.json, !answer.records.isEmpty {
        Console.say(answer.records.map(RecordText.line).joined(separator: "\n"))
      }
      guard all, answer.end.index < answer.last, !answer.records.isEmpty else { break }
      answer = try options.ask(.log, LogQuestion(door: options.door, after: answer.end), LogAnswer.self)
      whole.records += answer.records
      (whole.last, whole.end) = (answer.last, answer.end)
      let earlier = whole
      (whole.troubles, whole.troubleTimes) = (answer.troubles, answer.troubleTimes)
      whole.keepTroubles(of: earlier)
    }
    if options.json {
      Console.say(try Agent.json(whole))
    } else if whole.records.isEmpty {
      Console.say("There are no records.")
    }
    for trouble in TroubleLines(whole.troubles, whole.troubleTimes).lines() { Console.complain("latchkey: \(trouble)") }
    if !whole.troubles.isEmpty, !accept { throw ExitCode(1) }
  }
}

/// A record of a lock's log in words.
enum RecordText {
  static func line(_ record: RecordAnswer) -> String {
    let number = "#\(record.index)"
    return
      "\(number)\(String(repeating: " ", count: max(1, 7 - number.count)))\(moment(record.unixSeconds))  \(words(record))"
  }

  static func words(_ record: RecordAnswer) -> String {
    let verb = record.bolt == "locked" ? "lock" : "unlock"
    let why =
      switch record.cause {
      case "phone": "by \(record.by ?? "a phone")"
      case "leaving": "because its owner has left"
      case "relock": "by itself"
      case "hand": "by hand"
      case "unexplained": "for no reason that the lock knows"
      case let other: other
      }
    switch (record.kind, record.result) {
    case ("unknown", _): return "something that this phone can't read: the lock has a newer firmware"
    case ("access", _): return access(record)
    case ("alarm", _): return "alarm: \(alarm(record.cause))"
    case ("alarmCleared", _): return "no more: \(alarm(record.cause))"
    case ("mode", _): return "the mode was set to \(record.cause)"
    case ("movement", _) where record.cause == "hand": return "\(record.bolt) \(why)"
    case ("movement", _): return "begins to \(verb), \(why)"
    case ("outcome", "done"): return "\(record.bolt), \(why)"
    case ("outcome", "doorOpen"): return "did not \(verb), \(why): the door was open"
    case ("outcome", "revoked"):
      return "did not \(verb), \(why): refused, its phone was revoked or forgotten just then"
    case ("outcome", _): return "did not \(verb), \(why): the bolt stopped on its way"
    case (_, "notNeeded"): return "asked to \(verb), \(why): it was \(record.bolt) already"
    case (_, "doorOpen"): return "asked to \(verb), \(why): the door was open"
    case (_, "busy"): return "asked to \(verb), \(why), while the bolt was moving"
    case (_, "lockedAtHome"): return "asked to \(verb), \(why): refused, because nothing showed that the phone had left"
    case (_, "insufficientBattery"): return "asked to \(verb), \(why): the battery was too low"
    case (_, "somebodyInside"): return "asked to \(verb), \(why): refused, because somebody inside had locked"
    case (_, "restricted"): return "asked to \(verb), \(why): refused by the lock's mode"
    case (_, "outsideSchedule"): return "asked to \(verb), \(why): refused, not at this time"
    case (_, "expired"): return "asked to \(verb), \(why): refused, the invitation is over"
    case (_, "revoked"): return "asked to \(verb), \(why): refused, the invitation was revoked"
    case (_, "usedUp"): return "asked to \(verb), \(why): refused, the invitation is used up"
    case (_, "clockUnknown"): return "asked to \(verb), \(why): refused, the lock does not know the time"
    case (_, "notPermitted"): return "asked to \(verb), \(why): refused, the invitation does not allow it"
    case (_, "tooManyGrants"):
      return "asked to \(verb), \(why): refused, the lock can't count the uses of more invitations"
    case (_, "tooManyGuests"):
      return "asked to \(verb), \(why): refused, as many guests were there as the lock has room for"
    case (_, let result): return "asked to \(verb), \(why): \(result)"
    }
  }

  /// What a lock raises the alarm about, in a person's words.
  static func alarm(_ name: String) -> String {
    switch name {
    case "lockJammed": "the bolt is jammed"
    case "lockFactoryReset": "the lock was reset, and has forgotten its phones"
    case "wrongCodeEntryLimit": "strangers have tried too often"
    case "frontEscutcheonRemoved": "the lock's cover is off"
    case "doorForcedOpen": "the door was forced open"
    case "doorAjar": "the door stands open"
    case "mechanismFailed": "nothing is known of the bolt"
    case "batteryCritical": "the battery is nearly empty"
    case "batteryEmpty": "the battery is empty"
    default: name
    }
  }

  private static func access(_ record: RecordAnswer) -> String {
    let who = record.by ?? "somebody"
    switch record.cause {
    case "ownerIntroduced": return "\(who) may invite guests, and revoke"
    case "listAccepted": return "a new revocation list, brought by \(who)"
    case "phoneEnrolled": return "\(who) was enrolled with the lock's code"
    case "clockSet": return "the clock was set\(record.clock.map { " to \(moment($0))" } ?? "") by \(who)"
    case let other: return "\(other), by \(who)"
    }
  }

  /// In this machine's time zone.
  static func moment(_ unixSeconds: Int64) -> String {
    LocalClock.machine.second(Double(unixSeconds), now: Date().timeIntervalSince1970)
  }
}
