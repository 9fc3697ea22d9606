import Journal
import Testing

@testable import Orchestrator

@Suite("Promises")
struct PromiseTests {
  struct Doctored: Sendable, CustomStringConvertible {
    let promise: String
    let what: String
    let entries: [JournalEntry]
    init(_ promise: String, _ what: String, _ entries: [JournalEntry]) {
      self.promise = promise
      self.what = what
      self.entries = entries
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
    .init("locked-on-leaving", "nobody left", dead.without(Marks.ownerLeft)),
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
    .init("agent-not-running-while-away", "never killed", dead.without(Marks.appKilled)),
    .init("daemon-came-back", "gone for good", dead.without("daemon.started")),
    .init("daemon-came-back", "never killed", dead.without(Marks.daemonKilled)),
    .init(
      "lock-relaunched", "gone for good",
      dead.filter { $0.event != "app.launched" || !$0.concerns(Recorded.lockIdentifier) }),
    .init("lock-relaunched", "did not start", dead.without("lock.started")),
    .init("lock-relaunched", "restored nothing", dead.without("willRestoreState", of: Recorded.lock)),
    .init("lock-relaunched", "never died", dead.with(Marks.appKilled, "pid", "21")),
    .init("away-long-enough", "back too early", dead.with(Marks.ownerReturned, "away.at-least", "999999000000000")),
    .init("away-long-enough", "unknown", dead.with(Marks.ownerReturned, "away.at-least", nil)),
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
    .init("services-restored", "no peripheral", dead.with("willRestoreState", of: Recorded.agent, "peripherals", "0")),
    .init("services-restored", "no service", dead.with("willRestoreState", of: Recorded.agent, "services", "0")),
    .init("services-restored", "none", dead.without("willRestoreState", of: Recorded.agent)),
    .init(
      "services-restored", "discovered anew",
      dead.inserting("discovery.started", of: Recorded.agent, before: "offer.received")),
    .init("subscription-alive", "dead", dead.without("subscription.alive")),
    .init("subscription-alive", "no offer", dead.without("offer.received")),
    .init(
      "subscription-alive", "subscribed again",
      dead.inserting("subscription.requested", of: Recorded.agent, before: "offer.received")),
    .init("woken-on-arrival", "not resumed", suspended.without("app.resumed")),
    .init("woken-on-arrival", "was not suspended", suspended.without("app.suspended")),
    .init("woken-on-arrival", "told twice", suspended.twice("didConnect")),
    .init(
      "woken-on-arrival", "launched",
      suspended.inserting("app.launched", of: Recorded.daemon, agent, before: "app.resumed")),
    .init(
      "woken-on-arrival", "restored",
      suspended.inserting("willRestoreState", of: Recorded.agent, before: "didConnect")),
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
    .init("every-movement-recorded", "no movement", dead.without("bolt.moved")),
    .init(
      "nothing-refused", "refused", dead.inserting("command.refused", of: Recorded.lock, before: "command.accepted")),
    .init("nothing-refused", "never asked", dead.without("command.accepted")),
    .init("death-unseen", "never died", lockFaults.without(Marks.appKilled)),
    .init("death-unseen", "not connected", lockFaults.without("link.up")),
    .init(
      "death-unseen", "link lost", lockFaults.inserting("link.down", of: Recorded.simulator, before: "lock.started")),
    .init(
      "death-unseen", "services changed",
      lockFaults.inserting("services.changed", of: Recorded.agent, before: "lock.started")),
    .init("death-unseen", "gone for good", lockFaults.without("lock.started")),
    .init("death-unseen", "silent", lockFaults.without("status.answered")),
    .init("answered-for-the-app", "did not hang", lockFaults.without(Marks.appHung)),
    .init("answered-for-the-app", "not answered", lockFaults.without("request.expired")),
    .init(
      "answered-for-the-app", "link lost",
      lockFaults.inserting("link.down", of: Recorded.simulator, before: Marks.appContinued)),
    .init("closed-with-its-link", "did not go on", lockFaults.without(Marks.appContinued)),
    .init("closed-with-its-link", "none open", lockFaults.without("request.abandoned")),
    .init(
      "closed-with-its-link", "latchkeyd died",
      lockFaults.inserting(Marks.processFailed, of: Marks.process, ["program": "latchkeyd"], before: Marks.appContinued)
    ),
    .init(
      "closed-with-its-link", "bluetoothd died for good",
      lockFaults.inserting(
        Marks.processFailed, of: Marks.process, ["program": Recorded.bluetoothd], before: Marks.appContinued)),
    .init(
      "nothing-crashed", "crashed", dead.inserting(Marks.processFailed, of: Marks.process, before: "offer.received")),
    .init("told-nothing-twice", "told twice", dead.twice("didConnect")),
    .init("told-nothing-twice", "told nothing", dead.without("didConnect")),
    .init(
      "no-errors-logged", "an error",
      dead.inserting("daemon.trouble", of: Recorded.daemon, level: "error", before: "offer.received")),
  ]

