import Journal
import JournalEvents

extension Evidence {
  /// The user's act after which the system may no longer relaunch the agent for its earlier requests: they quit it, or
  /// they switched Bluetooth off while it was not running. `nil` if there was none, or if they have opened or asked the
  /// agent since.
  func givenUp(by phone: String, before end: Int) -> (isQuit: Bool, line: JournalEntry)? {
    let latest = last(before: end) {
      guard $0.machine == phone else { return false }
      return $0.isSwitchingBluetoothOff
        || ($0.concerns(Recorded.agentIdentifier) && ($0.isUsersCall || $0.isMark(.appQuit)))
    }
    guard let latest else { return nil }
    let line = entries[latest]
    if line.isMark(.appQuit) { return (true, line) }
    guard line.isSwitchingBluetoothOff else { return nil }
    switch condition(of: Recorded.agentIdentifier, on: phone, before: latest).0 {
    case .endedByStory, .crashed: return (false, line)
    // A living agent is told of it, and asks again.
    case .neverRan, .running, .suspended: return nil
    }
  }

  /// The index at which a phone was connected on a return, or the end of the return. No program on a real machine records
  /// links, but the phone's system records what follows from them.
  func connection(of phone: String, in home: Range<Int>) -> Int {
    first(in: home) {
      ($0.isLink(.linkUp) && $0.isLink(of: phone))
        || ($0.machine == phone
          && ($0.isAgent(.didConnect)
            || ($0.isDaemon(.requestCompleted) && $0.concerns(Recorded.agentIdentifier))))
    } ?? home.upperBound
  }

  /// As `givenUp`, for an agent that was opened or asked again only on the way home or at the door. It saw only a part
  /// of the approach, or nothing of it.
  private func missedTheWay(by phone: String, _ home: Range<Int>) -> (isQuit: Bool, line: JournalEntry)? {
    let calls = indices(in: home) { $0.isUsersCall && $0.machine == phone && $0.concerns(Recorded.agentIdentifier) }
    return calls.lazy.compactMap { givenUp(by: phone, before: $0) }.first ?? givenUp(by: phone, before: home.upperBound)
  }

  /// Why a door stayed shut after an owner's return, as far as the records show it.
  func whyNotOpened(
    _ absence: Absence, _ home: Range<Int>, door: String
  ) -> (reason: String, lines: [JournalEntry]) {
    let phone = absence.phone
    func latest(_ matches: (JournalEntry) -> Bool) -> JournalEntry? { all(in: home, where: matches).last }
    func cause(_ reason: String, _ line: JournalEntry?) -> (reason: String, lines: [JournalEntry]) {
      (reason, line.map { [$0] } ?? [])
    }
    if let jammed = latest({ $0.isLock(.boltJammed) && $0.machine == door && $0[.to] == "unlocked" }) {
      return cause("it jammed", jammed)
    }
    let answered = latest { $0.isAgent(.unlockAnswered) && $0.machine == phone }
    if let answered, let result = answered[.result], !["done", "notNeeded"].contains(result) {
      return cause("the lock answered \(phone) with \(result)\(Self.meaning(ofAnswer: result))", answered)
    }
    let given = givenUp(by: phone, before: home.upperBound)
    func cause(_ given: (isQuit: Bool, line: JournalEntry)) -> (reason: String, lines: [JournalEntry]) {
      cause(
        given.isQuit
          ? "the user had quit the agent on \(phone)"
          : "the user had switched Bluetooth off on \(phone) when the agent was not running, which gives up what it asked for",
        given.line)
    }
    if let asked = latest({ $0.isAgent(.unlockAsked) && $0.machine == phone }) {
      // The agent saw nothing of the way home.
      if ["noApproach", "noSignal"].contains(asked[.because]), let given = missedTheWay(by: phone, home) {
        return cause(given)
      }
      return cause("\(phone) asked its owner (\(asked[.because] ?? "no reason"))", asked)
    }
    if let written = latest({ $0.isAgent(.unlockWritten) && $0.machine == phone }) {
      if let refused = latest({ $0.isLock(.commandRefused) && $0.machine == door && $0.t >= written.t }) {
        return cause("the lock refused a command (\(refused[.reason] ?? "no reason"))", refused)
      }
      return cause("\(phone) wrote an unlock, and the lock did not carry it out", written)
    }
    if let given { return cause(given) }
    if let hung = hungLock(door, before: home.upperBound) { return cause("the lock's app hung", hung) }
    if let broken = brokenPairing(of: phone, with: door, before: home.upperBound) { return broken }
    if let approach = latest({ $0.isAgent(.approachBegan) && $0.machine == phone }) {
      return cause("\(phone) saw an approach, which did not get to the door", approach)
    }
    let isLinked = isLinked(phone, before: home.upperBound)
    if isLinked == false, latest({ $0.isLink(.linkUp) && $0.isLink(of: phone) }) == nil {
      return cause("no link of \(phone) came up", entries[home.lowerBound])
    }
    return cause("\(phone) wrote no unlock", entries[home.lowerBound])
  }

  /// What an answer of the lock means, where its name alone does not say what is to be done.
  private static func meaning(ofAnswer result: String) -> String {
    switch result {
    case "somebodyInside": ": somebody inside has locked the door, and only a hand or the owner's word opens it"
    case "lockedAtHome": ": it was locked while somebody was at home, and the approach was not clear enough for that"
    case "insufficientBattery": ": its battery is too empty to turn the bolt"
    case "restricted": ": its mode does not allow it"
    case "outsideSchedule": ": the guest's grant does not count at this time"
    case "expired": ": the guest's grant is over"
    default: ""
    }
  }

  /// The story's step that made the lock's app hang, if the app has neither been continued nor started again since.
  private func hungLock(_ door: String, before end: Int) -> JournalEntry? {
    let turn = last(before: end) { entry in
      guard entry.machine == door else { return false }
      return entry.isLock(.started) || entry.isMark(.machineDown)
        || ((entry.isMark(.appHung) || entry.isMark(.appContinued)) && entry.concerns(Recorded.lockIdentifier))
    }
    return turn.flatMap { entries[$0].isMark(.appHung) ? entries[$0] : nil }
  }

  /// If only one of the two still has their pairing, each link ends as soon as it is up. Returns the latest record of
  /// such links, unless an offer has arrived since.
  private func brokenPairing(
    of phone: String, with door: String, before end: Int
  ) -> (reason: String, lines: [JournalEntry])? {
    let barren = last(before: end) {
      ($0.isDaemon(.linkBarren) || $0.isDaemon(.linksBrief)) && [phone, door].contains($0.machine)
    }
    guard let barren, last(before: end, where: { $0.isAgent(.offerReceived) && $0.machine == phone }) ?? 0 < barren
    else { return nil }
    return (
      "each link of \(phone) ended as soon as it was up, as if one of the two had lost their pairing",
      [entries[barren]]
    )
  }
}
