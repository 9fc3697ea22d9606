import Journal

/// The lock's app dies, or hangs, and its system stands in for it.
enum LockFaultPromises {
  static let all = [
    Promise(
      name: "death-unseen", rows: ["L1", "S8"],
      meaning: "The lock's app dies while the phone is connected, and the phone notices nothing: no link lost, no "
        + "service changed; the relaunched lock goes on with the same subscription."
    ) { (evidence) throws(MissingMark) in
      guard
        let killed = evidence.first(where: {
          $0.process == Marks.process && $0.event == Marks.appKilled && $0.concerns(Recorded.lockIdentifier)
        })
      else { return .broken("the lock was never killed") }
      guard isLinked(evidence, at: killed) else { return .broken("the phone was not connected when the lock died") }
      let rest = killed..<evidence.window.upperBound
      let end = evidence.firstMark(Marks.ownerLeft, in: rest) ?? rest.upperBound
      let noticed = evidence.all(in: killed..<end) {
        isLinkDown($0)
          || ($0.process == Recorded.agent
            && ["didDisconnect", "services.changed", "discovery.started", "subscribed"].contains($0.event))
      }
      guard noticed.isEmpty else { return .broken("the phone noticed it", noticed) }
      guard let started = evidence.first("lock.started", of: Recorded.lock, in: killed..<end) else {
        return .broken("the lock did not start again", [evidence.entries[killed]])
      }
      guard let answered = evidence.first("status.answered", of: Recorded.agent, in: started..<end) else {
        return .broken("the relaunched lock and the phone did not talk", [evidence.entries[started]])
      }
      return .kept(
        "they talk again \(seconds(from: evidence.entries[killed], to: evidence.entries[answered])) s after its death",
        [killed, started, answered].map { evidence.entries[$0] })
    },
    Promise(
      name: "answered-for-the-app", rows: ["C6", "B4"],
      meaning: "A request that the hung lock does not answer is answered by its system, and the link stays."
    ) { (evidence) throws(MissingMark) in
      let hung = try hanging(evidence)
      guard let expired = answer("request.expired", evidence, hung) else {
        return .broken("its system answered nothing for it", [evidence.entries[hung.lowerBound]])
      }
      let lost = evidence.all(in: expired..<hung.upperBound, where: isLinkDown)
      guard lost.isEmpty else { return .broken("the link was lost over it", lost) }
      return .kept("answered, and the link stayed", [evidence.entries[expired]])
    },
    Promise(
      name: "closed-with-its-link", rows: ["C6", "H4"],
      meaning:
        "A request that is open when the link is lost is closed at once, and a bluetoothd that dies of it comes back."
    ) { (evidence) throws(MissingMark) in
      let hung = try hanging(evidence)
      guard let closed = answer("request.abandoned", evidence, hung) else {
        return .broken("no request was open when the link was lost", [evidence.entries[hung.lowerBound]])
      }
      let rest = closed..<evidence.window.upperBound
      // The only end that is nobody's fault here, whether it is seen by the service manager or by latchkeyd.
      let gone = evidence.all(in: rest) {
        ($0.process == Marks.process && $0.event == Marks.processFailed)
          || ($0.process == Recorded.daemon && $0.event == "bluetooth.state" && $0.fields["state"] == "resetting")
      }
      guard let last = gone.last else { return .kept("closed as the link was lost", [evidence.entries[closed]]) }
      let others = gone.filter { $0.event == Marks.processFailed && $0.fields["program"] != Recorded.bluetoothd }
      guard others.isEmpty else { return .broken("another process ended over it", others) }
      guard
        let back = evidence.first(
          in: rest,
          where: {
            $0.process == Recorded.daemon && $0.event == "bluetooth.state"
              && $0.fields["because"] == "bluetoothd appeared" && $0.t >= last.t
          })
      else { return .broken("bluetoothd died of it and did not come back", gone) }
      return .kept("closed; bluetoothd died of it and came back", [evidence.entries[closed], evidence.entries[back]])
    },
  ]

  /// From the lock's hanging until it goes on.
  private static func hanging(_ evidence: Evidence) throws(MissingMark) -> Range<Int> {
    func mark(_ event: String, from start: Int) -> Int? {
      evidence.first(in: start..<evidence.window.upperBound) {
        $0.process == Marks.process && $0.event == event && $0.concerns(Recorded.lockIdentifier)
      }
    }
    guard let hung = mark(Marks.appHung, from: evidence.window.lowerBound) else {
      throw MissingMark(what: "the lock did not hang")
    }
    guard let continued = mark(Marks.appContinued, from: hung) else {
      throw MissingMark(what: "the lock did not go on")
    }
    return hung..<continued
  }

  private static func answer(_ event: String, _ evidence: Evidence, _ range: Range<Int>) -> Int? {
    evidence.first(in: range) {
      $0.event == event && $0.process == Recorded.daemon && $0.concerns(Recorded.lockIdentifier)
    }
  }

  private static func isLinkDown(_ entry: JournalEntry) -> Bool {
    Recorded.radios.contains(entry.process) && entry.event == "link.down"
  }

  /// By the latest word about links before that.
  private static func isLinked(_ evidence: Evidence, at index: Int) -> Bool {
    evidence.entries[..<index].last {
      Recorded.radios.contains($0.process) && ["link.up", "link.down"].contains($0.event)
    }?.event == "link.up"
  }
}
