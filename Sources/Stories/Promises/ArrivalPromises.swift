import Journal
import JournalEvents

/// The owner comes home.
enum ArrivalPromises {
  static let all = [
    Promise(
      name: "relaunched-in-background", rows: ["S9", "L3"],
      meaning: "The system relaunches the dead agent with launch options that list its restore identifiers."
    ) { evidence in
      evidence.eachReturn { absence, home in
        deadAgent(evidence, absence, home) ?? relaunched(evidence, absence, home)
      }
    },
    Promise(
      name: "restored-in-order", rows: ["S10"],
      meaning: "willRestoreState comes first, then the state update, then didConnect, each once."
    ) { evidence in
      evidence.eachReturn { absence, home in
        deadAgent(evidence, absence, home) ?? restoredInOrder(evidence, absence, home)
      }
    },
    Promise(
      name: "services-restored", rows: ["S12"],
      meaning: "The restored peripheral has its services; nothing is discovered again."
    ) { evidence in
      evidence.eachReturn { absence, home in
        deadAgent(evidence, absence, home) ?? servicesRestored(evidence, absence, home)
      }
    },
    Promise(
      name: "subscription-alive", rows: ["S4", "S12"],
      meaning: "The subscription of days ago still delivers: the lock's fresh offer arrives without a new one."
    ) { evidence in
      evidence.withoutLock
        ?? evidence.eachReturn { absence, home in subscriptionAlive(evidence, absence, home) }
    },
    Promise(
      name: "woken-on-arrival", rows: ["B1", "L2"],
      meaning: "The agent that was only suspended is resumed, not launched, and learns of its connection."
    ) { evidence in
      evidence.eachReturn { absence, home in woken(evidence, absence, home) }
    },
  ]

  /// Why the agent can't be relaunched on this return, or `nil` if it can: it had ended before its owner came home, and
  /// the user has not given it up (`Evidence.givenUp`).
  private static func deadAgent(_ evidence: Evidence, _ absence: Absence, _ home: Range<Int>) -> Finding? {
    let (condition, cause) = evidence.condition(
      of: Recorded.agentIdentifier, on: absence.phone, before: home.lowerBound)
    let lines = cause.map { [evidence.entries[$0]] } ?? []
    switch condition {
    case .neverRan: return evidence.neverJudged("the agent never ran before the return")
    case .running, .suspended:
      return evidence.neverJudged("the agent was alive when its owner came home", lines)
    case .endedByStory, .crashed: return givenUp(evidence, absence, home)
    }
  }

  private static func givenUp(_ evidence: Evidence, _ absence: Absence, _ home: Range<Int>) -> Finding? {
    let connected = evidence.connection(of: absence.phone, in: home)
    guard let given = evidence.givenUp(by: absence.phone, before: connected) else { return nil }
    return evidence.neverJudged(
      given.isQuit
        ? "the user had quit the agent, so it may not be relaunched"
        : "the user had switched Bluetooth off when the agent was not running, so it may not be relaunched",
      [given.line])
  }

  /// Whether the story does something that ends the agent.
  private static func isEnd(_ entry: JournalEntry, of absence: Absence) -> Bool {
    guard entry.machine == absence.phone else { return false }
    switch entry.mark {
    case .machineDown: return true
    case .appKilled, .appReclaimed, .appQuit: return entry.concerns(Recorded.agentIdentifier)
    default: return false
    }
  }

  /// The part of the return before the story or the user does something to the agent.
  private static func untouched(_ evidence: Evidence, _ absence: Absence, _ home: Range<Int>) -> Range<Int> {
    let end = evidence.first(in: home) {
      isEnd($0, of: absence)
        || ($0.isUsersCall && $0.machine == absence.phone && $0.concerns(Recorded.agentIdentifier))
    }
    return home.lowerBound..<(end ?? home.upperBound)
  }

  /// Not judged if the story or the user did something to the agent on the way home, before its phone was connected.
  /// Then it had not to be woken for the connection. Otherwise `nil`.
  private static func touched(_ evidence: Evidence, _ absence: Absence, _ home: Range<Int>) -> Finding? {
    let end = untouched(evidence, absence, home).upperBound
    guard end < evidence.connection(of: absence.phone, in: home) else { return nil }
    return evidence.neverJudged(
      "the story ended or opened the agent on the way home, before it was connected", [evidence.entries[end]])
  }

