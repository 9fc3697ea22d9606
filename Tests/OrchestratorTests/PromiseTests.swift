import Foundation
import Journal
import Testing

@testable import Orchestrator

@Suite("Promises")
struct PromiseTests {
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

  @Test("H1: a promise that was broken is found broken", arguments: doctored)
  func broken(_ doctored: Doctored) throws {
    let promise = try #require(Promise.named(doctored.promise))
    let result = promise.judge(
      Evidence(doctored.entries, machines: StoryJournal.machines), scope: "test")
    #expect(result.judgement == doctored.judgement, "\(result.reason)")
  }

  /// A signal that no step of a story sent.
  static func crash(_ app: [String: String]) -> [String: String] { app.merging(["how": "signal 11"]) { $1 } }

  /// Hours after the return somebody locks from inside, and a phone opens the door.
  static func nightly(_ story: [JournalEntry]) -> [JournalEntry] {
    let moved = story.filter { ["unlock.written", "command.accepted", "bolt.moved"].contains($0.event) }
    guard let locked = moved.first(where: { $0.fields["to"] == "locked" }) else { return story }
    return story.afterwards([locked].with("bolt.moved", "cause", "hand") + moved.suffix(3).map { $0 })
  }

  static let faults: Set = ["death-unseen", "answered-for-the-app", "closed-with-its-link"]

  private func judge(_ name: String, _ evidence: Evidence) throws -> PromiseResult {
    try #require(Promise.named(name)).judge(evidence, scope: "test")
  }

  private func evidence(_ entries: [JournalEntry], isCutOff: Bool = false) -> Evidence {
    Evidence(entries, machines: StoryJournal.machines, isCutOff: isCutOff)
  }

  @Test("H1: a story that went well keeps every promise about it")
  func kept() throws {
    for promise in Promise.all
    where !["woken-on-arrival", "asked-without-evidence"].contains(promise.name) && !Self.faults.contains(promise.name)
    {
      let result = promise.judge(evidence(Self.dead), scope: "test")
      #expect(result.kept, "\(promise.name): \(result.reason)")
    }
    for name in Self.faults {
      let result = try judge(name, evidence(Self.lockFaults))
      #expect(result.kept, "\(name): \(result.reason)")
    }
    for name in ["woken-on-arrival", "request-held", "unlocked-once", "subscription-alive", "told-nothing-twice"] {
      let result = try judge(name, evidence(Self.suspended))
      #expect(result.kept, "\(name): \(result.reason)")
    }
    let result = try judge("asked-without-evidence", evidence(StoryJournal.jumped))
    #expect(result.kept, "\(result.reason)")
  }

  @Test("H1: every promise can break, and no two have one name")
  func complete() {
    let names = Promise.all.map(\.name)
    #expect(Set(names).count == names.count)
    #expect(Set(Self.doctored.filter { $0.judgement == .broken }.map(\.promise)) == Set(names))
  }

  @Test("H1: a promise looks at its own chapter alone")
  func window() throws {
    let entries = Self.dead.without("unlock.written").afterwards(Self.dead)
    let promise = try #require(Promise.named("unlocked-once"))
    let half = Self.dead.count - 1
    let second = Evidence(entries, window: half..<entries.count, machines: StoryJournal.machines)
    #expect(promise.judge(second, scope: "second").kept)
    #expect(!promise.judge(evidence(entries), scope: "both").kept)
  }

  @Test("A10: the second absence of a chapter is judged like the first")
  func absences() throws {
    let good = Self.dead.afterwards(Self.dead)
    let about = ["locked-on-leaving", "link-lost-on-leaving", "request-held", "never-unlocked-while-away"]
    for name in about + ["unlocked-once", "opened-once", "unlock-answered", "relaunched-in-background"] {
      let result = try judge(name, evidence(good))
      #expect(result.kept, "\(name): \(result.reason)")
      #expect(result.reason.contains("2 "), "\(result.reason)")
      // Whatever breaks it in a story of one absence breaks it in the second absence of another.
      let cases = Self.doctored.filter {
        $0.promise == name && $0.judgement == .broken && $0.entries.contains { $0.isMark(Marks.ownerLeft) }
      }
      #expect(!cases.isEmpty)
      for doctored in cases {
        let result = try judge(name, evidence(Self.dead.afterwards(doctored.entries)))
        #expect(result.judgement == .broken, "\(doctored): \(result.reason)")
        #expect(result.reason.contains(" 2 of 2"), "\(doctored): \(result.reason)")
      }
    }
  }

