import Journal
import JournalEvents

/// The lock's app dies or hangs, and its system answers in its place.
enum LockFaultPromises {
  static let all = [
    Promise(
      name: "death-unseen", rows: ["L1", "S8"],
      meaning: "The lock's app dies while the phone is connected, and the phone notices nothing: no link lost, no "
        + "service changed; the relaunched lock goes on with the same subscription."
    ) { evidence in
      let kills = evidence.indices { $0.isMark(.appKilled) && $0.concerns(Recorded.lockIdentifier) }
      guard !kills.isEmpty else { return evidence.notJudged("the lock was never killed") }
      guard !evidence.phones.isEmpty else { return evidence.neverJudged("no phone in the story has the agent") }
      return .all(
        kills.flatMap { kill in evidence.phones.map { deathUnseen(evidence, kill, phone: $0) } }, of: "death")
    },
    Promise(
      name: "answered-for-the-app", rows: ["C6", "B4"],
      meaning: "A request that the hung lock does not answer is answered by its system, and the link stays."
    ) { evidence in
      eachHanging(evidence) { hung in
        guard let expired = answer(.requestExpired, evidence, hung) else {
          guard let asked = evidence.first(in: hung, where: isQuestion) else {
            return evidence.notJudged("no phone asked the lock for anything while it hung")
          }
          // A link that was lost before had another reason.
          let limit = answerDue(evidence.entries[asked])
          let phone = evidence.entries[asked].machine
          let lost = evidence.first(in: asked..<hung.upperBound) {
            $0.isLink(.linkDown) && $0.isLink(of: phone) && $0.t < limit
          }
          if let lost {
            return evidence.neverJudged("the link was lost first", [evidence.entries[lost]])
          }
          if hung.upperBound < evidence.window.upperBound, evidence.entries[hung.upperBound].t < limit {
            return evidence.neverJudged(
              "the lock no longer hung when its system would have had to answer for it",
              [asked, hung.upperBound].map { evidence.entries[$0] })
          }
          return evidence.missing(
            "its system answered nothing for it", since: asked,
            [hung.lowerBound, asked].map { evidence.entries[$0] })
        }
        // Other phones' links don't matter, and a step of the story may end this phone's link anyway.
        let asked = evidence.last(before: expired, where: isQuestion).map { evidence.entries[$0].machine }
        let phone = asked.map { [$0] } ?? evidence.phones
        let door = evidence.entries[expired].machine
        let end = evidence.disturbance(in: expired..<hung.upperBound, of: phone + [door])
        let lost = evidence.all(in: expired..<(end ?? hung.upperBound)) { entry in
          entry.isLink(.linkDown) && phone.contains(where: entry.isLink)
        }
        guard lost.isEmpty else { return .broken("the link was lost over it", lost) }
        return .kept("answered, and the link stayed", [evidence.entries[expired]])
      }
    },
    Promise(
      name: "closed-with-its-link", rows: ["C6", "H4"],
      meaning:
        "A request that is open when the link is lost is closed at once, and a bluetoothd that dies of it comes back."
    ) { evidence in
      eachHanging(evidence) { closedWithLink(evidence, $0) }
    },
  ]

  private static func deathUnseen(_ evidence: Evidence, _ kill: Int, phone: String) -> Finding {
    let killed = evidence.entries[kill]
    guard evidence.isLinked(phone, before: kill) == true else {
      return evidence.neverJudged("\(phone) was not connected when the lock died", [killed])
    }
    // The part of the story until an owner leaves, or the lock is killed again.
    let end =
      evidence.first(in: evidence.rest(from: kill + 1)) {
        ($0.isMark(.ownerLeft) && $0.machine == phone)
          || ($0.isMark(.appKilled) && $0.concerns(Recorded.lockIdentifier))
      } ?? evidence.window.upperBound
    let signs: [Recorded.Agent] = [.didDisconnect, .servicesChanged, .discoveryStarted, .subscribed]
    let noticed = evidence.indices(in: kill..<end) { entry in
      (entry.isLink(.linkDown) && entry.isLink(of: phone))
        || (entry.machine == phone && signs.contains { entry.isAgent($0) })
    }
    // What the phone notices after the story has done something else to one of them is not the lock's death.
    let other = evidence.disturbance(in: (kill + 1)..<end, of: [phone, killed.machine])
    let isDisturbed = noticed.first.map { other ?? end < $0 } ?? false
    guard noticed.isEmpty || isDisturbed else {
      return .broken("the phone noticed it", noticed.map { evidence.entries[$0] })
    }
    let until = isDisturbed ? other ?? end : end
    func missing(_ reason: String, _ line: JournalEntry) -> Finding {
      if end < evidence.window.upperBound, evidence.entries[end].isMark(.appKilled),
        evidence.isTooSoon(end, after: kill)
      {
        return evidence.neverJudged(
          "the lock was killed again before it could talk with \(phone)", [killed, evidence.entries[end]])
      }
      return isDisturbed
        ? evidence.neverJudged(
          "the story did something else before the relaunched lock and \(phone) talked",
          [killed, evidence.entries[until]])
        : evidence.missing(reason, since: kill, [line])
    }
    let started = evidence.first(in: kill..<until) { $0.isLock(.started) && $0.machine == killed.machine }
    guard let started else { return missing("the lock did not start again", killed) }
    let answered = evidence.first(in: started..<until) { $0.isAgent(.statusAnswered) && $0.machine == phone }
    guard let answered else {
      return missing("the relaunched lock and the phone did not talk", evidence.entries[started])
    }
    return .kept(
      "they talk again \(elapsed(from: killed, to: evidence.entries[answered])) after its death",
      [kill, started, answered].map { evidence.entries[$0] })
  }