  private static func start(_ evidence: Evidence, _ absence: Absence, _ home: Range<Int>) -> Int? {
    evidence.first(in: home) { $0.isAgent(.started) && $0.machine == absence.phone }
  }

  private static func relaunched(_ evidence: Evidence, _ absence: Absence, _ home: Range<Int>) -> Finding {
    let range = untouched(evidence, absence, home)
    let launches = evidence.all(in: range) {
      $0.isDaemon(.appLaunched) && $0.machine == absence.phone && $0.concerns(Recorded.agentIdentifier)
    }
    guard let launch = launches.first else {
      return touched(evidence, absence, home)
        ?? evidence.missing("the agent was not relaunched on arrival", since: home.lowerBound)
    }
    guard launches.count == 1 else {
      return .broken("the agent was launched \(count(launches.count, "time"))", launches)
    }
    guard launch[.reason] == "restore" else {
      return .broken("the agent was launched for another reason than restoration", launches)
    }
    guard let listed = launch[.centrals], !listed.isEmpty else {
      return .broken("the launch options list no restore identifier", launches)
    }
    guard let started = start(evidence, absence, home) else {
      return evidence.missing("the launched agent did not start", since: home.lowerBound, launches)
    }
    let start = evidence.entries[started]
    guard let told = start[.centralsToRestore], !told.isEmpty else {
      return .broken("the agent was told no restore identifier", [launch, start])
    }
    return .kept("launch options list \(told)", [launch, start])
  }

  private static func restoredInOrder(_ evidence: Evidence, _ absence: Absence, _ home: Range<Int>) -> Finding {
    guard let started = start(evidence, absence, home) else {
      return evidence.missing("the agent was not started on arrival", since: home.lowerBound)
    }
    let pid = evidence.entries[started].pid
    func isOwn(_ entry: JournalEntry) -> Bool { entry.machine == absence.phone && entry.pid == pid }
    // Events after the link was lost again, or after a fault, don't count.
    let end =
      evidence.first(in: started..<home.upperBound) {
        ($0.isAgent(.didDisconnect) && isOwn($0)) || $0.isBluetoothFault || $0.isMark(.daemonKilled)
      } ?? home.upperBound
    let told = [Recorded.Agent.willRestoreState, .stateUpdated, .didConnect].map(\.rawValue)
    let lines = evidence.all(in: started..<end) {
      $0.process == Recorded.agent && isOwn($0) && told.contains($0.event ?? "")
    }
    let names = lines.map { $0.event ?? "" }
    guard names == told else {
      let reason = "told \(names.isEmpty ? "nothing" : names.joined(separator: ", "))"
      // Something has yet to come, and everything so far was right.
      if told.starts(with: names) { return evidence.missing("\(reason) only", since: home.lowerBound, lines) }
      return .broken(reason, lines)
    }
    return .kept(told.joined(separator: ", "), lines)
  }

  private static func servicesRestored(_ evidence: Evidence, _ absence: Absence, _ home: Range<Int>) -> Finding {
    let index = evidence.first(in: home) { $0.isAgent(.willRestoreState) && $0.machine == absence.phone }
    guard let index else {
      return evidence.missing("the agent restored nothing on arrival", since: home.lowerBound)
    }
    let restored = evidence.entries[index]
    guard !(restored[.peripherals] ?? "").isEmpty else {
      return .broken("no peripheral was restored", [restored])
    }
    let services = restored[.services] ?? ""
    guard !services.isEmpty else { return .broken("no service was restored", [restored]) }
    let range = home.lowerBound..<disturbed(evidence, absence, since: index, home)
    // The end of a link invalidates what the agent has discovered, as on iOS.
    let end = evidence.entries[index..<range.upperBound].firstIndex { entry in
      entry.isAgent(.didDisconnect) && entry.machine == absence.phone && entry[.door] == restored[.door]
    }
    let discoveries = evidence.all(in: range.lowerBound..<(end ?? range.upperBound)) {
      $0.isAgent(.discoveryStarted) && $0.machine == absence.phone
    }
    guard discoveries.isEmpty else { return .broken("the agent discovered services again", [restored] + discoveries) }
    return .kept("services \(services) were there at restoration", [restored])
  }

  /// The end of the part of a return in which the restored state must last. A later step of the story on the phone or a
  /// lock may end that state.
  private static func disturbed(_ evidence: Evidence, _ absence: Absence, since index: Int, _ home: Range<Int>) -> Int {
    evidence.disturbance(in: (index + 1)..<home.upperBound, of: [absence.phone] + evidence.doors) ?? home.upperBound
  }