  @Test("A10: a hand that opens the door in the second absence breaks the promise that nothing does (v-twoarrivals)")
  func secondAbsence() throws {
    let later = Self.suspended.inserting(
      "bolt.moved", of: Recorded.lock, ["to": "unlocked", "cause": "hand", "record": "90"], before: Marks.ownerReturned)
    let result = try judge("never-unlocked-while-away", evidence(Self.dead.afterwards(later)))
    #expect(result.judgement == .broken, "\(result.reason)")
    #expect(result.reason.contains("absence 2 of 2"))
  }

  @Test("A10: nothing is kept where nobody recorded anything, there is no lock, or only a stranger left")
  func vacuous() throws {
    let stranger = Self.dead.map { entry in
      var entry = entry
      if entry.process == Marks.process, entry.machine == "phone" { entry.machine = "other" }
      return entry
    }
    let withoutLock = Self.dead.filter { $0.process != Recorded.lock }
    let phoneAlone = StoryJournal.machines.filter { $0.name == "phone" }
    let aboutTheDoor = [
      "never-unlocked-while-away", "locked-on-leaving", "unlocked-once", "opened-once", "unlock-answered",
      "nothing-refused", "every-movement-recorded", "opened-only-on-arrival", "subscription-alive",
      "asked-without-evidence",
    ]
    for promise in Promise.all {
      let empty = promise.judge(evidence([]), scope: "test")
      #expect(empty.judgement == .notJudged, "\(promise.name): \(empty.reason)")
      let unseen = promise.judge(evidence([], isCutOff: true), scope: "test")
      #expect(unseen.judgement == .notReached, "\(promise.name): \(unseen.reason)")
      let nobody = promise.judge(Evidence([], machines: []), scope: "test")
      #expect(nobody.judgement == .notJudged, "\(promise.name): \(nobody.reason)")
      guard aboutTheDoor.contains(promise.name) else { continue }
      let lockless = promise.judge(Evidence(withoutLock, machines: phoneAlone), scope: "test")
      #expect(lockless.judgement == .notJudged, "\(promise.name): \(lockless.reason)")
      #expect(lockless.reason == "the story has no lock")
      // A lock that is in the story, and whose process never came up.
      let silent = promise.judge(evidence(withoutLock), scope: "test")
      #expect(silent.judgement == .notJudged, "\(promise.name): \(silent.reason)")
    }
    for name in ["never-unlocked-while-away", "locked-on-leaving", "request-held", "away-long-enough"] {
      let result = try judge(name, evidence(stranger))
      #expect(result.judgement == .notJudged, "\(name): \(result.reason)")
      #expect(result.reason.contains("other has no agent"), "\(result.reason)")
    }
  }

  @Test("H1: a good story that stops anywhere breaks nothing: what it did not come to is not reached")
  func cutOff() {
    for story in [Self.dead, Self.suspended, Self.lockFaults, StoryJournal.jumped] {
      for length in 0...story.count {
        for promise in Promise.all {
          let result = promise.judge(evidence(Array(story.prefix(length)), isCutOff: true), scope: "test")
          #expect(result.judgement != .broken, "\(promise.name) after \(length): \(result.reason)")
        }
      }
    }
  }

  @Test("H1: what a story waited for in vain is broken, and not only not reached")
  func waitedInVain() throws {
    let story =
      Self.dead.without("bolt.moved").without("unlock.answered")
      + [Self.dead[0]].map { entry in
        var entry = entry
        (entry.process, entry.event, entry.machine) = (Marks.process, Marks.waitFailed, "")
        return entry
      }
    let result = try judge("unlocked-once", evidence(story, isCutOff: true))
    #expect(result.judgement == .broken, "\(result.reason)")
  }

