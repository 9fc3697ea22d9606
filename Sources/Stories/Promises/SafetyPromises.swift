import HomePolicy
import Journal
import JournalEvents
import TimeTypes
import Worlds

/// The door stays locked unless its owner comes.
enum SafetyPromises {
  static let all = [
    Promise(
      name: "opened-only-on-arrival", rows: ["L2", "L4"],
      meaning: "A phone unlocks the bolt only when its owner has come home on foot, or has commanded it."
    ) { evidence in
      if let finding = evidence.withoutLock { return finding }
      guard evidence.machines.contains(where: { $0.apps.contains(.agent) }) else {
        return evidence.neverJudged("no phone in the story has the agent")
      }
      return .all(evidence.doors.map { openedOnlyOnArrival(evidence, door: $0) }, of: "lock")
    },
    Promise(
      name: "asked-without-evidence", rows: ["L2"],
      meaning: "If an owner is at the locked door, and nothing shows that they came from elsewhere, the agent asks."
    ) { evidence in
      evidence.withoutLock
        ?? evidence.eachReturn { absence, home in asked(evidence, absence, home) }
    },
  ]

  /// What one return on foot allows.
  private struct Approach {
    /// Until when the owner is walking.
    var walkEnds: Int64
    /// The door was open when the owner came, so a later locking happens while someone is at home.
    var wasOpen: Bool
    var hasOpened = false
    /// The agent has asked its owner: nothing showed it that they came, or the door stayed shut. This arrival opens nothing any more.
    var hasAsked = false

    /// A phone may need a moment after the last step, and a flapping link on the way may lock the bolt once more.
    static let grace: Int64 = 60_000_000_000

    /// A locked door may be opened once, however long it takes, because locks may hang or lose power.
    func allows(at t: Int64) -> Bool { t <= walkEnds + Self.grace || (!hasOpened && !hasAsked && !wasOpen) }
  }

  /// How old an owner's word may be when the phone writes for it, in nanoseconds. latchkeyd keeps a word for 45 s for
  /// an agent that does not take it, and the agent keeps it for 20 s. The rest is for a lock that is busy, or that jams
  /// and is tried again.
  private static let wordLifetime: Int64 = 120_000_000_000

  private static func openedOnlyOnArrival(_ evidence: Evidence, door: String) -> Finding {
    var approaches: [String: Approach] = [:]
    var opened: [JournalEntry] = []
    // When owners gave the commands for which no door has opened yet.
    var words: [String: [Int64]] = [:]
    for index in 0..<evidence.window.upperBound {
      let entry = evidence.entries[index]
      let walk = Int64((Double(entry[.over] ?? "") ?? 0) * 1e9)
      switch (entry.mark, entry.event(as: Recorded.Lock.self)) {
      case (.userUnlocked?, _): words[entry.machine, default: []].append(entry.t)
      // A command that was refused opens nothing later.
      case (.userAnswered?, _) where entry[.about] == "unlock" && entry[.outcome] == "refused":
        _ = words[entry.machine]?.popLast()
      case (.ownerLeft?, _): approaches[entry.machine] = nil
      case (.ownerReturned?, _):
        let isOpen = evidence.bolt(of: door, before: index) == "unlocked"
        approaches[entry.machine] =
          entry.isOnWay && evidence.phones.contains(entry.machine) && evidence.endsHere(entry, at: index)
          ? Approach(walkEnds: entry.t + walk, wasOpen: isOpen) : nil
      case (.moved?, _) where entry.isOnWay:
        // An owner who had stopped on the way walks on.
        if let approach = approaches[entry.machine], !approach.hasOpened {
          approaches[entry.machine]?.walkEnds = max(approach.walkEnds, entry.t + walk)
          approaches[entry.machine]?.hasAsked = false
        }
      case _ where entry.isAgent(.unlockAsked): approaches[entry.machine]?.hasAsked = true
      case (_, .boltMoved?) where entry.machine == door:
        if entry.isByHand, !entry.isOpening {
          // A door that someone locks from inside stays locked until an owner really comes.
          for (phone, approach) in approaches where entry.t > approach.walkEnds { approaches[phone] = nil }
        }
        guard entry.isOpeningByPhone else { continue }
        let cause = cause(evidence, of: index, door: door)
        if evidence.window.contains(index) { opened.append(entry) }
        let phone = cause?.machine ?? ""
        // The agent's own record is not enough: an owner must have given the command, once for each opening.
        let given = words[phone] ?? []
        if let cause, cause[.because] == OpeningReason.word.rawValue, let last = given.last {
          let fresh = given.filter { cause.t - $0 <= wordLifetime }
          words[phone] = Array(fresh.dropFirst())
          if !fresh.isEmpty { continue }
          guard evidence.window.contains(index) else { continue }
          return .broken(
            "\(phone) opened the door on a word that was given \(DurationText.format(.nanoseconds(cause.t - last))) before",
            [cause, entry])
        }
        if approaches[phone]?.allows(at: entry.t) == true {
          approaches[phone]?.hasOpened = true
          continue
        }
        guard evidence.window.contains(index) else { continue }
        guard let cause else {
          return .broken("a phone opened the door, and no agent of the story had written it", [entry])
        }
        let moved = evidence.last(before: index) {
          $0.machine == phone && ($0.isMark(.moved) || $0.isMark(.ownerLeft) || $0.isMark(.ownerReturned))
        }.map { evidence.entries[$0] }
        if let moved, moved.isMark(.moved), moved.isOnWay {
          return .broken(
            "\(phone) opened the door after a walk that the story does not call an arrival (`as: arrival`)",
            [moved, cause, entry])
        }
        return .broken("\(phone) opened the door, and its owner had not come home on a way", [cause, entry])
      default: continue
      }
    }
    guard !opened.isEmpty else { return .kept("no phone opened the door") }
    return .kept("\(count(opened.count, "opening")), each by somebody who came or asked for it", opened)
  }

