import Journal
import JournalEvents
import StoryTesting

@testable import Stories

/// Stories that went well, each altered so that one promise must come out as broken, as not judged, or as kept all the same.
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

  /// The owner leaves for so many seconds. The link goes down and comes up again.
  private static func leaving(over seconds: String) -> [JournalEntry] {
    let before = dead.prefix { !$0.is(Recorded.Story.ownerLeft) }
    let after = dead.dropFirst(before.count)
    var links = [Recorded.Radio.linkDown, .linkUp].compactMap { event in after.first { $0.is(event) } }
    for index in links.indices { links[index].t = after[after.startIndex].t + Int64(index + 1) * 2_000_000_000 }
    return (before + after.prefix(1) + links).with(Recorded.Story.ownerLeft, .over, seconds)
  }

  /// The lock tries to lock behind its owner so many times, and its bolt does not arrive.
  private static func jammed(tries: Int) -> [JournalEntry] {
    (0..<tries).reduce(dead.without(Recorded.Lock.boltMoved)) { entries, _ in
      entries.inserting(
        Recorded.Lock.boltJammed, [.to: "locked", .cause: "leaving"], level: "error",
        before: Recorded.Story.daemonKilled)
    }
  }

  static let doctored: [Doctored] = [
    .init("locked-on-leaving", "not locked", dead.without(Recorded.Lock.boltMoved)),
    .init("locked-on-leaving", "locked twice", dead.twice(Recorded.Lock.boltMoved)),
    .init("locked-on-leaving", "nobody left", dead.without(Recorded.Story.ownerLeft), .notJudged),
    .init(
      "locked-on-leaving", "locked before", dead.with(Recorded.Lock.started, .bolt, "locked"), .notJudged),
    .init(
      "locked-on-leaving", "in passage mode, which somebody ended later",
      dead.without(Recorded.Lock.boltMoved)
        .inserting(Recorded.Lock.modeChanged, [.mode: "passage"], before: Recorded.Story.ownerLeft)
        .inserting(Recorded.Lock.modeChanged, [.mode: "normal"], before: Recorded.Story.daemonKilled), .notJudged),
    .init(
      "locked-on-leaving", "in passage mode, and locked by the lock when that ended later",
      dead.without(Recorded.Lock.boltMoved)
        .inserting(Recorded.Lock.modeChanged, [.mode: "passage"], before: Recorded.Story.ownerLeft)
        .inserting(Recorded.Lock.modeChanged, [.mode: "normal"], before: Recorded.Story.daemonKilled)
        .inserting(Recorded.Lock.boltMoved, [.to: "locked", .cause: "leaving"], before: Recorded.Story.daemonKilled),
      .notJudged),
    .init(
      "locked-on-leaving", "locked, and in passage mode only a day later",
      dead.inserting(Recorded.Lock.modeChanged, [.mode: "passage"], before: Recorded.Story.daemonKilled), .kept),
    .init(
      "locked-on-leaving", "not locked, and in passage mode only a day later",
      dead.without(Recorded.Lock.boltMoved)
        .inserting(Recorded.Lock.modeChanged, [.mode: "passage"], before: Recorded.Story.daemonKilled)),
    .init(
      "locked-on-leaving", "jammed, and tried as often as a lock tries", jammed(tries: 4), .notJudged),
    .init("locked-on-leaving", "jammed, and not tried again", jammed(tries: 1)),
    .init("link-lost-on-leaving", "link stayed", dead.without(Recorded.Radio.linkDown)),
    .init(
      "link-lost-on-leaving", "link came up far away",
      dead.inserting(Recorded.Radio.linkUp, before: Recorded.Story.daemonKilled)),
    .init(
      "link-lost-on-leaving", "a link on the way out, with which the journal ends", leaving(over: "140"), .notJudged),
    .init("link-lost-on-leaving", "a link after the way out, with which the journal ends", leaving(over: "1")),
    .init("refusals-logged", "refused without a record", dead.with(Recorded.Agent.unlockAnswered, .result, "revoked")),
    .init(
      "refusals-logged", "an older record",
      dead.with(Recorded.Agent.unlockAnswered, .result, "revoked").with(Recorded.Agent.unlockAnswered, .record, "2")),
    .init("refusals-logged", "nobody refused", dead, .notJudged),
    .init("request-held", "never completed", dead.without(Recorded.Daemon.requestCompleted)),
    .init("request-held", "completed twice", dead.twice(Recorded.Daemon.requestCompleted)),
    .init(
      "request-held", "completed while away",
      dead.inserting(Recorded.Daemon.requestCompleted, agent, before: Recorded.Story.daemonKilled)),
    .init(
      "request-held", "the app ran and could renew",
      dead.inserting(Recorded.Agent.started, before: Recorded.Story.daemonKilled)),
    .init(
      "request-held", "never silenced", dead.without(Recorded.Story.appKilled).without(Recorded.Daemon.appSuspended)),
    .init(
      "agent-not-running-while-away", "ran on day 1",
      dead.inserting(Recorded.Agent.stateUpdated, before: Recorded.Story.daemonKilled)),
    .init(
      "agent-not-running-while-away", "launched on day 1",
      dead.inserting(Recorded.Daemon.appLaunched, agent, before: Recorded.Story.daemonKilled)),
    .init("agent-not-running-while-away", "never killed", dead.without(Recorded.Story.appKilled), .notJudged),
    .init("daemon-came-back", "gone for good", dead.without(Recorded.Daemon.started)),
    .init("daemon-came-back", "never killed", dead.without(Recorded.Story.daemonKilled), .notJudged),
    .init(
      "lock-relaunched", "gone for good",
      dead.filter { !$0.is(Recorded.Daemon.appLaunched) || !$0.concerns(Recorded.lockIdentifier) }),
    .init(
      "lock-relaunched", "did not start", dead.filter { !$0.is(Recorded.Lock.started) || $0.pid != 21 }),
    .init("lock-relaunched", "restored nothing", dead.without(Recorded.Lock.willRestoreState)),
    .init("lock-relaunched", "never died", dead.with(Recorded.Story.appKilled, .pid, "21")),
    .init(
      "away-long-enough", "back too early", dead.with(Recorded.Story.ownerReturned, .awayAtLeast, "999999000000000")),
    .init(
      "away-long-enough", "the clock went back",
      dead.map { entry in
        var entry = entry
        if entry.is(Recorded.Story.daemonKilled) { entry.t += 3 * StoryJournal.day * 1_000_000_000 }
        return entry
      }),
    .init("away-long-enough", "unknown", dead.with(Recorded.Story.ownerReturned, .awayAtLeast, nil), .notJudged),
    .init("relaunched-in-background", "not relaunched", dead.without(Recorded.Daemon.appLaunched)),
    .init("relaunched-in-background", "relaunched twice", dead.twice(Recorded.Daemon.appLaunched)),
    .init("relaunched-in-background", "opened by the user", dead.with(Recorded.Daemon.appLaunched, .reason, "opened")),
    .init("relaunched-in-background", "no identifiers", dead.with(Recorded.Daemon.appLaunched, .centrals, "")),
    .init("relaunched-in-background", "did not start", dead.without(Recorded.Agent.started)),
    .init("relaunched-in-background", "app was told none", dead.with(Recorded.Agent.started, .centralsToRestore, "")),
    .init(
      "restored-in-order", "state first", dead.swapping(Recorded.Agent.willRestoreState, Recorded.Agent.stateUpdated)),
    .init("restored-in-order", "no restoration", dead.without(Recorded.Agent.willRestoreState)),
    .init("restored-in-order", "connected twice", dead.twice(Recorded.Agent.didConnect)),
    .init("restored-in-order", "not started", dead.without(Recorded.Agent.started)),
    .init("services-restored", "no peripheral", dead.with(Recorded.Agent.willRestoreState, .peripherals, "")),
    .init("services-restored", "no service", dead.with(Recorded.Agent.willRestoreState, .services, "")),
    .init("services-restored", "none", dead.without(Recorded.Agent.willRestoreState)),
    .init(
      "services-restored", "discovered anew",
      dead.inserting(Recorded.Agent.discoveryStarted, before: Recorded.Agent.offerReceived)),
    .init("subscription-alive", "dead", dead.without(Recorded.Agent.subscriptionAlive)),
    .init("subscription-alive", "no offer", dead.without(Recorded.Agent.offerReceived)),
    .init(
      "subscription-alive", "subscribed again",
      dead.inserting(Recorded.Agent.subscribed, before: Recorded.Agent.offerReceived)),
    .init("subscription-alive", "the lock was silent", dead.without(Recorded.Lock.offerSent)),
    .init("subscription-alive", "never subscribed", dead.without(Recorded.Agent.subscribed), .notJudged),
    .init("woken-on-arrival", "not resumed", suspended.without(Recorded.Daemon.appResumed)),
    .init("woken-on-arrival", "was not suspended", suspended.without(Recorded.Daemon.appSuspended), .notJudged),
    .init(
      "woken-on-arrival", "crashed",
      suspended.inserting(Recorded.Daemon.appEnded, crash(agent), before: Recorded.Story.ownerReturned)),
    .init("woken-on-arrival", "told twice", suspended.twice(Recorded.Agent.didConnect)),
    .init(
      "woken-on-arrival", "launched",
      suspended.inserting(Recorded.Daemon.appLaunched, agent, before: Recorded.Daemon.appResumed, last: true)),
    .init(
      "woken-on-arrival", "restored",
      suspended.inserting(Recorded.Agent.willRestoreState, before: Recorded.Agent.didConnect, last: true)),
    .init("unlocked-once", "not at all", dead.without(Recorded.Lock.boltMoved)),
    .init("unlocked-once", "two movements", dead.twice(Recorded.Lock.boltMoved)),
    .init("unlocked-once", "two writes", dead.twice(Recorded.Agent.unlockWritten)),
    .init("unlocked-once", "two commands", dead.twice(Recorded.Lock.commandAccepted)),
    .init("unlocked-once", "without a command", dead.without(Recorded.Lock.commandAccepted)),
    .init("opened-once", "not at all", dead.without(Recorded.Lock.boltMoved)),
    .init("opened-once", "two movements", dead.twice(Recorded.Lock.boltMoved)),
    .init("opened-once", "nothing written", dead.without(Recorded.Agent.unlockWritten)),
    .init("unlock-answered", "no answer", dead.without(Recorded.Agent.unlockAnswered)),
    .init("unlock-answered", "two", dead.twice(Recorded.Agent.unlockAnswered)),
    .init("unlock-answered", "refused", dead.with(Recorded.Agent.unlockAnswered, .result, "jammed")),
    .init(
      "never-unlocked-while-away", "opened",
      dead.inserting(Recorded.Lock.boltMoved, [.to: "unlocked"], before: Recorded.Story.daemonKilled)),
    .init("every-movement-recorded", "no record", dead.with(Recorded.Lock.boltMoved, .record, nil)),
    .init("every-movement-recorded", "one record for two", dead.with(Recorded.Lock.boltMoved, .record, "7")),
    .init("every-movement-recorded", "no movement", dead.without(Recorded.Lock.boltMoved), .notJudged),
    .init(
      "nothing-refused", "refused", dead.inserting(Recorded.Lock.commandRefused, before: Recorded.Lock.commandAccepted)),
    .init("nothing-refused", "never asked", dead.without(Recorded.Lock.commandAccepted), .notJudged),
    .init("death-unseen", "never died", lockFaults.without(Recorded.Story.appKilled), .notJudged),
    .init("death-unseen", "not connected", lockFaults.without(Recorded.Radio.linkUp), .notJudged),
    .init(
      "death-unseen", "link lost",
      lockFaults.inserting(Recorded.Radio.linkDown, before: Recorded.Lock.started, last: true)),
    .init(
      "death-unseen", "services changed",
      lockFaults.inserting(Recorded.Agent.servicesChanged, before: Recorded.Lock.started, last: true)),
    .init(
      "death-unseen", "gone for good", lockFaults.filter { !$0.is(Recorded.Lock.started) || $0.pid != 21 }),
    .init("death-unseen", "silent", lockFaults.without(Recorded.Agent.statusAnswered)),
    .init("answered-for-the-app", "did not hang", lockFaults.without(Recorded.Story.appHung), .notJudged),
    .init(
      "answered-for-the-app", "not asked",
      lockFaults.without(Recorded.Agent.offerAsked).without(Recorded.Daemon.requestExpired), .notJudged),
    .init("answered-for-the-app", "not answered", lockFaults.without(Recorded.Daemon.requestExpired)),
    .init(
      "answered-for-the-app", "link lost",
      lockFaults.inserting(Recorded.Radio.linkDown, before: Recorded.Story.appContinued)),
    .init(
      "closed-with-its-link", "link stayed",
      lockFaults.without(Recorded.Radio.linkDown).without(Recorded.Daemon.requestAbandoned), .notJudged),
    .init("closed-with-its-link", "not closed", lockFaults.without(Recorded.Daemon.requestAbandoned)),
    .init(
      "closed-with-its-link", "latchkeyd died",
      lockFaults.inserting(
        Recorded.Story.processFailed, [.program: "latchkeyd"],
        before: Recorded.Story.appContinued, last: true)
    ),
    .init(
      "closed-with-its-link", "bluetoothd died for good",
      lockFaults.inserting(
        Recorded.Story.processFailed, [.program: Recorded.bluetoothd],
        before: Recorded.Story.appContinued, last: true
      )),
    .init(
      "nothing-crashed", "crashed",
      dead.inserting(Recorded.Story.processFailed, before: Recorded.Agent.offerReceived)),
    .init("told-nothing-twice", "told twice", dead.twice(Recorded.Agent.didConnect)),
    .init("told-nothing-twice", "told nothing", dead.without(Recorded.Agent.didConnect), .notJudged),
    .init(
      "nothing-crashed", "the lock died of a signal",
      dead.inserting(Recorded.Daemon.appEnded, crash(StoryJournal.lock), before: Recorded.Agent.offerReceived)),
    .init(
      "nothing-crashed", "the agent exited",
      dead.inserting(
        Recorded.Daemon.appEnded, agent.and([.how: "exit 3"]), before: Recorded.Story.appKilled)),
    .init(
      "nothing-crashed", "somebody killed it from outside", dead.without(Recorded.Story.appKilled)),
    .init(
      "nothing-crashed", "it overran by itself",
      dead.inserting(
        Recorded.Daemon.appEnded, agent.and([.how: "overran its wake budget"]),
        before: Recorded.Agent.offerReceived)),
    .init(
      "nothing-crashed", "nobody was there",
      dead.without(Recorded.Daemon.started).without(Recorded.Daemon.appLaunched)
        .without(Recorded.Daemon.appSuspended).without(Recorded.Daemon.appEnded).without(
          Recorded.Daemon.requestCompleted), .notJudged),
    .init(
      "opened-only-on-arrival", "the owner appeared from nowhere", dead.with(Recorded.Story.ownerReturned, .way, "jump")
    ),
    .init("opened-only-on-arrival", "nobody came", dead.without(Recorded.Story.ownerReturned)),
    .init("opened-only-on-arrival", "nobody had written it", dead.without(Recorded.Agent.unlockWritten)),
    .init(
      "opened-only-on-arrival", "it opened again at night",
      nightly(StoryJournal.dead)),
    .init("asked-without-evidence", "did not ask", StoryJournal.jumped.without(Recorded.Agent.unlockAsked)),
    .init("asked-without-evidence", "came on a way", dead, .notJudged),
    .init("unlocked-once", "no way", dead.with(Recorded.Story.ownerReturned, .way, nil), .notJudged),
    .init("opened-once", "on a word", dead.with(Recorded.Agent.unlockWritten, .because, "word"), .notJudged),
    .init("unlocked-once", "on a word", dead.with(Recorded.Agent.unlockWritten, .because, "word"), .notJudged),
    .init("opened-once", "no way", dead.with(Recorded.Story.ownerReturned, .way, "jump"), .notJudged),
    .init("unlock-answered", "no way", dead.with(Recorded.Story.ownerReturned, .way, "jump"), .notJudged),
    .init(
      "never-unlocked-while-away", "was never locked",
      dead.without(Recorded.Lock.boltMoved).with(Recorded.Lock.started, .bolt, "unlocked"),
      .notJudged),
    .init(
      "request-held", "the user opened it",
      dead.inserting(
        Recorded.Story.appOpened, agent, before: Recorded.Story.ownerReturned), .notJudged),
    .init(
      "no-errors-logged", "an error",
      dead.inserting(Recorded.Daemon.storeFailed, level: "error", before: Recorded.Agent.offerReceived)),
  ]

  /// A signal that no step of a story sent.
  static func crash(_ app: [JournalField: String]) -> [JournalField: String] { app.and([.how: "signal 11"]) }

  /// Hours after the return, a person locks from inside, and a phone opens the door.
  static func nightly(_ story: [JournalEntry]) -> [JournalEntry] {
    let moved = story.filter {
      $0.is(Recorded.Agent.unlockWritten) || $0.is(Recorded.Lock.commandAccepted) || $0.is(Recorded.Lock.boltMoved)
    }
    guard let locked = moved.first(where: { $0[.to] == "locked" }) else { return story }
    return story.afterwards([locked].with(Recorded.Lock.boltMoved, .cause, "hand") + moved.suffix(3).map { $0 })
  }
}