  @Test("A3: what a step of the story ends is no crash: killed, reclaimed, quit, rebooted, hung until it overran")
  func explained() throws {
    func told(_ mark: String, _ how: String, app: [String: String] = StoryJournal.agent) throws -> Judgement {
      let story = Self.suspended
        .inserting("app.ended", of: Recorded.daemon, app.merging(["how": how]) { $1 }, before: Marks.ownerReturned)
        .inserting(mark, of: Marks.process, app, before: "app.ended")
      return try judge("nothing-crashed", evidence(story)).judgement
    }
    #expect(try told(Marks.appKilled, "signal 9") == .kept)
    #expect(try told(Marks.appKilled, "gone") == .kept)
    #expect(try told(Marks.appReclaimed, "reclaimed") == .kept)
    #expect(try told(Marks.appQuit, "quit") == .kept)
    #expect(try told(Marks.machineDown, "signal 15") == .kept)
    #expect(try told(Marks.appHung, "overran its wake budget") == .kept)
    #expect(try told(Marks.appHung, "signal 11") == .broken)
    #expect(try told(Marks.fault, "signal 9") == .broken)
    // Another app's fault explains nothing.
    let story = Self.suspended
      .inserting("app.ended", of: Recorded.daemon, Self.crash(StoryJournal.lock), before: Marks.ownerReturned)
      .inserting(Marks.appKilled, of: Marks.process, StoryJournal.agent, before: "app.ended")
    #expect(try judge("nothing-crashed", evidence(story)).judgement == .broken)
  }

  @Test("A1: a phone opens on its owner's word, once for each time it was given, and not on its agent's alone")
  func word() throws {
    let opening = Self.dead.filter { ["unlock.written", "command.accepted", "bolt.moved"].contains($0.event) }.suffix(3)
      .map { $0 }.with("unlock.written", "because", "word")
    let asked = StoryJournal.jumped.afterwards(opening)
    #expect(try judge("opened-only-on-arrival", evidence(asked)).judgement == .broken)
    let said = asked.inserting(Marks.userUnlocked, of: Marks.process, StoryJournal.agent, before: "unlock.written")
    #expect(try judge("opened-only-on-arrival", evidence(said)).kept)
    #expect(try judge("opened-only-on-arrival", evidence(said.afterwards(opening))).judgement == .broken)
  }

  @Test("A12: an arrival is one movement of the bolt, by as many operations as it takes")
  func operations() throws {
    // Power was lost mid-turn: the lock says that the first failed, and the policy writes another.
    var story = Self.dead
    let write = try #require(story.firstIndex { $0.event == "unlock.written" })
    for event in ["unlock.written", "command.accepted", "unlock.answered"] {
      var entry = try #require(story.last { $0.event == event })
      entry.fields["operation"] = "first"
      if event == "unlock.answered" { entry.fields["result"] = "failed" }
      story.insert(entry, at: event == "unlock.written" ? write : write + 1)
    }
    #expect(try judge("opened-once", evidence(story)).kept)
    #expect(try judge("unlock-answered", evidence(story)).kept)
    // Locked between: somebody left meanwhile, and came back.
    var again = Self.dead
    let opening = try #require(again.last { $0.isOpening })
    var locking = opening
    locking.fields = ["to": "locked", "cause": "leaving", "record": "8"]
    again += [locking, opening]
    #expect(try judge("opened-once", evidence(again)).kept)
    #expect(try judge("opened-once", evidence(Self.dead + [opening])).judgement == .broken)
  }

  @Test("A12: two phones that come home together open the door once, by an operation each")
  func together() throws {
    let second = Self.dead.filter { $0.process != Recorded.lock && $0.process != Recorded.simulator }.map { entry in
      var entry = entry
      if entry.machine == "phone" { entry.machine = "second" }
      if entry.fields["operation"] != nil { entry.fields["operation"] = "of the second" }
      if entry.event == "unlock.answered" { entry.fields["result"] = "notNeeded" }
      return entry
    }
    let both = (Self.dead + second.filter { $0.machine == "second" }).enumerated()
      .sorted { ($0.element.t, $0.offset) < ($1.element.t, $1.offset) }.map(\.element)
    let machines =
      StoryJournal.machines + [
        MachineDescription(name: "second", position: Place(x: 1, y: 1), apps: [.agent])
      ]
    for name in ["opened-once", "unlock-answered", "never-unlocked-while-away", "opened-only-on-arrival"] {
      let result = try #require(Promise.named(name)).judge(Evidence(both, machines: machines), scope: "test")
      #expect(result.kept, "\(name): \(result.reason)")
    }
  }