  @Test("H1: a promise that was broken is found broken", arguments: doctored)
  func broken(_ doctored: Doctored) throws {
    let promise = try #require(Promise.named(doctored.promise))
    let result = promise.judge(Evidence(doctored.entries), scope: "test")
    #expect(!result.kept, "\(result.reason)")
  }

  @Test("H1: a story that went well keeps every promise about it")
  func kept() {
    let faults: Set = ["death-unseen", "answered-for-the-app", "closed-with-its-link"]
    for promise in Promise.all where promise.name != "woken-on-arrival" && !faults.contains(promise.name) {
      let result = promise.judge(Evidence(Self.dead), scope: "test")
      #expect(result.kept, "\(promise.name): \(result.reason)")
    }
    for name in faults {
      let result = Promise.named(name)?.judge(Evidence(Self.lockFaults), scope: "test")
      #expect(result?.kept == true, "\(name): \(result?.reason ?? "")")
    }
    for name in ["woken-on-arrival", "request-held", "unlocked-once", "subscription-alive", "told-nothing-twice"] {
      let result = Promise.named(name)?.judge(Evidence(Self.suspended), scope: "test")
      #expect(result?.kept == true, "\(name): \(result?.reason ?? "")")
    }
  }

  @Test("H1: every promise can break, and no two have one name")
  func complete() {
    let names = Promise.all.map(\.name)
    #expect(Set(names).count == names.count)
    #expect(Set(Self.doctored.map(\.promise)) == Set(names))
  }

  @Test("H1: a promise looks at its own chapter alone")
  func window() throws {
    let entries = Self.dead + Self.dead
    let promise = try #require(Promise.named("unlocked-once"))
    #expect(promise.judge(Evidence(entries, window: Self.dead.count..<entries.count), scope: "second").kept)
    #expect(!promise.judge(Evidence(entries), scope: "both").kept)
  }
}

@Suite("The report")
struct ReportTests {
  @Test("H4: the radio's fingerprint depends on radio events and their times, and on nothing else")
  func digest() {
    let story = StoryJournal.dead
    let digest = RadioDigest(story)
    #expect(digest.events == 2)
    #expect(RadioDigest(story.without("bolt.moved").without("agent.started")).text == digest.text)
    #expect(RadioDigest(story.without("link.up")).text != digest.text)
    #expect(RadioDigest(story.with("link.up", "link", "3")).text != digest.text)
    let later = story.map {
      var entry = $0
      if entry.event == "link.up" { entry.t += 1 }
      entry.pid += 1
      entry.wall += 5
      return entry
    }
    #expect(RadioDigest(later).text != digest.text)
    #expect(RadioDigest([]).text == "cbf29ce484222325")
  }

  @Test("H1: a line of the timeline has both times, the place, who, and what")
  func line() {
    let entry = JournalEntry(
      t: 4 * 86_400_000_000_000 + 7_987_250_000_000, wall: 2_500_000_000, machine: "phone", process: "latchkey-agent",
      pid: 4, level: "notice", event: "didConnect", message: "", fields: ["peripheral": "P", "a": "b"])
    let line = entry.line(since: 1_000_000_000)
    for part in ["4d 02:13:07.250", "1.500 s", "phone", "latchkey-agent", "didConnect", "a=b peripheral=P"] {
      #expect(line.contains(part), "\(line)")
    }
  }

  @Test("H1: a broken promise shows what was promised and the lines that broke it, and the run is broken")
  func text() throws {
    let result = try #require(Promise.named("unlocked-once")).judge(
      Evidence(StoryJournal.dead.twice("bolt.moved")), scope: "the chapter")
    let report = Report(
      scenario: "days-away", title: "T", seed: 1, days: 5, kept: false, problem: "line 3: in vain", promises: [result],
      timeline: StoryJournal.dead, radio: .init(digest: "d", events: 2), virtualSeconds: 1, wallSeconds: 1,
      beganAt: 1_700_000_000_000_000_000, damagedLines: 0)
    let text = report.text()
    for part in ["BROKEN  unlocked-once", "promised: ", "line 3: in vain", "0 of 1 promises kept", "bolt.moved"] {
      #expect(text.contains(part), "\(text)")
    }
    let json = String(decoding: try report.json(), as: UTF8.self)
    #expect(json.contains("\"kept\" : false"))
  }
}
