import Journal
import JournalEvents

/// What holds while the owner is away.
enum AwayPromises {
  static let all = [
    Promise(
      name: "request-held", rows: ["L3", "S3", "S8", "C3"],
      meaning: "The connection request is held for days without being renewed by the app, and completes on arrival."
    ) { evidence in
      evidence.eachReturn { absence, home in requestHeld(evidence, absence, home) }
    },
    Promise(
      name: "agent-not-running-while-away", rows: ["L3"],
      meaning: "Between its death and the arrival the agent does not run at all.", isAboutDoors: false
    ) { evidence in
      evidence.eachAbsence { notRunning(evidence, $0) }
    },
    Promise(
      name: "daemon-came-back", rows: ["L3"], meaning: "latchkeyd starts again after each time it was killed.",
      isAboutDoors: false
    ) { evidence in
      let kills = evidence.indices { $0.isMark(.daemonKilled) }
      guard !kills.isEmpty else { return evidence.notJudged("latchkeyd was never killed") }
      var starts: [JournalEntry] = []
      for kill in kills {
        let killed = evidence.entries[kill]
        let next = kills.first { $0 > kill && evidence.entries[$0].machine == killed.machine }
        guard
          let start = evidence.first(
            in: kill..<(next ?? evidence.window.upperBound),
            where: { $0.isDaemon(.started) && $0.machine == killed.machine })
        else {
          if let next, evidence.isTooSoon(next, after: kill) { continue }
          return evidence.missing("latchkeyd did not come back", since: kill, [killed])
        }
        starts.append(evidence.entries[start])
      }
      return .kept("it came back \(count(starts.count, "time"))", starts)
    },
    Promise(
      name: "lock-relaunched", rows: ["L1"],
      meaning: "The lock's own system relaunches the lock after each death, and the lock restores what it published."
    ) { evidence in
      let kills = evidence.indices { $0.isMark(.appKilled) && $0.concerns(Recorded.lockIdentifier) }
      guard !kills.isEmpty else { return evidence.notJudged("the lock was never killed") }
      return .all(kills.map { relaunched(evidence, $0) }, of: "death")
    },
    Promise(
      name: "away-long-enough", rows: ["L3"],
      meaning: "The owner was away for the days of the scenario, by the world's clock.", isAboutDoors: false
    ) { evidence in
      evidence.eachReturn { absence, home in
        let left = evidence.entries[absence.departure]
        let returned = evidence.entries[home.lowerBound]
        guard let wanted = Int64(returned[.awayAtLeast] ?? "") else {
          return evidence.neverJudged("the return does not say how long the owner was to be away", [returned])
        }
        guard wanted > 0 else {
          return evidence.neverJudged("the day of the return had passed when the owner left", [left, returned])
        }
        // If a clock went back, some time was counted twice.
        let marks = evidence.all(in: absence.departure..<home.upperBound) { $0.process == Recorded.orchestrator }
        if let back = zip(marks, marks.dropFirst()).first(where: { $0.t > $1.t }) {
          return .broken("the world's clock went back meanwhile", [back.0, back.1])
        }
        let took = returned.t - left.t
        guard took >= wanted else { return .broken("away for \(took / 1_000_000_000) s only", [left, returned]) }
        return .kept("away for \(elapsed(from: left, to: returned))", [left, returned])
      }
    },
  ]

  /// How long a woken app may stay awake without resting, in nanoseconds: six times the usual 10 s (`docs/limits.md`).
  private static let wakeTime: Int64 = 60_000_000_000

