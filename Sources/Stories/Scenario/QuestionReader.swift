import AgentQuestions
import LockCryptography
import Worlds

/// Reads steps that ask an agent something. A step may refer only to what an earlier step has made.
extension StepReader {
  static let questionKinds: [Kind] = [
    Kind(name: "unlock") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.asker([])
      // Without an expectation, the story goes on at once.
      guard ["expect", "saying", "within"].contains(where: reader.has) else {
        return .unlock(machine: machine, door: try step.door(reader))
      }
      return try step.ask(.unlock, reader, machine)
    },
    Kind(name: "lock") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.asker([])
      return try step.ask(.lock, reader, machine)
    },
    Kind(name: "look at door") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.asker([])
      return try step.ask(.door, reader, machine)
    },
    Kind(name: "read log") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.asker([])
      return try step.ask(.log, reader, machine)
    },
    Kind(name: "measure room") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.asker([])
      return try step.ask(.room, reader, machine)
    },
    Kind(name: "invite guest") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.asker(["guest", "from", "until", "weekdays", "hours", "uses", "may read log"])
      return try step.ask(.invite(try step.terms(reader)), reader, machine)
    },
    Kind(name: "list guests") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.asker([])
      return try step.ask(.guests, reader, machine)
    },
    Kind(name: "set lock clock") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.asker([])
      return try step.ask(.clock, reader, machine)
    },
    Kind(name: "accept invitation") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.asker(["guest", "as"])
      let guest = try reader.text("guest")
      try step.check(invited: guest, reader)
      let door = try step.doorOfInvitation(reader, for: guest)
      let name = try step.doorName(reader, at: door)
      return try step.ask(.accept(guest: guest, door: name), at: door, reader, machine)
    },
    Kind(name: "revoke") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.asker(["guest", "phone"])
      let revoked = try step.revoked(reader)
      let door = try step.door(reader)
      switch revoked {
      case .guest(let name):
        try step.check(invited: name, reader)
        let doors = step.made.doors(ofGuest: name)
        guard doors.contains(door) else {
          throw reader.error(
            "no earlier step invites '\(name)' to '\(door ?? "the door")'", at: "door", choices: doors.compactMap { $0 }
          )
        }
      case .phone(let name):
        let holders = step.machines.filter { step.hasKey($0, of: door) }.map(\.name)
        guard holders.contains(name) else {
          throw reader.error(
            "by then, the phone '\(name)' has no key of \(door.map { "'\($0)'" } ?? "the door") that could be revoked",
            at: "phone", choices: holders)
        }
      }
      return try step.ask(.revoke(revoked), at: door, reader, machine)
    },
    Kind(name: "carry list") { (step) throws(ScenarioError) in
      let (reader, machine) = try step.asker(["guest", "phone"])
      let revoked = try step.revoked(reader)
      let door = try step.door(reader)
      let doors = step.made.revoked.filter { $0.whom == revoked }.map(\.door)
      guard !doors.isEmpty else {
        throw reader.error(
          "no earlier step revokes '\(revoked.name)'", at: reader.has("guest") ? "guest" : "phone",
          choices: Set(step.made.revoked.map(\.whom.name)).sorted())
      }
      guard doors.contains(door) else {
        throw reader.error(
          "no earlier step revokes '\(revoked.name)' at '\(door ?? "the door")', and a list is for one lock",
          at: "door",
          choices: doors.compactMap { $0 }.sorted())
      }
      return try step.ask(.carry(revoked), at: door, reader, machine)
    },
    Kind(name: "provision") { (step) throws(ScenarioError) in
      let (reader, name) = try step.machine(["door"])
      guard let first = step.doors.first else {
        throw reader.error("no machine has a lock to which '\(name)' could be introduced", at: "machine")
      }
      let door = try step.door(reader) ?? first
      func waits(_ machine: MachineDescription) -> Bool {
        machine.apps.contains(.agent) && !(machine.isEnrolled && machine.mayKnow(door))
      }
      guard let machine = step.machines.first(where: { $0.name == name }), waits(machine) else {
        throw reader.error(
          "machine '\(name)' has no agent that waits for its keys; that takes `enrolled: no`"
            + (step.doors.count > 1 ? ", or a list without '\(door)'" : ""), at: "machine",
          choices: step.machines.filter(waits).map(\.name))
      }
      return .provision(machine: name, door: door)
    },
  ]

  private var doors: [String] { machines.filter { $0.apps.contains(.lock) }.map(\.name) }

  /// The door that a step is about, if the story has several.
  private func door(_ reader: MappingReader) throws(ScenarioError) -> String? {
    guard let name = try reader.optionalText("door") else {
      guard doors.count < 2 else {
        throw reader.error(
          "the story has several locks, and step '\(kind)' does not say at which `door`", choices: doors)
      }
      return nil
    }
    guard doors.contains(name) else {
      throw reader.error("machine '\(name)' has no lock", at: "door", choices: doors)
    }
    return doors.count > 1 ? name : nil
  }

  /// Whether a machine's phone is enrolled or invited by the time of this step.
  private func hasKey(_ machine: MachineDescription, of door: String?) -> Bool {
    guard machine.apps.contains(.agent) else { return false }
    if machine.isEnrolled, door.map(machine.mayKnow) ?? true { return true }
    return made.keys.contains { $0.machine == machine.name && ($0.door == nil || door == nil || $0.door == door) }
  }

  private func check(invited guest: String, _ reader: MappingReader) throws(ScenarioError) {
    guard made.doors(ofGuest: guest).isEmpty else { return }
    throw reader.error(
      "no earlier step invites a guest '\(guest)'", at: "guest", choices: Set(made.invited.map(\.guest)).sorted())
  }

  /// The machine whose person asks, which must have an agent.
  private func asker(_ further: [String]) throws(ScenarioError) -> (reader: MappingReader, machine: String) {
    let (reader, name) = try machine(["expect", "saying", "within", "door"] + further)
    let phones = machines.filter { $0.apps.contains(.agent) }.map(\.name)
    guard phones.contains(name) else {
      throw outer.error(
        "step '\(kind)' names the phone that is asked, and machine '\(name)' has no agent", at: kind, choices: phones)
    }
    return (reader, name)
  }

  private func ask(
    _ matter: Question.Matter, _ reader: MappingReader, _ machine: String
  ) throws(ScenarioError) -> Action {
    try ask(matter, at: try door(reader), reader, machine)
  }

  private func ask(
    _ matter: Question.Matter, at door: String?, _ reader: MappingReader, _ machine: String
  ) throws(ScenarioError) -> Action {
    var question = Question(matter, door: door)
    if reader.has("expect") { question.expects = try reader.choice("expect", Question.Outcome.self) }
    if reader.has("within") { question.limit = try reader.duration("within") }
    if let node = reader.node("saying") {
      let texts = node.sequence.map(Array.init) ?? [node]
      guard !texts.isEmpty else {
        throw reader.error("'saying' of \(reader.subject) lists no text of the answer", at: "saying")
      }
      for text in texts {
        guard let text = text.scalar?.string, !text.isEmpty, text.utf8.count <= 1000 else {
          throw reader.error("'saying' of \(reader.subject) is a text of the answer, or a list of texts", at: "saying")
        }
        // An answer may have several lines, and so may a text that spans them.
        for line in text.split(whereSeparator: \.isNewline) {
          guard let problem = MappingReader.unprintable(in: String(line)) else { continue }
          throw reader.error("a text in 'saying' of \(reader.subject) \(problem)", at: "saying")
        }
        question.saying.append(text)
      }
    }
    return .ask(machine: machine, question)
  }

  private func terms(_ reader: MappingReader) throws(ScenarioError) -> GuestTerms {
    var terms = GuestTerms(guest: try reader.text("guest"))
    guard terms.guest.utf8.count <= 32, !terms.guest.hasPrefix("-"), PlainText.isPlain(terms.guest) else {
      throw reader.error(
        "a guest's name has at most 32 bytes that can all be seen, and does not begin with '-'", at: "guest")
    }
    if reader.has("from") { terms.from = try reader.number("from", in: 0...36500) }
    if reader.has("until") { terms.until = try reader.number("until", in: 0...36500) }
    if let from = terms.from, let until = terms.until, until <= from {
      throw reader.error("'until' of \(reader.subject) is not after its 'from'", at: "until")
    }
    terms.weekdays = try calendar("weekdays", GuestCalendar.weekdayExamples, reader) {
      GuestCalendar.weekdays($0) != nil
    }
    terms.hours = try calendar("hours", GuestCalendar.hourExamples, reader) { GuestCalendar.hours($0) != nil }
    if reader.has("uses") { terms.uses = try reader.wholeNumber("uses", in: 1...65535) }
    if reader.has("may read log") {
      terms.mayReadLog = try reader.flag("may read log", whenTrue: "yes", whenFalse: "no")
    }
    return terms
  }

  private func calendar(
    _ key: String, _ examples: [String], _ reader: MappingReader, _ isValid: (String) -> Bool
  ) throws(ScenarioError) -> String? {
    guard reader.has(key) else { return nil }
    let text = try reader.text(key, examples)
    guard isValid(text) else {
      throw reader.error("'\(key)' of \(reader.subject) can't be '\(text)'", at: key, choices: examples)
    }
    return text
  }

  /// The door of an invitation, if the story has several. The step names it only if the guest was invited to more than one.
  private func doorOfInvitation(_ reader: MappingReader, for guest: String) throws(ScenarioError) -> String? {
    let invited = made.doors(ofGuest: guest)
    guard doors.count > 1, !reader.has("door") else {
      let named = doors.count > 1 || reader.has("door") ? try door(reader) : nil
      guard invited.contains(named) else {
        throw reader.error(
          "no earlier step invites '\(guest)' to '\(named ?? "the door")'", at: "door",
          choices: invited.compactMap { $0 })
      }
      return named
    }
    guard let only = invited.first, invited.count == 1 else {
      throw reader.error(
        "'\(guest)' was invited to several doors, and step '\(kind)' does not say to which `door`",
        choices: invited.compactMap { $0 })
    }
    return only
  }

  /// What the door is called on a guest's phone.
  private func doorName(_ reader: MappingReader, at door: String?) throws(ScenarioError) -> String {
    // In a story with several locks, the guest's phone must call the door by its machine's name, because promises go by
    // the names in its records.
    if doors.count > 1, reader.has("as") {
      throw reader.error(
        "in a story with several locks, a door is called by its machine's name; leave out 'as'", at: "as")
    }
    if let door { return door }
    guard let name = try reader.optionalText("as") else { return "home" }
    guard DoorKeys.isName(name), name != DoorKeys.ownName else {
      throw reader.error(
        "'as' of \(reader.subject) has 1 to 32 small letters, digits, - and _, and is not '\(DoorKeys.ownName)'",
        at: "as",
        choices: ["home", "alices"])
    }
    return name
  }

  private func revoked(_ reader: MappingReader) throws(ScenarioError) -> Question.Revoked {
    switch (try reader.optionalText("guest"), try reader.optionalText("phone")) {
    case (let guest?, nil): return .guest(guest)
    case (nil, let phone?):
      let phones = machines.filter { $0.apps.contains(.agent) }.map(\.name)
      guard phones.contains(phone) else {
        throw reader.error("machine '\(phone)' is no phone of the story", at: "phone", choices: phones)
      }
      return .phone(machine: phone)
    default: throw reader.error("\(reader.subject) names a 'guest' or a 'phone'", choices: ["guest", "phone"])
    }
  }
}