  @Test("H1: every event that promises read is one that its process records")
  func recorded() throws {
    func sources(_ folders: [String]) throws -> String {
      try folders.map { folder in
        let path = TestPlaces.package + "/" + folder
        return try FileManager.default.subpathsOfDirectory(atPath: path).filter { $0.hasSuffix(".swift") }
          .map { try String(contentsOfFile: path + "/" + $0, encoding: .utf8) }.joined()
      }.joined()
    }
    func check(_ names: [String], in text: String, _ process: String) {
      for name in names {
        let pattern = "(record|journal)\\(\\s*\"" + NSRegularExpression.escapedPattern(for: name) + "\""
        #expect(text.range(of: pattern, options: .regularExpression) != nil, "\(process) never records \(name)")
      }
    }
    check(Recorded.Agent.allCases.map(\.rawValue), in: try sources(["Sources/latchkey-agent"]), Recorded.agent)
    check(
      Recorded.Lock.allCases.map(\.rawValue), in: try sources(["lockfirmware-sim/Sources/latchkey-lock"]),
      Recorded.lock)
    check(
      Recorded.Daemon.allCases.map(\.rawValue), in: try sources(["Sources/BluetoothSystem", "Sources/LatchkeyDaemon"]),
      Recorded.daemon)
    let world = try sources(["Sources/BlueZModel", "Sources/BlueZSimulator"])
    for link in Recorded.Link.allCases { #expect(world.contains("\"\(link.rawValue)\"")) }
  }
}

@Suite("The report")
struct ReportTests {
  @Test("H4: the radio's fingerprint depends on radio events and their times, and on nothing else")
  func digest() {
    let story = StoryJournal.dead
    let digest = RadioDigest(story)
    #expect(digest.events == 3)
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
      Evidence(StoryJournal.dead.twice("bolt.moved"), machines: StoryJournal.machines), scope: "the chapter")
    let report = Report(
      scenario: "days-away", title: "T", seed: 1, days: 5, kept: false, problem: "line 3: in vain", promises: [result],
      timeline: StoryJournal.dead, radio: .init(digest: "d", events: 2), virtualSeconds: 1, wallSeconds: 1,
      beganAt: 1_700_000_000_000_000_000, damagedLines: 0)
    let text = report.text()
    for part in [
      "BROKEN  unlocked-once", "promised: ", "line 3: in vain", "1 of 1 promise broken in days-away", "bolt.moved",
    ] {
      #expect(text.contains(part), "\(text)")
    }
    // The first broken one is what stands last.
    let end = try #require(text.range(of: "BROKEN: 1 of 1"))
    #expect(text[end.upperBound...].contains("BROKEN  unlocked-once: \(result.reason)"))
    let json = String(decoding: try report.json(), as: UTF8.self)
    #expect(json.contains("\"judgement\" : \"broken\""))
  }

  private func report(_ judgements: [Judgement], problem: String? = nil, days: Double = 5) -> Report {
    let promises = judgements.map {
      PromiseResult(name: "p", meaning: "m", rows: [], scope: "s", judgement: $0, reason: "r", evidence: [])
    }
    return Report(
      scenario: "x", title: "T", seed: 1, days: days,
      kept: problem == nil && judgements.contains(.kept) && !judgements.contains(.broken), problem: problem,
      promises: promises, timeline: [], radio: .init(digest: "d", events: 1), virtualSeconds: 1, wallSeconds: 1,
      beganAt: 0, damagedLines: 0)
  }

  @Test("A15: the verdict's words say what happened, and count in good English")
  func words() {
    #expect(report([.kept, .kept]).verdict == "KEPT: 2 of 2 promises kept in x")
    #expect(report([.kept, .notJudged]).verdict == "KEPT: 1 of 2 promises kept in x, 1 not judged")
    #expect(
      report([.kept, .kept], problem: "line 3").verdict
        == "NOT PROVEN: x stopped before its end, 2 of 2 promises kept up to there")
    #expect(report([]).verdict == "NOT PROVEN: x checks no promise")
    #expect(report([.notJudged]).verdict == "NOT PROVEN: nothing was judged in x, 1 not judged")
    #expect(
      report([.broken, .kept, .notReached], problem: "line 3").verdict
        == "BROKEN: 1 of 3 promises broken in x, 1 kept, 1 not reached")
    for (days, words) in [(1, "1 day a chapter"), (5, "5 days a chapter"), (0.5, "0.5 days a chapter")] {
      #expect(report([.kept], days: days).text().contains(words))
    }
    #expect(report([.kept]).text().contains("(1 event)"))
  }
}