  private static func requestHeld(_ evidence: Evidence, _ absence: Absence, _ home: Range<Int>) -> Finding {
    func concerns(_ entry: JournalEntry) -> Bool {
      entry.machine == absence.phone && entry.concerns(Recorded.agentIdentifier)
    }
    let arrival = home.lowerBound
    if evidence.door != nil,
      evidence.last(before: arrival, where: { $0.isAgent(.didConnect) && $0.machine == absence.phone }) == nil
    {
      return evidence.neverJudged("the phone had not met this lock before", [evidence.entries[arrival]])
    }
    // The silence begins when the user last had the agent open, or when its link was lost, because the system wakes it
    // for that. From then on the agent must not have been running and able to ask again.
    let opened = evidence.last(before: arrival) { $0.isUsersCall && concerns($0) }
    let lost = evidence.last(before: arrival) { $0.isLink(.linkDown) && $0.isLink(of: absence.phone) }
    let from = max(absence.departure, opened ?? 0, lost ?? 0)
    func silences(_ entry: JournalEntry) -> Bool {
      concerns(entry) && (entry.isMark(.appKilled) || entry.isMark(.appReclaimed) || entry.isDaemon(.appSuspended))
    }
    // In a story with several doors, other doors' links may have woken it in between.
    var silenced =
      evidence.door == nil
      ? evidence.first(in: from..<arrival, where: silences)
      : evidence.last(before: arrival, where: silences).flatMap { $0 >= from ? $0 : nil }
    let (condition, cause) = evidence.condition(of: Recorded.agentIdentifier, on: absence.phone, before: from + 1)
    if silenced == nil {
      let lines = cause.map { [evidence.entries[$0]] } ?? []
      let isSoon = evidence.entries[arrival].t - evidence.entries[from].t < wakeTime
      if let opened, opened >= absence.departure, opened == from {
        return evidence.neverJudged(
          "the user opened the agent while away, so it could have renewed its request", [evidence.entries[opened]])
      }
      switch condition {
      case .neverRan: return evidence.neverJudged("the agent never ran, so it asked for nothing")
      case .suspended where isSoon && isAwake(evidence, absence.phone, before: arrival),
        .running where isSoon:
        return evidence.neverJudged(
          "the owner came back before the agent, which was woken as its link was lost, had to be suspended", lines)
      case .suspended, .endedByStory: silenced = from
      case .running, .crashed:
        return .broken("the agent was neither suspended nor killed, so it could have renewed", lines)
      }
    }
    guard let silenced else { return evidence.neverJudged("the agent was not silenced") }
    if let given = evidence.givenUp(
      by: absence.phone, before: evidence.connection(of: absence.phone, in: home))
    {
      return evidence.neverJudged(
        given.isQuit
          ? "the user had quit the agent, which gives up what it asked for"
          : "the user had switched Bluetooth off when the agent was not running, which gives up what it asked for",
        [given.line])
    }
    func isCompletion(_ entry: JournalEntry) -> Bool { entry.isDaemon(.requestCompleted) && concerns(entry) }
    let early = evidence.all(in: silenced..<arrival, where: isCompletion)
    guard early.isEmpty else { return .broken("a request completed while the owner was away", early) }
    let completed = evidence.indices(in: home, where: isCompletion)
    guard let first = completed.first.map({ evidence.entries[$0] }), let index = completed.first else {
      return pause(evidence, absence, home)
        ?? evidence.missing("no request of the agent completed after the return", since: arrival)
    }
    // A request that completes again is right in two cases: a link was lost and the request was held again, or a
    // restarted latchkeyd repeats a completion that the agent had not been told of.
    let again = completed.dropFirst().prefix { completion in
      evidence.first(in: index..<completion) { $0.isLink(.linkDown) && $0.isLink(of: absence.phone) } == nil
    }.filter { completion in
      let between = index..<completion
      let wasRestarted = evidence.first(in: between) { $0.isDaemon(.started) && $0.machine == absence.phone } != nil
      let wasTold = evidence.first(in: between) { $0.isAgent(.didConnect) && $0.machine == absence.phone } != nil
      return wasTold || !wasRestarted
    }
    guard again.isEmpty else {
      return .broken("\(again.count + 1) requests completed on arrival", [first] + again.map { evidence.entries[$0] })
    }
    // Compared by time, because two processes may write lines of the same moment in either order.
    let active = evidence.all(in: (silenced + 1)..<index) {
      $0.machine == absence.phone && $0.t < first.t
        && ($0.process == Recorded.agent || (concerns($0) && ($0.isDaemon(.appLaunched) || $0.isDaemon(.appResumed))))
    }
    if evidence.door != nil, let woken = active.first(where: { $0.isDaemon(.appLaunched) || $0.isDaemon(.appResumed) })
    {
      return evidence.neverJudged("the agent was woken for another door before", [woken])
    }
    if let woken = active.first(where: { $0.isDaemon(.appResumed) }),
      let fault = radioFault(evidence, silenced..<index, absence.phone, woken)
    {
      return evidence.neverJudged(
        "the agent was told of its radio, so it could have renewed its request", [fault, woken])
    }
    if let called = evidence.first(in: silenced..<index, where: { $0.isUsersCall && concerns($0) }) {
      return evidence.neverJudged(
        "the user asked the agent for something before its request completed, so it could have renewed it",
        [evidence.entries[called]])
    }
    guard active.isEmpty else {
      return .broken("the agent ran before its request completed, so it could have renewed it", active)
    }
    let held = elapsed(from: evidence.entries[silenced], to: first)
    return .kept("completed after \(held) of silence", [evidence.entries[silenced], first])
  }

  private static func isAwake(_ evidence: Evidence, _ phone: String, before end: Int) -> Bool {
    evidence.condition(of: Recorded.agentIdentifier, on: phone, before: end).0 == .running
  }

