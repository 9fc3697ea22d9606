import HomePolicy
import Journal
import JournalEvents

/// The bolt.
enum DoorPromises {
  static let all = [
    Promise(
      name: "unlocked-once", rows: ["L2", "L3"],
      meaning:
        "The arrival unlocks the door exactly once: one unlock written, one accepted command, one movement of the "
        + "bolt. What got lost, as the lock says when it is asked, is written again under its name and counts once. "
        + "What its owner says once it is open does not count."
    ) { evidence in
      evidence.eachArrival { absence, home in
        .all(evidence.doors.map { unlockedOnce(evidence, absence, home, door: $0) }, of: "lock")
      }
    },
    Promise(
      name: "opened-once", rows: ["L3"],
      meaning: "Whatever dies in the meantime, each arrival opens the door by one movement of the bolt: a phone does "
        + "not move it again unless it was locked between."
    ) { evidence in
      evidence.eachArrival { absence, home in
        .all(evidence.doors.map { openedOnce(evidence, absence, home, door: $0) }, of: "lock")
      }
    },
    Promise(
      name: "unlock-answered", rows: ["L4"],
      meaning: "The lock's authenticated answer to the unlock reaches the agent and says that it was done."
    ) { evidence in
      evidence.eachArrival { absence, home in answered(evidence, absence, home) }
    },
    Promise(
      name: "never-unlocked-while-away", rows: ["L4"], meaning: "While the owner is away, nothing opens the door."
    ) { evidence in
      evidence.withoutLock
        ?? evidence.eachAbsence { absence in
          .all(evidence.doors.map { neverUnlocked(evidence, absence, door: $0) }, of: "lock")
        }
    },
    Promise(
      name: "every-movement-recorded", rows: ["L5"],
      meaning: "The lock wrote a record for every movement of the bolt before it moved; no two share one."
    ) { evidence in
      if let finding = evidence.withoutLock { return finding }
      var moves: [JournalEntry] = []
      for door in evidence.doors {
        // Records before this part of the story count as well; otherwise a number could be used again.
        var last: Int64?
        for index in 0..<evidence.window.upperBound {
          let move = evidence.entries[index]
          guard move.isLock(.boltMoved), move.machine == door else { continue }
          let number = Int64(move[.record] ?? "")
          if evidence.window.contains(index) {
            moves.append(move)
            guard let number else { return .broken("a movement has no record", [move]) }
            if let last, number <= last { return .broken("record \(number) comes after record \(last)", [move]) }
          }
          last = number ?? last
        }
      }
      guard !moves.isEmpty else { return evidence.notJudged("the bolt never moved") }
      return .kept("\(count(moves.count, "movement")), \(count(moves.count, "record"))", moves)
    },
    Promise(
      name: "nothing-refused", rows: ["L4"],
      meaning:
        "The lock refused no command in this story, except one that was on its way when it or its bluetoothd restarted, and those by which "
        + "a phone found out that this is not the lock for which it looked."
    ) { evidence in
      if let finding = evidence.withoutLock { return finding }
      let all = evidence.indices { $0.isLock(.commandRefused) }
      let stray = evidence.refusalsOfSearches.intersection(all)
      let refused = all.filter { !stray.contains($0) }.map { evidence.entries[$0] }.filter {
        !wasOnItsWay($0, evidence)
      }
      guard refused.isEmpty else {
        return .broken("\(count(refused.count, "command")) \(refused.count == 1 ? "was" : "were") refused", refused)
      }
      let accepted = evidence.all { $0.isLock(.commandAccepted) }
      guard !accepted.isEmpty else {
        return evidence.notJudged("the lock was never commanded, so it had nothing to refuse")
      }
      let late = all.count - stray.count
      return .kept(
        "\(count(accepted.count, "command")), none refused"
          + (late == 0
            ? "" : "; \(count(late, "other")) \(late == 1 ? "was" : "were") on its way to a lock that restarted")
          + (stray.isEmpty ? "" : "; \(count(stray.count, "other")) by a phone that looked for another door's lock"))
    },
  ]

  /// Whether the phone could not know that this command would be refused, because it was on its way when something
  /// restarted. Either the lock's app had restarted, or its bluetoothd had and so lost the phone's subscription,
  /// without which the phone can't hear the answer.
  private static func wasOnItsWay(_ refusal: JournalEntry, _ evidence: Evidence) -> Bool {
    switch refusal[.reason] {
    case "earlierRun":
      evidence.entries.count { $0.isLock(.started) && $0.machine == refusal.machine && $0.t <= refusal.t } > 1
    case "unsubscribed":
      evidence.entries.contains {
        $0.isLink(.bluetoothdStopped) && $0.isOf(refusal.machine) && $0.t <= refusal.t
          && refusal.t - $0.t <= renewalNanoseconds
      }
    default: false
    }
  }

