import Journal
import JournalEvents

/// The owner leaves.
enum LeavingPromises {
  static let all = [
    Promise(
      name: "locked-on-leaving", rows: ["L2"], meaning: "The lock locks by itself each time its owner has left, once."
    ) { evidence in
      evidence.withoutLock
        ?? evidence.eachAbsence { absence in
          .all(evidence.doors.map { lockedOnLeaving(evidence, absence, door: $0) }, of: "lock")
        }
    },
    Promise(
      name: "link-lost-on-leaving", rows: ["L3"],
      meaning: "The link goes down each time the owner leaves the range, and comes up only at the return."
    ) { evidence in
      evidence.eachAbsence { linkLost(evidence, $0) }
    },
  ]

  private static func lockedOnLeaving(_ evidence: Evidence, _ absence: Absence, door: String) -> Finding {
    let left = evidence.entries[absence.departure]
    guard evidence.isFromHere(absence) else { return evidence.neverJudged("the owner left another place", [left]) }
    guard evidence.bolt(of: door, before: absence.departure) != "locked" else {
      return evidence.neverJudged("the bolt was locked already when the owner left", [left])
    }
    let doorMark = evidence.last(before: absence.departure) { $0.machine == door && $0[.door] != nil }
    if let doorMark, evidence.entries[doorMark].isMark(.fault), evidence.entries[doorMark][.door] == "open" {
      return evidence.neverJudged("the door stood open when the owner left", [evidence.entries[doorMark], left])
    }
    // An owner who turns back on the way is still out of range for a while. The bolt has time to lock until the link is
    // there again.
    var end = absence.away.upperBound
    if let arrival = absence.arrival, absence.hasWay {
      end =
        evidence.first(in: evidence.rest(from: arrival)) {
          ($0.isLink(.linkUp) && $0.isLink(of: absence.phone)) || $0.isOpening
        } ?? absence.end
    }
    let moves = evidence.all(in: absence.departure..<end) {
      $0.isLock(.boltMoved) && $0.machine == door && !$0.isByHand
    }
    guard let first = moves.first(where: { $0[.to] == "locked" }) else {
      let hand = evidence.all(in: absence.away) { $0.isLock(.boltMoved) && $0.machine == door && $0.isByHand }
      if let locked = hand.first(where: { $0[.to] == "locked" }) {
        return evidence.neverJudged("a hand had locked the bolt before the lock did", [left, locked])
      }
      if let finding = nothingToLock(evidence, absence, door: door) { return finding }
      if let jams = jammed(evidence, absence, door: door) {
        return evidence.neverJudged(
          "the bolt jammed, and the lock tried to lock it \(jams.count == 1 ? "once" : "\(jams.count) times")", jams)
      }
      if let finding = evidence.turnedBack(absence) { return finding }
      return evidence.missing(
        "the bolt did not lock while the owner was away", since: absence.departure, moves.isEmpty ? [left] : moves)
    }
    // A lock that had nothing to lock behind this owner may lock hours later: when its mode ends, or behind another
    // owner.
    if first.t > lockingLimit(evidence, absence), let finding = nothingToLock(evidence, absence, door: door) {
      return finding
    }
    // Another owner's phone may open the door later, or another owner may leave. Each of these has an absence of its
    // own.
    let others = evidence.everyAbsence().contains {
      $0.phone != absence.phone && absence.away.overlaps($0.away.lowerBound..<$0.end)
    }
    guard moves.count == 1 || others else {
      return .broken("the bolt moved \(moves.count) times while the owner was away", moves)
    }
    return .kept("locked \(elapsed(from: left, to: first)) after leaving", [first])
  }

  /// Not judged, if the bolt had to stay unlocked when this owner left. Otherwise `nil`.
  private static func nothingToLock(_ evidence: Evidence, _ absence: Absence, door: String) -> Finding? {
    if let machine = stayed(evidence, absence, door: door) {
      return evidence.neverJudged(
        "\(machine) stayed: the lock locks behind the last phone that leaves", [evidence.entries[absence.departure]])
    }
    return passageMode(evidence, absence, door: door).map {
      evidence.neverJudged("the lock was in passage mode, in which it locks nothing", [$0])
    }
  }

  /// How long a lock may take to lock behind its owner, in nanoseconds. The link must be lost first, and the lock then
  /// waits for it to come back.
  static let lockingTime: Int64 = 45_000_000_000

  /// How long a lock waits for a lost link to come back, in nanoseconds.
  private static let leavingDelay: Int64 = 10_000_000_000

  /// Until when a lock has to lock behind an owner who leaves.
  private static func lockingLimit(_ evidence: Evidence, _ absence: Absence) -> Int64 {
    evidence.entries[absence.departure].wayEnds + lockingTime
  }