  private static func closedWithLink(_ evidence: Evidence, _ hung: Range<Int>) -> Finding {
    guard let closed = answer(.requestAbandoned, evidence, hung) else {
      let losses = evidence.indices(in: hung) { $0.isLink(.linkDown) }
      guard let first = losses.first else { return evidence.notJudged("no link was lost while the lock hung") }
      for down in losses {
        let loss = evidence.entries[down]
        let asked = evidence.last(before: down) { isOpenQuestion($0, at: loss.t) && loss.isLink(of: $0.machine) }
        guard let asked, asked >= hung.lowerBound, answer(.requestExpired, evidence, asked..<down) == nil else {
          continue
        }
        return evidence.missing(
          "its system did not close the request that was open", since: down,
          [asked, down].map { evidence.entries[$0] })
      }
      return evidence.neverJudged("no request was open when the link was lost", [evidence.entries[first]])
    }
    // The crash of bluetoothd is the only one that is expected here. The service manager or latchkeyd reports it.
    let gone = evidence.all(in: evidence.rest(from: closed)) {
      $0.isMark(.processFailed) || ($0.isDaemon(.bluetoothState) && $0[.state] == "resetting")
    }
    guard let last = gone.last else { return .kept("closed as the link was lost", [evidence.entries[closed]]) }
    let others = gone.filter { $0.isMark(.processFailed) && $0[.program] != Recorded.bluetoothd }
    guard others.isEmpty else { return .broken("another process ended over it", others) }
    let back = evidence.first(in: evidence.rest(from: closed)) {
      $0.isDaemon(.bluetoothState) && $0[.because] == "bluetoothd appeared" && $0.t >= last.t
    }
    guard let back else {
      return evidence.missing("bluetoothd died of it and did not come back", since: closed, gone)
    }
    return .kept("closed; bluetoothd died of it and came back", [evidence.entries[closed], evidence.entries[back]])
  }

  /// Judges each time in which the lock hangs, until it is continued, ends, or the story ends.
  private static func eachHanging(_ evidence: Evidence, _ judge: (Range<Int>) -> Finding) -> Finding {
    let hangs = evidence.indices { $0.isMark(.appHung) && $0.concerns(Recorded.lockIdentifier) }
    guard !hangs.isEmpty else { return evidence.notJudged("the lock did not hang") }
    return .all(
      hangs.map { hang in
        let machine = evidence.entries[hang].machine
        let end = evidence.first(in: evidence.rest(from: hang + 1)) {
          guard $0.machine == machine else { return false }
          switch $0.mark {
          case .machineDown: return true
          case .appContinued, .appKilled, .appHung: return $0.concerns(Recorded.lockIdentifier)
          default: return false
          }
        }
        return judge(hang..<(end ?? evidence.window.upperBound))
      }, of: "hanging")
  }

  /// Whether a phone asks the lock for something that the lock must answer.
  static func isQuestion(_ entry: JournalEntry) -> Bool {
    entry.isAgent(.offerAsked) || entry.isAgent(.statusWritten) || entry.isAgent(.unlockWritten)
  }

  /// How long after its first write a command is written again with a response, in nanoseconds. The first write is
  /// without a response, so no request is open until then.
  private static let confirmationLimit: Int64 = 3_000_000_000

  /// By when, in nanoseconds, a hung lock's system has answered a question in the app's place. It has 5 s.
  static func answerDue(_ asked: JournalEntry) -> Int64 {
    asked.t + (asked.isAgent(.offerAsked) ? 0 : confirmationLimit) + 5_000_000_000
  }

  /// How long it may take until a request is closed whose link is lost, in nanoseconds.
  static let closingTime: Int64 = 1_000_000_000

  private static func isOpenQuestion(_ entry: JournalEntry, at t: Int64) -> Bool {
    entry.isAgent(.offerAsked) || (isQuestion(entry) && entry.t + confirmationLimit <= t)
  }

  private static func answer(_ event: Recorded.Daemon, _ evidence: Evidence, _ range: Range<Int>) -> Int? {
    evidence.first(in: range) { $0.isDaemon(event) && $0.concerns(Recorded.lockIdentifier) }
  }
}
