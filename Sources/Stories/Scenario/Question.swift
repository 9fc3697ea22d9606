import Worlds

/// What a person asks their phone's agent with the `latchkey` command, and the answer that the story expects.
package struct Question: Sendable, Equatable {
  package enum Matter: Sendable, Equatable {
    case unlock
    case lock
    case door
    case log
    case room
    case invite(GuestTerms)
    case guests
    /// Sets the lock's clock to the phone's.
    case clock
    /// Accepts the invitation that was made for this guest, and gives the door this name on the guest's phone.
    case accept(guest: String, door: String)
    case revoke(Revoked)
    /// Carries the revocation list that an earlier step made for this guest or phone to the lock.
    case carry(Revoked)
  }

  /// Whom an owner revokes.
  package enum Revoked: Sendable, Hashable {
    case guest(String)
    /// The phone of a machine, by its key.
    case phone(machine: String)

    package var name: String {
      switch self {
      case .guest(let name), .phone(let name): name
      }
    }
  }

  package enum Outcome: String, Sendable, CaseIterable {
    /// The command does what it is for, and ends with 0.
    case done
    /// The lock or the agent refuses, and the command says why.
    case refused
  }

  package var matter: Matter
  /// The door, if the story has several.
  package var door: String?
  package var expects = Outcome.done
  /// What the answer contains, among other things.
  package var saying: [String] = []
  /// How long the answer may take, in the world's time.
  package var limit = Duration.seconds(60)

  package init(_ matter: Matter, door: String? = nil) {
    self.matter = matter
    self.door = door
  }

  static func day(_ number: Double) -> String { number == number.rounded() ? "\(Int(number))" : "\(number)" }

  var isInvitation: Bool { if case .invite = matter { true } else { false } }

  /// The command's own words, without its arguments, for records: `guests invite`.
  package var command: String {
    switch matter {
    case .unlock: "unlock"
    case .lock: "lock"
    case .door: "door"
    case .log: "log"
    case .room: "room"
    case .invite: "guests invite"
    case .guests: "guests list"
    case .clock: "guests clock"
    case .accept: "guests accept"
    case .revoke: "guests revoke"
    case .carry: "guests carry"
    }
  }

  /// What a person does, for people.
  package func summary(on machine: String) -> String {
    let name = door.map { " '\($0)'" } ?? ""
    return switch matter {
    case .unlock: "\(machine)'s owner says that the door\(name) is to open"
    case .lock: "\(machine)'s owner says that the door\(name) is to lock"
    case .door: "\(machine)'s owner looks at the door\(name) on the phone"
    case .log: "\(machine)'s owner reads the \(door.map { "log of '\($0)'" } ?? "lock's log")"
    case .room: "\(machine)'s owner measures the room\(door.map { " for '\($0)'" } ?? "")"
    case .invite(let terms):
      "\(machine)'s owner invites \(terms.guest)\(door.map { " to '\($0)'" } ?? "")\(terms.words)"
    case .guests: "\(machine)'s owner looks whom they have invited\(door.map { " to '\($0)'" } ?? "")"
    case .clock: "\(machine)'s owner sets the \(door.map { "clock of '\($0)'" } ?? "lock's clock") to the phone's"
    case .accept(let guest, _):
      "\(machine)'s owner accepts the invitation for \(guest)\(door.map { " to '\($0)'" } ?? "")"
    case .revoke(.guest(let guest)): "\(machine)'s owner revokes \(guest)\(door.map { " at '\($0)'" } ?? "")"
    case .revoke(.phone(let phone)):
      "\(machine)'s owner revokes the phone \(phone)\(door.map { " at '\($0)'" } ?? "")"
    case .carry(let revoked):
      "\(machine)'s owner gets the list that revokes \(revoked.name), for \(door.map { "'\($0)'" } ?? "the lock")"
    }
  }
}

/// The terms of an invitation in a story.
package struct GuestTerms: Sendable, Equatable {
  package var guest: String
  /// In days of the chapter, scaled by `--days`.
  package var from: Double?
  package var until: Double?
  /// In the command's form: `sat,sun`, `10:00-18:00`. They are in UTC, and are not scaled.
  package var weekdays: String?
  package var hours: String?
  package var uses: Int?
  package var mayReadLog = false

  /// Whether a term is of the calendar, so that the story's days can't be scaled.
  var hasCalendar: Bool { weekdays != nil || hours != nil }

  var words: String {
    var parts: [String] = []
    if let from { parts.append("from day \(Question.day(from))") }
    if let until { parts.append("until day \(Question.day(until))") }
    if let weekdays { parts.append(weekdays) }
    if let hours { parts.append(hours) }
    if let uses { parts.append("to open \(count(uses, "time"))") }
    return parts.isEmpty ? "" : ", " + parts.joined(separator: ", ")
  }
}