  /// How long after bluetoothd's end a lost subscription may be the cause of a refusal, in nanoseconds. latchkeyd waits
  /// 15 s for subscriptions to be renewed, and then ends the links; the rest is a margin.
  private static let renewalNanoseconds: Int64 = 60_000_000_000

  /// Not judged if the bolt was unlocked when this arrival began and was not locked during it. Otherwise `nil`: there
  /// was a door to open.
  private static func openAlready(_ evidence: Evidence, _ home: Range<Int>, door: String) -> Finding? {
    let returned = evidence.entries[home.lowerBound]
    let walkEnds = returned.t + Int64((Double(returned[.over] ?? "") ?? 0) * 1e9)
    // An owner who comes back soon may be on the way while the bolt is still locking behind them.
    let moves = evidence.all(in: home) {
      $0.isLock(.boltMoved) && $0.machine == door && ($0.isOpening || ($0.t <= walkEnds && !$0.isByHand))
    }
    guard evidence.bolt(of: door, before: home.lowerBound) == "unlocked", moves.isEmpty else { return nil }
    return evidence.neverJudged("the bolt was unlocked already when the owner came home")
  }

  private static func notOpened(
    _ evidence: Evidence, _ absence: Absence, _ home: Range<Int>, door: String, _ moves: [JournalEntry]
  ) -> Finding {
    if let finding = keptForSomebodyInside(evidence, absence, home, door: door) { return finding }
    let cause = evidence.whyNotOpened(absence, home, door: door)
    return evidence.missing(
      "the bolt did not open on arrival: \(cause.reason)", since: home.lowerBound, moves + cause.lines)
  }

  /// Not judged if the lock rightly refused the unlock: somebody inside had locked the door, which no approach opens then,
  /// or the opening was forbidden. The lock's own records must show that a hand inside had turned the bolt. Otherwise
  /// `nil`.
  private static func keptForSomebodyInside(
    _ evidence: Evidence, _ absence: Absence, _ home: Range<Int>, door: String
  ) -> Finding? {
    let answers = evidence.all(in: home) {
      // A guest calls the only door as they like.
      $0.isAgent(.unlockAnswered) && $0.machine == absence.phone
        && (evidence.door == nil || ($0[.door] ?? door) == door)
    }
    if let answer = answers.last, let finding = forbidden(evidence, answer, door: door) { return finding }
    guard let answer = answers.last, answer[.result] == "somebodyInside",
      let latest = evidence.last(before: home.upperBound, where: { $0.isLock(.boltMoved) && $0.machine == door })
    else { return nil }
    let locked = evidence.entries[latest]
    guard locked[.to] == "locked", locked.isByHandInside else { return nil }
    return evidence.neverJudged(
      "somebody inside had locked the door, which no arrival opens; the owner was asked", [locked, answer])
  }

  /// Not judged if the lock's mode forbids the opening, as the lock's record shows, or a guest's grant. Otherwise `nil`.
  private static func forbidden(_ evidence: Evidence, _ answer: JournalEntry, door: String) -> Finding? {
    // The words of LockResult and OperatingMode.
    if answer[.result] == "restricted" {
      let changed = evidence.entries.last {
        $0.isLock(.modeChanged) && $0.machine == door && $0.t <= answer.t
      }
      guard let changed, let mode = changed[.mode], !["normal", "passage"].contains(mode) else { return nil }
      return evidence.neverJudged("the lock's mode, \(mode), lets no phone open the door", [changed, answer])
    }
    let isOwner = evidence.machines.first { $0.name == answer.machine }.map { $0.isEnrolled && $0.mayKnow(door) }
    guard isOwner == false, ["usedUp", "outsideSchedule", "expired", "revoked"].contains(answer[.result]) else {
      return nil
    }
    return evidence.neverJudged("the guest's grant does not allow it (\(answer[.result] ?? ""))", [answer])
  }

