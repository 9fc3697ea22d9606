import AgentQuestions
import ArgumentParser
import ConsoleOutput
import Foundation
import MachinePresentation

struct GuestsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "guests", abstract: "Invites guests to a door, lists them, and revokes them again.",
    discussion: """
      An invitation is a grant that this owner signs: the lock checks it alone, and needs no network. Revoking makes a \
      signed list, which any phone that opens the door can bring to the lock.
      """,
    subcommands: [
      InviteGuestCommand.self, ListGuestsCommand.self, RevokeGuestCommand.self, CarryListCommand.self,
      GuestKeyCommand.self, AcceptInvitationCommand.self, ClockCommand.self,
    ])
}

/// What every command about guests takes.
struct GuestOptions: ParsableArguments {
  @Option(help: "The door's name. It may be left out if the phone has one door.") var door: String?
  @Flag(help: "Print one JSON object, for programs. The manual describes its keys.") var json = false
  @Option(help: "The bundle identifier of the app that has the keys.") var app = Agent.standard

  func ask<Answer: Decodable>(
    _ question: AgentQuestion, _ argument: some Encodable, _ type: Answer.Type
  ) throws -> Answer { try Agent(app: app).ask(question, argument, type) }

  /// Prints an answer as JSON, or as this text.
  func show(_ answer: some Encodable, _ text: String) throws { Console.say(json ? try Agent.json(answer) : text) }
}