/// What earlier steps have made, for later ones to refer to. The door is `nil` if the story has one only.
struct StoryPapers: Sendable {
  /// In the order of the story.
  var invited: [InvitedGuest] = []
  var revoked: Set<RevokedThere> = []
  /// Phones that got a key of a door.
  var keys: [(machine: String, door: String?)] = []

  func doors(ofGuest name: String) -> [String?] { invited.filter { $0.guest == name }.map(\.door) }

  mutating func take(_ action: Action) {
    if case .provision(let machine, let door) = action { keys.append((machine, door)) }
    guard case .ask(let machine, let question) = action, question.expects == .done else { return }
    switch question.matter {
    case .accept: keys.append((machine, question.door))
    case .invite(let terms):
      let guest = InvitedGuest(guest: terms.guest, door: question.door)
      if !invited.contains(guest) { invited.append(guest) }
    case .revoke(let whom): revoked.insert(RevokedThere(whom: whom, door: question.door))
    default: break
    }
  }
}

/// Whom an invitation is for, and to which door.
struct InvitedGuest: Sendable, Hashable {
  var guest: String
  var door: String?
}

/// Whom a list revokes, and at which door: it is signed for one lock.
struct RevokedThere: Sendable, Hashable {
  var whom: Question.Revoked
  var door: String?
}