  private static func unlockedOnce(
    _ evidence: Evidence, _ absence: Absence, _ home: Range<Int>, door: String
  ) -> Finding {
    if let finding = openAlready(evidence, home, door: door) { return finding }
    let opened = evidence.first(in: home) {
      $0.isLock(.boltMoved) && $0.machine == door && $0.isOpening && !$0.isByHand
    }
    // An owner who leaves afterwards rightly makes the bolt move again. One who leaves before has nothing to do with it.
    let left = evidence.first(in: (opened ?? home.upperBound)..<home.upperBound) {
      $0.isMark(.ownerLeft) && evidence.phones.contains($0.machine)
    }
    let home = untilNextWord(evidence, home.lowerBound..<(left ?? home.upperBound), door: door)
    let written = evidence.all(in: home) { $0.isAgent(.unlockWritten) }
    let own = written.filter { $0.machine == absence.phone }
    // A phone also announces its presence with a status command, which moves nothing.
    let accepted = evidence.all(in: home) {
      $0.isLock(.commandAccepted) && $0.machine == door && $0[.command] != "status"
    }
    let moved = evidence.all(in: home) { $0.isLock(.boltMoved) && $0.machine == door && !$0.isByHand }
    // An owner who comes back soon may be on the way while the bolt is still locking behind them.
    let after = Array(moved.drop { !$0.isOpening })
    guard let open = after.first else {
      return notOpened(evidence, absence, home, door: door, moved)
    }
    guard after.count == 1 else {
      return .broken("the bolt moved \(count(after.count, "time")) on arrival", after)
    }
    if own.isEmpty, !written.isEmpty {
      return evidence.neverJudged("another phone opened the door", written)
    }
    if let finding = onWord(evidence, open) { return finding }
    let repeats = own.dropFirst().filter { isRepeat($0, evidence, home) }
    guard own.count - repeats.count == 1 else {
      return .broken("\(count(own.count - repeats.count, "unlock")) written", own)
    }
    guard !accepted.isEmpty, accepted.count <= written.count else {
      return .broken("\(count(accepted.count, "command")) accepted", accepted)
    }
    let took = elapsed(from: evidence.entries[home.lowerBound], to: open)
    let writes = repeats.isEmpty ? "one write" : "one unlock, written \(count(own.count, "time"))"
    return .kept("\(writes), one movement, \(took) after the return", own + accepted + [open])
  }

  /// The part of the arrival before a person asks something of the open door. What follows from that is not a result of
  /// the arrival.
  private static func untilNextWord(_ evidence: Evidence, _ home: Range<Int>, door: String) -> Range<Int> {
    let opened = evidence.first(in: home) { $0.isLock(.boltMoved) && $0.machine == door && $0.isOpening }
    guard let opened else { return home }
    let openedAt = evidence.entries[opened].t
    let asked = evidence.first(in: home) {
      $0.t > openedAt
        && ($0.isAgent(.lockWritten)
          || ($0.isAgent(.unlockWritten) && $0[.because] == OpeningReason.word.rawValue))
    }
    return home.lowerBound..<(asked ?? home.upperBound)
  }

  /// Not judged if the phone opened the door at its owner's word, because it does so wherever the owner comes from.
  /// `nil` if the phone opened by itself.
  private static func onWord(_ evidence: Evidence, _ open: JournalEntry) -> Finding? {
    guard let index = evidence.first(in: 0..<evidence.window.upperBound, where: { $0 == open }),
      let cause = SafetyPromises.cause(evidence, of: index, door: open.machine),
      cause[.because] == OpeningReason.word.rawValue
    else { return nil }
    return evidence.neverJudged("the owner's word opened the door, and not the arrival", [cause, open])
  }

  /// Whether the lock had told the phone before that it does not know this operation. Then the first write of it got
  /// lost, and this one repeats it.
  private static func isRepeat(_ written: JournalEntry, _ evidence: Evidence, _ home: Range<Int>) -> Bool {
    evidence.first(in: home) {
      $0.isAgent(.statusAnswered) && $0.machine == written.machine && $0.t <= written.t
        && $0[.operation] == written[.operation] && $0[.result] == "unknownOperation"
    } != nil
  }

  private static func openedOnce(
    _ evidence: Evidence, _ absence: Absence, _ home: Range<Int>, door: String
  ) -> Finding {
    if let finding = openAlready(evidence, home, door: door) { return finding }
    let moves = evidence.all(in: home) { $0.isLock(.boltMoved) && $0.machine == door }
    var earlier: JournalEntry?
    for move in moves {
      if let earlier, earlier.isOpening, move.isOpening {
        return .broken("the bolt opened a second time without having been locked between", [earlier, move])
      }
      earlier = move
    }
    guard let open = moves.first(where: \.isOpening) else {
      return notOpened(evidence, absence, home, door: door, moves)
    }
    guard !open.isByHand else {
      return evidence.neverJudged("a hand opened the door before a phone did", [open])
    }
    if let finding = onWord(evidence, open) { return finding }
    let took = elapsed(from: evidence.entries[home.lowerBound], to: open)
    let written = evidence.all(in: home) { $0.isAgent(.unlockWritten) }
    let operations = Set(written.map { $0[.operation] }).count
    guard operations > 0 else { return .broken("the bolt opened, and no agent had written an unlock", [open]) }
    return .kept("open after \(took), by \(count(operations, "operation"))", written + [open])
  }

