import Journal

@testable import Orchestrator

/// Stories that went well, each altered so that one promise must find itself broken, or not judged.
extension PromiseTests {
  struct Doctored: Sendable, CustomStringConvertible {
    let promise: String
    let what: String
    let entries: [JournalEntry]
    let judgement: Judgement
    init(_ promise: String, _ what: String, _ entries: [JournalEntry], _ judgement: Judgement = .broken) {
      self.promise = promise
      self.what = what
      self.entries = entries
      self.judgement = judgement
    }
    var description: String { "\(promise): \(what)" }
  }

  static let dead = StoryJournal.dead
  static let suspended = StoryJournal.suspended
  static let lockFaults = StoryJournal.lockFaults
  static let agent = StoryJournal.agent

  static let doctored: [Doctored] = [
    .init("locked-on-leaving", "not locked", dead.without("bolt.moved")),
    .init("locked-on-leaving", "locked twice", dead.twice("bolt.moved")),
    .init("locked-on-leaving", "nobody left", dead.without(Marks.ownerLeft), .notJudged),
    .init(
      "locked-on-leaving", "locked before", dead.with("lock.started", "bolt", "locked"), .notJudged),
    .init("link-lost-on-leaving", "link stayed", dead.without("link.down")),
    .init(
      "link-lost-on-leaving", "link came up far away",
      dead.inserting("link.up", of: Recorded.simulator, before: Marks.daemonKilled)),
    .init("request-held", "never completed", dead.without("request.completed")),
    .init("request-held", "completed twice", dead.twice("request.completed")),
    .init(
      "request-held", "completed while away",
      dead.inserting("request.completed", of: Recorded.daemon, agent, before: Marks.daemonKilled)),
    .init(
      "request-held", "the app ran and could renew",
      dead.inserting("agent.started", of: Recorded.agent, before: Marks.daemonKilled)),
    .init("request-held", "never silenced", dead.without(Marks.appKilled).without("app.suspended")),
    .init(
      "agent-not-running-while-away", "ran on day 1",
      dead.inserting("stateUpdated", of: Recorded.agent, before: Marks.daemonKilled)),
    .init(
      "agent-not-running-while-away", "launched on day 1",
      dead.inserting("app.launched", of: Recorded.daemon, agent, before: Marks.daemonKilled)),
    .init("agent-not-running-while-away", "never killed", dead.without(Marks.appKilled), .notJudged),
    .init("daemon-came-back", "gone for good", dead.without("daemon.started")),
    .init("daemon-came-back", "never killed", dead.without(Marks.daemonKilled), .notJudged),
    .init(
      "lock-relaunched", "gone for good",
      dead.filter { $0.event != "app.launched" || !$0.concerns(Recorded.lockIdentifier) }),
    .init(
      "lock-relaunched", "did not start", dead.filter { $0.event != "lock.started" || $0.pid != 21 }),
    .init("lock-relaunched", "restored nothing", dead.without("willRestoreState", of: Recorded.lock)),
    .init("lock-relaunched", "never died", dead.with(Marks.appKilled, "pid", "21")),
    .init("away-long-enough", "back too early", dead.with(Marks.ownerReturned, "away.at-least", "999999000000000")),
    .init(
      "away-long-enough", "the clock went back",
      dead.map { entry in
        var entry = entry
        if entry.event == Marks.daemonKilled { entry.t += 3 * StoryJournal.day * 1_000_000_000 }
        return entry
      }),
    .init("away-long-enough", "unknown", dead.with(Marks.ownerReturned, "away.at-least", nil), .notJudged),
    .init("relaunched-in-background", "not relaunched", dead.without("app.launched")),
    .init("relaunched-in-background", "relaunched twice", dead.twice("app.launched")),
    .init("relaunched-in-background", "opened by the user", dead.with("app.launched", "reason", "opened")),
    .init("relaunched-in-background", "no identifiers", dead.with("app.launched", "centrals", "")),
    .init("relaunched-in-background", "did not start", dead.without("agent.started")),
    .init("relaunched-in-background", "app was told none", dead.with("agent.started", "centralsToRestore", "")),
    .init("restored-in-order", "state first", dead.swapping("willRestoreState", "stateUpdated", of: Recorded.agent)),
    .init("restored-in-order", "no restoration", dead.without("willRestoreState", of: Recorded.agent)),
    .init("restored-in-order", "connected twice", dead.twice("didConnect")),
    .init("restored-in-order", "not started", dead.without("agent.started")),
    .init("services-restored", "no peripheral", dead.with("willRestoreState", of: Recorded.agent, "peripherals", "")),
    .init("services-restored", "no service", dead.with("willRestoreState", of: Recorded.agent, "services", "")),
    .init("services-restored", "none", dead.without("willRestoreState", of: Recorded.agent)),
    .init(
      "services-restored", "discovered anew",
      dead.inserting("discovery.started", of: Recorded.agent, before: "offer.received")),
    .init("subscription-alive", "dead", dead.without("subscription.alive")),
    .init("subscription-alive", "no offer", dead.without("offer.received")),
    .init(
      "subscription-alive", "subscribed again",
      dead.inserting("subscribed", of: Recorded.agent, before: "offer.received")),
    .init("subscription-alive", "the lock was silent", dead.without("offer.sent")),
    .init("subscription-alive", "never subscribed", dead.without("subscribed"), .notJudged),
    .init("woken-on-arrival", "not resumed", suspended.without("app.resumed")),
    .init("woken-on-arrival", "was not suspended", suspended.without("app.suspended"), .notJudged),
    .init(
      "woken-on-arrival", "crashed",
      suspended.inserting("app.ended", of: Recorded.daemon, crash(agent), before: Marks.ownerReturned)),
    .init("woken-on-arrival", "told twice", suspended.twice("didConnect")),
    .init(
      "woken-on-arrival", "launched",
      suspended.inserting("app.launched", of: Recorded.daemon, agent, before: "app.resumed", last: true)),
    .init(
      "woken-on-arrival", "restored",
      suspended.inserting("willRestoreState", of: Recorded.agent, before: "didConnect", last: true)),
    .init("unlocked-once", "not at all", dead.without("bolt.moved")),
    .init("unlocked-once", "two movements", dead.twice("bolt.moved")),
    .init("unlocked-once", "two writes", dead.twice("unlock.written")),
    .init("unlocked-once", "two commands", dead.twice("command.accepted")),
    .init("unlocked-once", "without a command", dead.without("command.accepted")),
    .init("opened-once", "not at all", dead.without("bolt.moved")),
    .init("opened-once", "two movements", dead.twice("bolt.moved")),
    .init("opened-once", "nothing written", dead.without("unlock.written")),
    .init("unlock-answered", "no answer", dead.without("unlock.answered")),
    .init("unlock-answered", "two", dead.twice("unlock.answered")),
    .init("unlock-answered", "refused", dead.with("unlock.answered", "result", "jammed")),
    .init(
      "never-unlocked-while-away", "opened",
      dead.inserting("bolt.moved", of: Recorded.lock, ["to": "unlocked"], before: Marks.daemonKilled)),
    .init("every-movement-recorded", "no record", dead.with("bolt.moved", "record", nil)),
    .init("every-movement-recorded", "one record for two", dead.with("bolt.moved", "record", "7")),
    .init("every-movement-recorded", "no movement", dead.without("bolt.moved"), .notJudged),
    .init(
      "nothing-refused", "refused", dead.inserting("command.refused", of: Recorded.lock, before: "command.accepted")),
    .init("nothing-refused", "never asked", dead.without("command.accepted"), .notJudged),
    .init("death-unseen", "never died", lockFaults.without(Marks.appKilled), .notJudged),
    .init("death-unseen", "not connected", lockFaults.without("link.up"), .notJudged),
    .init(
      "death-unseen", "link lost",
      lockFaults.inserting("link.down", of: Recorded.simulator, before: "lock.started", last: true)),
    .init(
      "death-unseen", "services changed",
      lockFaults.inserting("services.changed", of: Recorded.agent, before: "lock.started", last: true)),
    .init(
      "death-unseen", "gone for good", lockFaults.filter { $0.event != "lock.started" || $0.pid != 21 }),
    .init("death-unseen", "silent", lockFaults.without("status.answered")),
    .init("answered-for-the-app", "did not hang", lockFaults.without(Marks.appHung), .notJudged),
    .init(
      "answered-for-the-app", "not asked",
      lockFaults.without("offer.asked").without("request.expired"), .notJudged),
    .init("answered-for-the-app", "not answered", lockFaults.without("request.expired")),
    .init(
      "answered-for-the-app", "link lost",
      lockFaults.inserting("link.down", of: Recorded.simulator, before: Marks.appContinued)),
    .init(
      "closed-with-its-link", "link stayed", lockFaults.without("link.down").without("request.abandoned"), .notJudged),
    .init("closed-with-its-link", "not closed", lockFaults.without("request.abandoned")),
    .init(
      "closed-with-its-link", "latchkeyd died",
      lockFaults.inserting(
        Marks.processFailed, of: Marks.process, ["program": "latchkeyd"], before: Marks.appContinued, last: true)
    ),
    .init(
      "closed-with-its-link", "bluetoothd died for good",
      lockFaults.inserting(
        Marks.processFailed, of: Marks.process, ["program": Recorded.bluetoothd], before: Marks.appContinued, last: true
      )),
    .init(
      "nothing-crashed", "crashed", dead.inserting(Marks.processFailed, of: Marks.process, before: "offer.received")),
    .init("told-nothing-twice", "told twice", dead.twice("didConnect")),
    .init("told-nothing-twice", "told nothing", dead.without("didConnect"), .notJudged),
    .init(
      "nothing-crashed", "the lock died of a signal",
      dead.inserting("app.ended", of: Recorded.daemon, crash(StoryJournal.lock), before: "offer.received")),
    .init(
      "nothing-crashed", "the agent exited",
      dead.inserting(
        "app.ended", of: Recorded.daemon, agent.merging(["how": "exit 3"]) { $1 }, before: Marks.appKilled)),
    .init(
      "nothing-crashed", "somebody killed it from outside", dead.without(Marks.appKilled)),
    .init(
      "nothing-crashed", "it overran by itself",
      dead.inserting(
        "app.ended", of: Recorded.daemon, agent.merging(["how": "overran its wake budget"]) { $1 },
        before: "offer.received")),
    .init(
      "nothing-crashed", "nobody was there",
      dead.without("daemon.started").without("app.launched")
        .without("app.suspended").without("app.ended").without("request.completed"), .notJudged),
    .init(
      "opened-only-on-arrival", "the owner appeared from nowhere", dead.with(Marks.ownerReturned, "way", "jump")),
    .init("opened-only-on-arrival", "nobody came", dead.without(Marks.ownerReturned)),
    .init("opened-only-on-arrival", "nobody had written it", dead.without("unlock.written")),
    .init(
      "opened-only-on-arrival", "it opened again at night",
      nightly(StoryJournal.dead)),
    .init("asked-without-evidence", "did not ask", StoryJournal.jumped.without("unlock.asked")),
    .init("asked-without-evidence", "came on a way", dead, .notJudged),
    .init("unlocked-once", "no way", dead.with(Marks.ownerReturned, "way", nil), .notJudged),
    .init("opened-once", "no way", dead.with(Marks.ownerReturned, "way", "jump"), .notJudged),
    .init("unlock-answered", "no way", dead.with(Marks.ownerReturned, "way", "jump"), .notJudged),
    .init(
      "never-unlocked-while-away", "was never locked",
      dead.without("bolt.moved").with("lock.started", "bolt", "unlocked"),
      .notJudged),
    .init(
      "request-held", "the user opened it",
      dead.inserting(
        Marks.appOpened, of: Marks.process, agent, before: Marks.ownerReturned), .notJudged),
    .init(
      "no-errors-logged", "an error",
      dead.inserting("daemon.trouble", of: Recorded.daemon, level: "error", before: "offer.received")),
  ]

  /// A signal that no step of a story sent.
  static func crash(_ app: [String: String]) -> [String: String] { app.merging(["how": "signal 11"]) { $1 } }

  /// Hours after the return somebody locks from inside, and a phone opens the door.
  static func nightly(_ story: [JournalEntry]) -> [JournalEntry] {
    let moved = story.filter { ["unlock.written", "command.accepted", "bolt.moved"].contains($0.event) }
    guard let locked = moved.first(where: { $0.fields["to"] == "locked" }) else { return story }
    return story.afterwards([locked].with("bolt.moved", "cause", "hand") + moved.suffix(3).map { $0 })
  }
}
