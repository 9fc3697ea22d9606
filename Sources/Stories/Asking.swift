import AgentQuestions
import AppLink
import ChildProcesses
import Foundation
import Journal
import JournalEvents
import TimeTypes
import Worlds

// Steps in which a person asks the agent something: the story runs the real `latchkey` on the person's machine.
extension ScenarioRun {
  /// A person tells the agent to unlock. The story does not wait for the answer.
  func unlock(on machine: String, door: String?, _ words: String) throws {
    let agent = InstalledApp.agent.bundleIdentifier
    try mark(.userUnlocked, machine: machine, message: words, fields: fields([.app: agent], at: door))
    guard let door else {
      return try world.machine(machine).say(
        .performAction(bundleIdentifier: agent, name: AgentQuestion.unlock.rawValue))
    }
    let argument = String(decoding: try JSONEncoder().encode(DoorQuestion(door: door)), as: UTF8.self)
    try world.machine(machine).say(
      .askApp(bundleIdentifier: agent, name: AgentQuestion.unlock.rawValue, argument: argument))
  }

  private func fields(_ fields: [JournalField: String], at door: String?) -> [JournalField: String] {
    var fields = fields
    fields[.door] = door
    return fields
  }

  func ask(_ question: Question, on name: String, _ words: String) throws {
    let machine = try world.machine(name)
    let agent = InstalledApp.agent.bundleIdentifier
    // Promises look for an unlock by its own event, `userUnlocked`.
    if question.matter == .unlock {
      try mark(.userUnlocked, machine: name, message: words, fields: fields([.app: agent], at: question.door))
    } else {
      try mark(
        .userAsked, machine: name, message: words,
        fields: fields([.app: agent, .about: question.command], at: question.door))
    }
    let (arguments, input) = try command(question)
    options.observe(.waiting(for: "the answer to: \(words)"))
    let typed = try machine.type(arguments, input: input)
    var finished: FinishedProcess?
    _ = try world.run(until: world.now + question.limit) {
      try tend()
      finished = try typed.outcome()
      return finished != nil
    }
    guard let finished else {
      throw try unexpected(
        question, on: name, "no answer came within \(DurationText.format(question.limit))", outcome: "none")
    }
    let isDone = finished.end == .exited(0)
    let reason = Self.reason(finished)
    guard isDone == (question.expects == .done) else {
      throw try unexpected(
        question, on: name,
        isDone
          ? "it was done"
          : "\(reason.isEmpty ? "latchkey \(question.command) ended with \(finished.end)" : reason)",
        outcome: isDone ? "done" : "refused")
    }
    for text in question.saying where !(finished.output + finished.errors).contains(text) {
      // An invitation is secret.
      let said = finished.errors + (question.isInvitation ? "" : finished.output)
      throw try unexpected(
        question, on: name,
        "the answer does not say '\(text)': \(said.suffix(2000).trimmingCharacters(in: .whitespacesAndNewlines))",
        outcome: question.expects.rawValue)
    }
    keep(finished.output, of: question)
    try mark(
      .userAnswered, machine: name,
      message: isDone ? "\(name): \(Self.done(question, finished.output))" : "\(name): \(reason)",
      fields: fields([.about: question.command, .outcome: question.expects.rawValue], at: question.door))
  }

  /// Gives a phone and the lock each other's keys, and restarts the lock, as `latchkey setup` does.
  func provision(_ phone: String, at door: String, _ words: String) throws {
    try mark(.fault, machine: phone, message: words, fields: [.about: Recorded.provisioned])
    let (agent, lock) = (InstalledApp.agent.bundleIdentifier, InstalledApp.lock.bundleIdentifier)
    // Each restart is recorded before it happens.
    let restarted = world.provisioningRestarts
    if restarted.contains(.agent) {
      try mark(
        .appReclaimed, machine: phone, message: "the agent is started again, with its keys", fields: [.app: agent])
    }
    if !restarted.contains(.lock) { try world.provision(phone: phone, at: door) }
    // An agent reads its keys as it starts.
    if !restarted.contains(.agent), (try? world.machine(phone).process(of: .agent)) != nil {
      try mark(
        .appReclaimed, machine: phone, message: "the agent is ended, and finds its new keys when it starts again",
        fields: [.app: agent])
      try world.machine(phone).control(.reclaimApp(bundleIdentifier: agent))
    }
    try mark(
      .appReclaimed, machine: door, message: "the lock is started again, with the new phone among its owners'",
      fields: [.app: lock])
    if restarted.contains(.lock) {
      try world.provision(phone: phone, at: door)
    } else {
      try world.machine(door).control(.reclaimApp(bundleIdentifier: lock))
    }
  }