  /// The line that put the lock into passage mode, if it was in that mode at some time when it should have locked
  /// behind its owner. A later change of the mode does not matter, because a lock locks when its owner has left, and
  /// not when its mode changes.
  private static func passageMode(_ evidence: Evidence, _ absence: Absence, door: String) -> JournalEntry? {
    func isMode(_ entry: JournalEntry) -> Bool { entry.isLock(.modeChanged) && entry.machine == door }
    let limit = lockingLimit(evidence, absence)
    let before = evidence.last(before: absence.departure, where: isMode).map { [evidence.entries[$0]] } ?? []
    let since = evidence.all(in: absence.away) { isMode($0) && $0.t <= limit }
    return (before + since).first { $0[.mode] == "passage" }
  }

  /// How often a lock tries to lock behind its owner: once, and three times more (docs/lock-driver.md).
  private static let lockingTries = 4

  /// The lock's jammed tries to lock behind its owner, if it tried as often as it should, or the absence ended before
  /// it had time to try again. Otherwise `nil`.
  private static func jammed(_ evidence: Evidence, _ absence: Absence, door: String) -> [JournalEntry]? {
    let jams = evidence.all(in: absence.away) {
      $0.isLock(.boltJammed) && $0.machine == door && $0[.to] == "locked"
    }
    guard let last = jams.last else { return nil }
    let end = evidence.entries[absence.away].last?.t ?? last.t
    return jams.count >= lockingTries || end - last.t < lockingTime ? jams : nil
  }

  /// Another phone that stayed at the door: it had proven itself to the lock before, and kept its link for as long as
  /// the lock might have locked behind the owner who left. A later loss of its link is its own owner's departure. A
  /// link that ended because the door's machine went down does not count as lost if the phone gets one again when that
  /// machine is back.
  private static func stayed(_ evidence: Evidence, _ absence: Absence, door: String) -> String? {
    let proofs = evidence.all(in: 0..<absence.departure) {
      $0.machine != absence.phone
        && ($0.isAgent(.statusAnswered) || $0.isAgent(.unlockAnswered) || $0.isAgent(.lockAnswered))
    }
    let limit = lockingLimit(evidence, absence)
    return proofs.map(\.machine).first { machine in
      // Programs of real machines do not record links.
      evidence.isLinked(machine, before: absence.departure) != false
        && evidence.indices(in: absence.away) {
          $0.t <= limit
            && (($0.isLink(.linkDown) && $0[.central] == machine)
              || ($0.isAgent(.didDisconnect) && $0.machine == machine))
        }.allSatisfy { lost in
          let since = evidence.entries[lost].t
          let isDoorDown = wasDown(evidence, door, at: lost)
          return evidence.first(in: lost..<absence.away.upperBound) {
            (isDoorDown || $0.t - since <= leavingDelay)
              && (($0.isLink(.linkUp) && $0[.central] == machine) || ($0.isAgent(.didConnect) && $0.machine == machine))
          } != nil
        }
    }
  }

  /// Whether this machine was down when the link was lost, or had been down shortly before, which explains the lost
  /// link.
  private static func wasDown(_ evidence: Evidence, _ machine: String, at lost: Int) -> Bool {
    let last = evidence.last(before: lost + 1) {
      $0.machine == machine && ($0.isMark(.machineDown) || $0.isMark(.machineUp))
    }
    guard let last else { return false }
    let change = evidence.entries[last]
    return change.isMark(.machineDown) || evidence.entries[lost].t - change.t <= leavingDelay
  }

  private static func linkLost(_ evidence: Evidence, _ absence: Absence) -> Finding {
    let left = evidence.entries[absence.departure]
    guard evidence.isFromHere(absence) else { return evidence.neverJudged("the owner left another place", [left]) }
    guard evidence.isLinked(absence.phone, before: absence.departure) == true else {
      return evidence.neverJudged("the phone was not connected when its owner left", [left])
    }
    let links = evidence.all(in: absence.away) {
      ($0.isLink(.linkUp) || $0.isLink(.linkDown)) && $0.isLink(of: absence.phone)
    }
    // An owner on foot passes the edge of the range, where links come and go. When the walk is over, there are none.
    let gone = left.wayEnds
    let isOver = evidence.entries[absence.away].last.map { $0.t >= gone } ?? false
    guard links.last?.isLink(.linkDown) == true || isOver else {
      return evidence.notJudged("the owner was still on the way, and links come and go there", [left])
    }
    guard let down = links.lastIndex(where: { $0.isLink(.linkDown) }) else {
      return evidence.turnedBack(absence)
        ?? evidence.missing("no link went down while the owner was away", since: absence.departure, [left])
    }
    let up = links.filter { $0.isLink(.linkUp) && $0.t > gone }
    guard up.isEmpty else { return .broken("a link came up while the owner was away", up) }
    if links.last?.isLink(.linkUp) == true {
      return .broken("the link stayed while the owner was away", [links.last ?? left])
    }
    return .kept("link lost, and none came up until the return", [links[down]])
  }
}