  /// Not judged if the agent asked for its link only from a later time on, as it does after the lock has turned it
  /// away, and the story left no time for a link after that. Otherwise `nil`.
  private static func pause(_ evidence: Evidence, _ absence: Absence, _ home: Range<Int>) -> Finding? {
    let held = evidence.last(before: home.upperBound) {
      $0.isDaemon(.requestHeld) && $0.machine == absence.phone && $0.concerns(Recorded.agentIdentifier)
    }.map { evidence.entries[$0] }
    guard let held, let pause = held[.milliseconds].flatMap(Int64.init) else { return nil }
    let from = held.t + pause * 1_000_000
    let until = home.upperBound < evidence.entries.count ? evidence.entries[home.upperBound].t : evidence.endsAt
    guard let until, until < from + LeavingPromises.lockingTime else { return nil }
    return evidence.neverJudged("the agent had asked for its link only from a later time on", [held])
  }

  /// The story's step on the phone's Bluetooth of which a suspended agent was told when it was woken, or `nil` if there
  /// was none.
  private static func radioFault(
    _ evidence: Evidence, _ silence: Range<Int>, _ phone: String, _ woken: JournalEntry
  ) -> JournalEntry? {
    let told = evidence.first(in: silence) { $0.isAgent(.stateUpdated) && $0.machine == phone && $0.t >= woken.t }
    let fault = evidence.last(before: told ?? 0) { $0.isBluetoothFault && $0.machine == phone }
    return fault.flatMap { $0 > silence.lowerBound ? evidence.entries[$0] : nil }
  }

  private static func notRunning(_ evidence: Evidence, _ absence: Absence) -> Finding {
    let killed = evidence.first(in: absence.away) {
      ($0.isMark(.appKilled) || $0.isMark(.appReclaimed)) && $0.machine == absence.phone
        && $0.concerns(Recorded.agentIdentifier)
    }
    guard let killed else { return evidence.notJudged("the agent was not killed while the owner was away") }
    // An agent that the user opens may run, so this promise ends there.
    let opened = evidence.first(in: killed..<absence.away.upperBound) {
      $0.isUsersCall && $0.machine == absence.phone && $0.concerns(Recorded.agentIdentifier)
    }
    let lines = evidence.all(in: (killed + 1)..<max(killed + 1, opened ?? absence.away.upperBound)) {
      $0.machine == absence.phone
        && ($0.process == Recorded.agent
          || ($0.concerns(Recorded.agentIdentifier) && ($0.isDaemon(.appLaunched) || $0.isDaemon(.appResumed))))
    }
    guard lines.isEmpty else { return .broken("the agent ran while its owner was away", lines) }
    guard absence.arrival != nil || !evidence.isCutOff else { return evidence.notJudged("the owner is not back") }
    let until = opened == nil ? "the arrival" : "the user opened it"
    return .kept("not one line from it until \(until)", [evidence.entries[killed]])
  }

  private static func relaunched(_ evidence: Evidence, _ kill: Int) -> Finding {
    let killed = evidence.entries[kill]
    let next = evidence.first(in: evidence.rest(from: kill + 1)) {
      $0.isMark(.appKilled) && $0.concerns(Recorded.lockIdentifier) && $0.machine == killed.machine
    }
    let after = kill..<(next ?? evidence.window.upperBound)
    let launched = evidence.first(in: after) {
      $0.isDaemon(.appLaunched) && $0.machine == killed.machine && $0.concerns(Recorded.lockIdentifier)
    }
    if let next, evidence.isTooSoon(next, after: kill), launched == nil {
      return evidence.neverJudged(
        "the lock was killed again before it could be back", [killed, evidence.entries[next]])
    }
    guard let launched else { return evidence.missing("the lock was not relaunched", since: kill, [killed]) }
    // The lock's first lines may come before latchkeyd's line about the launch.
    guard let started = evidence.first(in: after, where: { $0.isLock(.started) && $0.machine == killed.machine }) else {
      return evidence.missing("the relaunched lock did not start", since: kill, [evidence.entries[launched]])
    }
    guard killed[.pid] != "\(evidence.entries[started].pid)" else {
      return .broken("the lock that runs is the one that was killed", [evidence.entries[started]])
    }
    let restored = evidence.first(in: after) { $0.isLock(.willRestoreState) && $0.machine == killed.machine }
    guard let restored else {
      return evidence.missing("the relaunched lock restored nothing", since: kill, [evidence.entries[started]])
    }
    guard !(evidence.entries[restored][.services] ?? "").isEmpty else {
      return .broken("the relaunched lock restored no service", [evidence.entries[restored]])
    }
    return .kept("relaunched and restored", [launched, restored].map { evidence.entries[$0] })
  }
}