  private func unexpected(_ question: Question, on name: String, _ what: String, outcome: String) throws -> Stopped {
    try mark(
      .userAnswered, machine: name, message: "\(name): \(what)",
      fields: fields([.about: question.command, .outcome: outcome], at: question.door))
    let expected = question.expects == .done ? "done" : "refused"
    try mark(.waitFailed, message: "latchkey \(question.command) on \(name) was to be \(expected): \(what)")
    return Stopped(reason: "latchkey \(question.command) on \(name) was to be \(expected): \(what)")
  }

  /// The command's words, and its standard input.
  private func command(_ question: Question) throws -> (words: [String], input: String?) {
    let named = question.door.map { ["--door", $0] } ?? []
    let words = question.command.split(separator: " ").map(String.init)
    switch question.matter {
    case .unlock, .lock, .door, .room: return (words + (question.door.map { [$0] } ?? []), nil)
    case .guests, .clock: return (words + named, nil)
    case .log: return (words + (question.door.map { [$0] } ?? []) + ["--all"], nil)
    case .invite(let terms):
      var words = words + [terms.guest] + named
      if let from = terms.from { words += ["--from", minute(day: from)] }
      if let until = terms.until { words += ["--until", minute(day: until)] }
      if let weekdays = terms.weekdays { words += ["--days", weekdays] }
      if let hours = terms.hours { words += ["--hours", hours] }
      if let uses = terms.uses { words += ["--uses", "\(uses)"] }
      if terms.mayReadLog { words.append("--read-log") }
      return (words, nil)
    case .accept(let guest, let door):
      guard let invitation = papers.invitations[InvitedGuest(guest: guest, door: question.door)] else {
        throw Stopped(reason: "there is no invitation for \(guest)")
      }
      return (words + ["--as", door], invitation)
    case .revoke(.guest(let name)): return (words + [name] + named, nil)
    case .revoke(.phone(let machine)):
      return (words + ["--key", try world.machine(machine).phoneKey(at: question.door)] + named, nil)
    case .carry(let revoked):
      guard let list = papers.lists[RevokedThere(whom: revoked, door: question.door)] else {
        throw Stopped(reason: "the lock has the list that revokes \(revoked.name) already")
      }
      return (words + [list] + named, nil)
    }
  }

  /// A day of this chapter as a date and time in UTC, to the minute, in the form that the command takes.
  private func minute(day: Double) -> String {
    let seconds = world.unixSeconds(at: chapterBegan + scaled(days: day))
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? calendar.timeZone
    let parts = calendar.dateComponents(
      [.year, .month, .day, .hour, .minute], from: Date(timeIntervalSince1970: Double(seconds)))
    func two(_ number: Int?) -> String { (number ?? 0) < 10 ? "0\(number ?? 0)" : "\(number ?? 0)" }
    return
      "\(parts.year ?? 0)-\(two(parts.month))-\(two(parts.day)) \(two(parts.hour)):\(two(parts.minute))"
  }

  private func keep(_ output: String, of question: Question) {
    guard question.expects == .done else { return }
    let text = output.trimmingCharacters(in: .whitespacesAndNewlines)
    switch question.matter {
    case .invite(let terms): papers.invitations[InvitedGuest(guest: terms.guest, door: question.door)] = text
    // If the lock has the list already, there is nothing for a visitor to carry.
    case .revoke(let revoked):
      papers.lists[RevokedThere(whom: revoked, door: question.door)] = text.hasPrefix("revoke-") ? text : nil
    default: break
    }
  }

  /// Why a command failed, in one line.
  private static func reason(_ finished: FinishedProcess) -> String {
    let line = finished.errors.split(separator: "\n").first.map(String.init) ?? ""
    return line.hasPrefix("latchkey: ") ? String(line.dropFirst(10)) : line
  }

  /// The answer, for people. An invitation is secret, and a list is of no use to a reader, so neither is shown.
  private static func done(_ question: Question, _ output: String) -> String {
    switch question.matter {
    case .invite(let terms): "the invitation for \(terms.guest) is made"
    case .revoke(let revoked), .carry(let revoked):
      output.hasPrefix("revoke-") ? "the list that revokes \(revoked.name) waits for the lock" : line(output)
    case .log: count(output.split(separator: "\n").count, "record")
    default: line(output)
    }
  }

  private static func line(_ output: String) -> String {
    output.split(separator: "\n").first.map(String.init) ?? "done"
  }
}

/// What passes from one person of a story to another.
struct PassedPapers {
  /// Invitations may be secret.
  var invitations: [InvitedGuest: String] = [:]
  var lists: [RevokedThere: String] = [:]
}