struct InviteGuestCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "invite", abstract: "Invites a guest, and prints the invitation.",
    discussion: """
      For the first guest the lock must be within reach: it learns this owner's signing key and the time. Dates are YYYY-MM-DD, with or \
      without HH:MM, in this machine's time zone. Without --phone the invitation contains a key: whoever has it opens the \
      door. Only the invitation is on standard output.
      """)
  @Argument(help: "The guest's name, for the log.") var name: String
  @Option(help: "From when on.") var from: String?
  @Option(help: "Until when; a date without a time counts to its end.") var until: String?
  @Option(help: "On which weekdays: mon-fri, or sat,sun.") var days: String?
  @Option(help: "At which hours of these days: 08:00-17:30.") var hours: String?
  @Option(help: "How often the guest may unlock: 1 to 65535.") var uses: UInt16?
  @Flag(help: "The guest may read the lock's log.") var readLog = false
  @Option(help: ArgumentHelp("What `latchkey guests key` printed on the guest's machine.", valueName: "text"))
  var phone: String?
  @OptionGroup var options: GuestOptions

  func run() throws {
    var question = InviteQuestion(door: options.door, name: name)
    question.from = try from.map { try Self.moment($0, option: "--from", isEnd: false) }
    question.until = try until.map { try Self.moment($0, option: "--until", isEnd: true) }
    question.weekdays = try days.map(Self.weekdays)
    if let hours {
      (question.start, question.end) = try Self.hours(hours)
    }
    question.uses = uses
    question.mayReadLog = readLog ? true : nil
    question.phone = phone
    let warning = Self.fillZone(&question)
    let answer = try options.ask(.invite, question, InviteAnswer.self)
    try options.show(answer, answer.invitation)
    guard Console.failure == nil else {
      // The invitation is secret, so it is not kept anywhere.
      Console.complain(
        "latchkey: The invitation was made, and could not be written. Take it back, and make another: latchkey guests revoke "
          + "\"\(answer.name)\"")
      return
    }
    for warning in [warning, answer.advice] {
      if let warning { Console.complain("latchkey: \(warning)") }
    }
    if !options.json {
      Console.complain(
        answer.isSecret
          ? "Give this to \(answer.name), and to nobody else: it opens the door. There, `latchkey guests accept` asks for it."
          : "Give this to \(answer.name): it is of use on that phone only. There, `latchkey guests accept` asks for it."
      )
    }
  }

  func validate() throws {
    _ = try days.map(Self.weekdays)
    _ = try hours.map(Self.hours)
    _ = try from.map { try Self.moment($0, option: "--from", isEnd: false) }
    _ = try until.map { try Self.moment($0, option: "--until", isEnd: true) }
    if uses == 0 { throw ValidationError("--uses is at least 1.") }
  }

  /// - Parameter isEnd: a date without a time means the day after it.
  private static func moment(_ text: String, option: String, isEnd: Bool) throws -> Int64 {
    let numbers = text.split { "-: T".contains($0) }.map { Int($0) ?? -1 }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .current
    if numbers.count == 3 || numbers.count == 5, !numbers.contains(-1), (1000...9999).contains(numbers[0]) {
      guard (2024...2099).contains(numbers[0]) else {
        throw ValidationError("\(option) is in the years 2024 to 2099, not \(text).")
      }
      var parts = DateComponents(year: numbers[0], month: numbers[1], day: numbers[2])
      if numbers.count == 5 { (parts.hour, parts.minute) = (numbers[3], numbers[4]) }
      if !parts.isValidDate(in: calendar), isSkipped(parts, in: calendar) {
        throw ValidationError(
          "\(option) is at no time, because the clocks go forward then: \(text). Choose an hour before or after.")
      }
      if parts.isValidDate(in: calendar), let date = calendar.date(from: parts) {
        let isWholeDay = numbers.count == 3 && isEnd
        let end = isWholeDay ? calendar.date(byAdding: .day, value: 1, to: date) : date
        return Int64((end ?? date).timeIntervalSince1970)
      }
    }
    throw ValidationError("\(option) is a date like 2026-11-27, or 2026-11-27 18:00, not \(text).")
  }

  /// Whether a time would be right in another place, and is left out here, because the clocks go forward.
  private static func isSkipped(_ parts: DateComponents, in calendar: Calendar) -> Bool {
    guard let utc = TimeZone(identifier: "UTC") else { return false }
    var elsewhere = calendar
    elsewhere.timeZone = utc
    return parts.isValidDate(in: elsewhere)
  }

  private static func weekdays(_ text: String) throws -> UInt8 {
    guard let days = GuestCalendar.weekdays(text) else {
      throw ValidationError("--days are names like mon-fri or sat,sun, not \(text).")
    }
    return days
  }

  private static func hours(_ text: String) throws -> (UInt16, UInt16) {
    guard let hours = GuestCalendar.hours(text) else {
      throw ValidationError(
        "--hours are like 08:00-17:30 or 22:00-06:00, not \(text). For the whole day, leave --hours out.")
    }
    return hours
  }

  /// Fills in the time zone. The lock knows no time zones, so it is told this machine's offset, and the next change of
  /// the offset while the grant counts.
  /// - Returns: what the owner should know about the weekdays and hours.
  private static func fillZone(_ question: inout InviteQuestion) -> String? {
    let now = Date().timeIntervalSince1970
    let zone = InvitationZone(.current, from: Date(timeIntervalSince1970: max(now, Double(question.from ?? 0))))
    question.offset = zone.offset
    question.offsetChange = zone.offsetChange
    question.laterOffset = zone.laterOffset
    guard question.weekdays != nil || question.start != nil else { return nil }
    return zone.warning(until: question.until, clock: .machine, now: now)
  }
}

struct ListGuestsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists whom this phone has invited, and what became of the invitations.")
  @OptionGroup var options: GuestOptions

  func run() throws {
    let answer = try options.ask(.guests, DoorQuestion(door: options.door), GuestsAnswer.self)
    var lines = answer.guests.map(Self.line)
    if lines.isEmpty { lines = ["There are no guests."] }
    switch answer.undelivered {
    case ...0: break
    case 1: lines.append("1 revocation list waits for the lock.")
    default: lines.append("\(answer.undelivered) revocation lists wait for the lock.")
    }
    try options.show(answer, lines.joined(separator: "\n"))
  }

  private static func line(_ guest: GuestAnswer) -> String {
    var parts: [String] = []
    func moment(_ seconds: Int64) -> String {
      LocalClock.machine.minute(Double(seconds), now: Date().timeIntervalSince1970)
    }
    func minute(_ number: UInt16) -> String {
      "\(number / 60 < 10 ? "0" : "")\(number / 60):\(number % 60 < 10 ? "0" : "")\(number % 60)"
    }
    if let from = guest.from { parts.append("from \(moment(from))") }
    if let until = guest.until { parts.append("until \(moment(until))") }
    if guest.weekdays != 0x7F {
      let names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
      parts.append(
        names.enumerated().filter { guest.weekdays >> UInt8($0.offset) & 1 == 1 }.map(\.element).joined(separator: " "))
    }
    if guest.start != 0 || guest.end != 1440 { parts.append("\(minute(guest.start))-\(minute(guest.end))") }
    if guest.uses > 0 { parts.append(guest.uses == 1 ? "once" : "\(guest.uses) times") }
    if parts.isEmpty { parts.append("at any time") }
    return
      "\(guest.name): \(parts.joined(separator: ", "))\(guest.isRevoked ? "; revoked" : guest.isOver ? "; over" : "")"
  }
}