  /// The agent's write that opened the bolt: that of the latest unlock that the lock had accepted. Another phone's lock command may be
  /// accepted while the bolt still turns.
  static func cause(_ evidence: Evidence, of index: Int, door: String) -> JournalEntry? {
    let moved = evidence.entries[index]
    let accepted = evidence.last(before: index) {
      $0.isLock(.commandAccepted) && $0.machine == door && !["status", "lock"].contains($0[.command])
        && $0.t <= moved.t
    }
    guard let accepted, let operation = evidence.entries[accepted][.operation] else { return nil }
    // Matched by operation, because machines may report one moment in either order.
    return evidence.last(before: evidence.window.upperBound) {
      $0.isAgent(.unlockWritten) && $0[.operation] == operation && $0.t <= moved.t
    }.map { evidence.entries[$0] }
  }

  private static func asked(_ evidence: Evidence, _ absence: Absence, _ home: Range<Int>) -> Finding {
    let returned = evidence.entries[home.lowerBound]
    guard !absence.hasWay else { return evidence.neverJudged("the owner came on foot", [returned]) }
    guard evidence.doors.contains(where: { evidence.bolt(of: $0, before: home.lowerBound) == "locked" }) else {
      return evidence.neverJudged("the bolt was not locked when the owner came home", [returned])
    }
    let (condition, _) = evidence.condition(of: Recorded.agentIdentifier, on: absence.phone, before: home.lowerBound)
    guard condition != .neverRan else { return evidence.neverJudged("the agent never ran before the return") }
    let user = evidence.last(before: home.lowerBound) {
      $0.machine == absence.phone && ($0.isUsersCall || ($0.isMark(.appQuit)))
    }
    if let user, evidence.entries[user].isMark(.appQuit) {
      return evidence.neverJudged("the user had quit the agent", [evidence.entries[user]])
    }
    guard evidence.isLinked(absence.phone, before: home.lowerBound) != true else {
      return evidence.neverJudged("the phone was connected all the while", [returned])
    }
    guard evidence.first(in: home, where: { $0.isLink(.linkUp) && $0.isLink(of: absence.phone) }) != nil else {
      return evidence.missing("no link came up", since: home.lowerBound, [returned])
    }
    let asked = evidence.first(in: home) { $0.isAgent(.unlockAsked) && $0.machine == absence.phone }
    guard let asked else { return evidence.missing("the agent did not ask", since: home.lowerBound, [returned]) }
    return .kept(
      "asked \(elapsed(from: returned, to: evidence.entries[asked])) after the return", [evidence.entries[asked]])
  }
}