  private static func subscriptionAlive(_ evidence: Evidence, _ absence: Absence, _ home: Range<Int>) -> Finding {
    func isOwn(_ entry: JournalEntry) -> Bool { entry.machine == absence.phone }
    let arrival = home.lowerBound
    let subscribed = evidence.last(before: arrival) {
      isOwn($0) && ($0.isAgent(.subscribed) || $0.isAgent(.subscriptionAlive))
    }
    guard subscribed != nil else {
      return evidence.neverJudged("the agent had no subscription when its owner was away")
    }
    if let finding = givenUp(evidence, absence, home) { return finding }
    let alive = evidence.first(in: home) { $0.isAgent(.subscriptionAlive) && isOwn($0) }
    let range = arrival..<(alive.map { disturbed(evidence, absence, since: $0, home) } ?? home.upperBound)
    let again = evidence.all(in: range) { ($0.isAgent(.subscribed) || $0.isAgent(.discoveryStarted)) && isOwn($0) }
    guard again.isEmpty else { return .broken("the agent had to subscribe again", again) }
    guard let alive else {
      return evidence.missing("the agent did not find its subscription alive", since: arrival)
    }
    // The lock records that it notified its subscribers, and the phone records that an offer arrived.
    let sent = evidence.first(in: home) { $0.isLock(.offerSent) }
    guard let sent else { return evidence.missing("the lock sent no offer", since: arrival, [evidence.entries[alive]]) }
    let offer = evidence.first(in: home) {
      $0.isAgent(.offerReceived) && isOwn($0) && $0.t >= evidence.entries[sent].t && $0.t >= evidence.entries[alive].t
    }
    guard let offer else {
      return evidence.missing("no offer arrived", since: arrival, [evidence.entries[alive]])
    }
    return .kept("alive, and the lock's offer arrived by it", [alive, offer].sorted().map { evidence.entries[$0] })
  }

  private static func woken(_ evidence: Evidence, _ absence: Absence, _ home: Range<Int>) -> Finding {
    func concerns(_ entry: JournalEntry) -> Bool {
      entry.machine == absence.phone && entry.concerns(Recorded.agentIdentifier)
    }
    let arrival = home.lowerBound
    let (condition, cause) = evidence.condition(of: Recorded.agentIdentifier, on: absence.phone, before: arrival)
    let lines = cause.map { [evidence.entries[$0]] } ?? []
    switch condition {
    case .neverRan: return evidence.neverJudged("the agent never ran before the return")
    case .endedByStory(let how): return evidence.neverJudged("the agent was not only suspended: \(how)", lines)
    case .running: return evidence.neverJudged("the agent ran when its owner came home", lines)
    case .crashed: return .broken("the agent that was suspended ended by itself", lines)
    case .suspended: break
    }
    let range = untouched(evidence, absence, home)
    let launches = evidence.all(in: range) { $0.isDaemon(.appLaunched) && concerns($0) }
    guard launches.isEmpty else { return .broken("the agent was launched again", launches) }
    guard let resumed = evidence.first(in: range, where: { $0.isDaemon(.appResumed) && concerns($0) }) else {
      return touched(evidence, absence, home)
        ?? evidence.missing("the agent was not resumed on arrival", since: arrival)
    }
    let connections = evidence.indices(in: range) { $0.isAgent(.didConnect) && $0.machine == absence.phone }
    guard let connected = connections.first else {
      return evidence.missing("didConnect did not come after the resume", since: arrival, [evidence.entries[resumed]])
    }
    // The connections count until the agent is told that the link was lost again, or that the radio's state changed.
    let end =
      evidence.first(in: connected..<range.upperBound) {
        $0.machine == absence.phone && ($0.isAgent(.didDisconnect) || $0.isAgent(.stateUpdated))
      } ?? range.upperBound
    let told = connections.filter { $0 < end }.map { evidence.entries[$0] }
    guard told.count == 1 else {
      return .broken("didConnect came \(count(told.count, "time")) after the resume", told)
    }
    let restored = evidence.all(in: range) { $0.isAgent(.willRestoreState) && $0.machine == absence.phone }
    guard restored.isEmpty else { return .broken("a living agent was told to restore", restored) }
    return .kept("resumed, then didConnect", [evidence.entries[resumed]] + told)
  }
}