struct RevokeGuestCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke", abstract: "Revokes a guest, or any phone by its key.",
    discussion: """
      Prints the signed list if the lock is not within reach. It is not secret: this phone brings it to the lock when it \
      comes by, and so does any other phone that is given it (`latchkey guests carry`).
      """)
  @Argument(help: "The guest's name.") var name: String?
  @Option(help: "A phone's public key in hexadecimal, as `latchkey log --json` has it.") var key: String?
  @OptionGroup var options: GuestOptions

  func validate() throws {
    if (name == nil) == (key == nil) { throw ValidationError("Name a guest, or give a phone's --key.") }
  }

  func run() throws {
    let question = RevokeQuestion(door: options.door, name: name, key: key)
    let answer = try options.ask(.revoke, question, RevokeAnswer.self)
    try options.show(answer, answer.isDelivered ? "Revoked: the lock knows it." : answer.list)
    if let advice = answer.advice { Console.complain("latchkey: \(advice)") }
    guard !options.json, !answer.isDelivered else { return }
    Console.complain(
      "Revoked, but the lock is not within reach and does not know it yet. Give the list above to anyone whose phone opens "
        + "the door: `latchkey guests carry LIST`.")
  }
}

struct CarryListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "carry", abstract: "Brings an owner's revocation list to the lock, now or when it is within reach.")
  @Argument(help: "What `latchkey guests revoke` printed.") var list: String
  @OptionGroup var options: GuestOptions

  func run() throws {
    let answer = try options.ask(.carry, CarryQuestion(door: options.door, list: list), CarryAnswer.self)
    try options.show(
      answer, answer.isDelivered ? "The lock has the list." : "The list is brought to the lock when it is within reach."
    )
  }
}

struct GuestKeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key", abstract: "Prints the key of this phone for which an owner can invite it.")
  @Flag(
    help: """
      Draw another key, because an owner has revoked this one. Invitations for this one that wait are of no use then.
      """
  )
  var new = false
  @OptionGroup var options: GuestOptions

  func run() throws {
    let answer = try options.ask(
      .guestKey, GuestKeyQuestion(door: options.door, isNew: new ? true : nil), GuestKeyAnswer.self)
    try options.show(answer, answer.text)
  }
}

struct AcceptInvitationCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "accept", abstract: "Accepts an invitation: this phone opens the owner's door.",
    discussion: "Reads the invitation from standard input, because it may be secret.")
  @Option(name: .customLong("as"), help: ArgumentHelp("What the door is called here.", valueName: "name"))
  var doorName: String
  @OptionGroup var options: GuestOptions
  @Argument(help: .hidden) var further: [String] = []

  func validate() throws {
    guard further.isEmpty else {
      throw ValidationError(
        "The invitation is no argument, because other users see those: paste it when asked, or write it to standard input."
      )
    }
    guard options.door == nil else {
      throw ValidationError("The door is named by --as, and not by --door: latchkey guests accept --as \(doorName).")
    }
  }

  func run() throws {
    if isatty(STDIN_FILENO) == 1 { Console.complain("The invitation: ", terminator: "") }
    guard let text = readLine(), !text.allSatisfy(\.isWhitespace), text.utf8.count < 4000 else {
      throw ValidationError("There is no invitation on standard input.")
    }
    let answer = try options.ask(.accept, AcceptQuestion(invitation: text, name: doorName), AcceptAnswer.self)
    try options.show(answer, "The door is called \(answer.door) here: latchkey unlock \(answer.door)")
  }
}