  private static func answered(_ evidence: Evidence, _ absence: Absence, _ home: Range<Int>) -> Finding {
    let written = evidence.all(in: home) { $0.isAgent(.unlockWritten) }
    guard written.contains(where: { $0.machine == absence.phone }) else {
      if let finding = evidence.doors.lazy.compactMap({ openAlready(evidence, home, door: $0) }).first {
        return finding
      }
      guard written.isEmpty else { return evidence.neverJudged("another phone opened the door", written) }
      let cause = evidence.doors.first.map { evidence.whyNotOpened(absence, home, door: $0) }
      let why = cause.map { ": \($0.reason)" } ?? ""
      return evidence.missing(
        "no unlock was written, so nothing was answered\(why)", since: home.lowerBound, cause?.lines ?? [])
    }
    // If the link was lost first, the phone asks what became of its operation.
    let operations = Set(written.filter { $0.machine == absence.phone }.compactMap { $0[.operation] })
    let answers = evidence.all(in: home) {
      guard $0.machine == absence.phone else { return false }
      return $0.isAgent(.unlockAnswered)
        || ($0.isAgent(.statusAnswered) && operations.contains($0[.operation] ?? "")
          && $0[.result] != "unknownOperation")
    }
    guard let answer = answers.last else {
      let latest = evidence.indices(in: home) { $0.isAgent(.unlockWritten) && $0.machine == absence.phone }.last
      return evidence.missing("no answer reached the agent", since: latest ?? home.lowerBound, written)
    }
    var seen: [String: JournalEntry] = [:]
    for answer in answers where answer.isAgent(.unlockAnswered) {
      let operation = answer[.operation] ?? ""
      if let earlier = seen[operation] { return .broken("one unlock was answered twice", [earlier, answer]) }
      seen[operation] = answer
    }
    // The words of LockResult.
    let result = answer[.result] ?? ""
    guard ["done", "notNeeded"].contains(result) else {
      if let finding = keptForSomebody(evidence, absence, answer) { return finding }
      return .broken("the answer is \(result.isEmpty ? "empty" : result)", answers)
    }
    return .kept("answered \(result)", answers)
  }

  /// Not judged if the lock refused the unlock because it was forbidden, or because the door had been locked at home, and
  /// not behind an owner who left: it keeps such a door for whoever locked it. The lock's own records must show that.
  /// Otherwise `nil`.
  private static func keptForSomebody(
    _ evidence: Evidence, _ absence: Absence, _ answer: JournalEntry
  ) -> Finding? {
    let written = evidence.last(before: absence.end) {
      $0.isAgent(.unlockWritten) && $0.machine == absence.phone && $0[.operation] == answer[.operation]
    }
    if let door = evidence.doors.first, let finding = forbidden(evidence, answer, door: door) {
      return finding
    }
    guard ["lockedAtHome", "somebodyInside"].contains(answer[.result]), let written,
      let door = answer[.door] ?? evidence.doors.first,
      let latest = evidence.last(before: written, where: { $0.isLock(.boltMoved) && $0.machine == door })
    else { return nil }
    let locked = evidence.entries[latest]
    guard locked[.to] == "locked", locked[.cause] != "leaving",
      answer[.result] != "somebodyInside" || locked.isByHandInside
    else { return nil }
    return evidence.neverJudged(
      "somebody at home had locked the door, and the lock keeps it for them", [locked, answer])
  }

  private static func neverUnlocked(_ evidence: Evidence, _ absence: Absence, door: String) -> Finding {
    let moves = evidence.indices(in: absence.away) { $0.isLock(.boltMoved) && $0.machine == door }
    let opened = moves.filter { evidence.entries[$0][.to] != "locked" }
    let absences = evidence.everyAbsence()
    // Another owner who is at home may open the door at any time.
    func isAnybodyHome(at index: Int) -> Bool {
      evidence.phones.contains { phone in
        evidence.hasKey(phone, of: door, at: index)
          && !absences.contains { $0.phone == phone && $0.away.contains(index) }
          && !evidence.isFar(phone, from: door, at: index)
      }
    }
    let wrong = opened.filter { !isAnybodyHome(at: $0) }.map { evidence.entries[$0] }
    guard wrong.isEmpty else { return .broken("the bolt opened while the owner was away", wrong) }
    guard opened.isEmpty else {
      return evidence.neverJudged("somebody else was at home when it opened", opened.map { evidence.entries[$0] })
    }
    guard absence.arrival != nil || !evidence.isCutOff else { return evidence.notJudged("the owner is not back") }
    guard evidence.bolt(of: door, before: absence.departure) == "locked" || !moves.isEmpty else {
      return evidence.neverJudged("the bolt was not locked while the owner was away, so nothing could open it")
    }
    return .kept("no movement but the locking", moves.map { evidence.entries[$0] })
  }
}
