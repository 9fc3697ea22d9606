import Foundation
import Journal
import JournalEvents
import StoryTesting
import Testing

@testable import Stories
@testable import Worlds

@Suite("Promises")
struct PromiseTests {
  @Test("H1: a promise that was broken is found broken", arguments: doctored)
  func broken(_ doctored: Doctored) throws {
    let promise = try #require(Promise.named(doctored.promise))
    let result = promise.judge(
      Evidence(doctored.entries, machines: StoryJournal.machines), scope: "test")
    #expect(result.judgement == doctored.judgement, "\(result.reason)")
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
    where !["woken-on-arrival", "asked-without-evidence", "refusals-logged"].contains(promise.name)
      && !Self.faults.contains(promise.name)
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

  @Test("L8: a lock that stays open for a phone that stays breaks no promise, and one that stays open for nobody does")
  func somebodyStays() throws {
    var entries = Self.dead.without(Recorded.Lock.boltMoved)
    let left = try #require(entries.firstIndex { $0.isMark(.ownerLeft) })
    func phone2(_ event: Recorded.Agent, after nanoseconds: Int64) -> JournalEntry {
      JournalEntry(
        t: entries[left].t + nanoseconds, wall: entries[left].wall + nanoseconds, machine: "phone2",
        process: Recorded.agent, pid: 7, level: "info", event: event.rawValue, message: "", fields: [:])
    }
    entries.insert(phone2(.statusAnswered, after: 0), at: left)
    #expect(try judge("locked-on-leaving", evidence(entries)).judgement == .notJudged)
    entries.insert(phone2(.didDisconnect, after: 1), at: left + 2)
    #expect(try judge("locked-on-leaving", evidence(entries)).judgement == .broken)
  }

  @Test("H1: every promise can break, and no two have one name")
  func complete() {
    let names = Promise.all.map(\.name)
    #expect(Set(names).count == names.count)
    #expect(Set(Self.doctored.filter { $0.judgement == .broken }.map(\.promise)) == Set(names))
  }

  @Test("H1: a promise looks at its own chapter alone")
  func window() throws {
    let entries = Self.dead.without(Recorded.Agent.unlockWritten).afterwards(Self.dead)
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
      // Whatever breaks it in a story of one absence also breaks it in the second absence of another story.
      let cases = Self.doctored.filter {
        $0.promise == name && $0.judgement == .broken && $0.entries.contains { $0.isMark(.ownerLeft) }
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
      Recorded.Lock.boltMoved, [.to: "unlocked", .cause: "hand", .record: "90"], before: Recorded.Story.ownerReturned)
    let result = try judge("never-unlocked-while-away", evidence(Self.dead.afterwards(later)))
    #expect(result.judgement == .broken, "\(result.reason)")
    #expect(result.reason.contains("absence 2 of 2"))
  }

  @Test("A10: no promise is kept if nothing was recorded, there is no lock, or only a stranger left")
  func vacuous() throws {
    let stranger = Self.dead.map { entry in
      var entry = entry
      if entry.process == Recorded.orchestrator, entry.machine == "phone" { entry.machine = "other" }
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
      // A lock that is in the story, but whose process never started.
      let silent = promise.judge(evidence(withoutLock), scope: "test")
      #expect(silent.judgement == .notJudged, "\(promise.name): \(silent.reason)")
    }
    for name in ["never-unlocked-while-away", "locked-on-leaving", "request-held", "away-long-enough"] {
      let result = try judge(name, evidence(stranger))
      #expect(result.judgement == .notJudged, "\(name): \(result.reason)")
      #expect(result.reason.contains("other has no agent"), "\(result.reason)")
    }
  }

  @Test("H1: an absence that goes on through a chapter is judged there")
  func wholeChapterAway() throws {
    let killed = try #require(Self.dead.firstIndex { $0.isMark(.daemonKilled) })
    let opened = Self.dead.inserting(
      Recorded.Lock.boltMoved, [.to: "unlocked", .cause: "hand", .record: "90"], before: Recorded.Story.daemonKilled)
    for (story, judgement) in [(Self.dead, Judgement.kept), (opened, .broken)] {
      let result = try judge(
        "never-unlocked-while-away", Evidence(story, window: killed..<killed + 2, machines: StoryJournal.machines))
      #expect(result.judgement == judgement, "\(result.reason)")
    }
  }

  @Test("H1: a phone that is far away is at nobody's home, whether or not its owner departed by the story's word")
  func farPhone() throws {
    let opened = Self.dead.inserting(
      Recorded.Lock.boltMoved, [.to: "unlocked", .cause: "hand", .record: "90"], before: Recorded.Story.daemonKilled)
    func judged(_ place: Place, _ entries: [JournalEntry]) throws -> PromiseResult {
      let guest = MachineDescription(name: "guest", position: place, apps: [.agent])
      return try judge("never-unlocked-while-away", Evidence(entries, machines: StoryJournal.machines + [guest]))
    }
    #expect(try judged(Place(x: 2, y: 0), opened).judgement == .notJudged)
    #expect(try judged(Place(x: 300, y: 0), opened).judgement == .broken)
    let carried = opened.inserting(
      Recorded.Story.moved, [.x: "300", .y: "0", .fromX: "2", .fromY: "0", .way: "jump"],
      before: Recorded.Story.ownerLeft
    ).map { entry in
      var entry = entry
      if entry.isMark(.moved) { entry.machine = "guest" }
      return entry
    }
    #expect(try judged(Place(x: 2, y: 0), carried).judgement == .broken)
  }

  @Test("L4: an unlock whose answer was lost with the link is answered when the phone asks what became of it")
  func answeredLater() throws {
    func told(_ result: String) throws -> PromiseResult {
      let answer: [JournalField: String] = [.operation: "3", .result: result]
      return try judge(
        "unlock-answered",
        evidence(
          Self.dead.inserting(Recorded.Agent.statusAnswered, answer, before: Recorded.Agent.unlockAnswered).without(
            Recorded.Agent.unlockAnswered)))
    }
    #expect(try told("done").kept)
    #expect(try told("failed").judgement == .broken)
    #expect(try told("unknownOperation").judgement == .broken)
  }

  @Test(
    "H1: what the story itself does to a link after the lock's death is not the lock's death that the phone notices")
  func disturbed() throws {
    // The phone reboots after it has talked with the relaunched lock, or before.
    for (place, judgement) in [(Recorded.Story.appHung, Judgement.kept), (.appKilled, .broken)] {
      var story = Self.lockFaults.inserting(Recorded.Radio.linkDown, before: place)
      if place == .appHung { story = story.inserting(Recorded.Story.machineDown, before: Recorded.Radio.linkDown) }
      if place == .appKilled {
        story = Self.lockFaults.inserting(Recorded.Radio.linkDown, before: Recorded.Agent.statusAnswered)
      }
      let result = try judge("death-unseen", evidence(story))
      #expect(result.judgement == judgement, "\(result.reason)")
    }
    let early = Self.lockFaults.inserting(Recorded.Story.fault, before: Recorded.Agent.statusAnswered)
      .inserting(Recorded.Radio.linkDown, before: Recorded.Agent.statusAnswered)
    #expect(try judge("death-unseen", evidence(early)).judgement == .notJudged)
    // A hand at the lock ends no link.
    let hand = Self.lockFaults.inserting(
      Recorded.Story.fault, [.about: Recorded.atTheLock], before: Recorded.Agent.statusAnswered
    ).inserting(Recorded.Radio.linkDown, before: Recorded.Agent.statusAnswered)
    #expect(try judge("death-unseen", evidence(hand)).judgement == .broken)
  }

  @Test("H1: another phone's lost link has nothing to do with the request of the one that asked a hung lock")
  func otherPhonesLink() throws {
    let other: [JournalField: String] = [.central: "guest", .peripheral: "door", .link: "9"]
    let stays = Self.lockFaults.inserting(Recorded.Radio.linkDown, other, before: Recorded.Story.appContinued)
    #expect(try judge("answered-for-the-app", evidence(stays)).kept)
    let closed = Self.lockFaults.without(Recorded.Radio.linkDown).without(Recorded.Daemon.requestAbandoned)
      .inserting(Recorded.Radio.linkDown, other, before: Recorded.Story.appContinued, last: true)
    #expect(try judge("closed-with-its-link", evidence(closed)).judgement == .notJudged)
  }

  @Test("H1: a door that stayed shut on an arrival stayed so for a reason, which the verdict names")
  func causes() throws {
    let shut = Self.dead.filter { !$0.isOpening }
    func reason(_ story: [JournalEntry]) throws -> String {
      let result = try judge("opened-once", evidence(story))
      #expect(result.judgement == .broken)
      return result.reason
    }
    let jam: [JournalField: String] = [.to: "unlocked", .cause: "phone", .record: "3"]
    #expect(
      try reason(shut.inserting(Recorded.Lock.boltJammed, jam, before: Recorded.Agent.unlockAnswered)).hasSuffix(
        "it jammed"))
    #expect(
      try reason(shut.with(Recorded.Agent.unlockAnswered, .result, "restricted")).hasSuffix(
        "the lock answered phone with restricted"))
    let mute = shut.without(Recorded.Agent.unlockAnswered).without(Recorded.Agent.unlockWritten)
    #expect(
      try reason(
        mute.inserting(Recorded.Agent.unlockAsked, [.because: "noApproach"], before: Recorded.Lock.commandAccepted)
      )
      .hasSuffix("phone asked its owner (noApproach)"))
    #expect(try reason(mute).hasSuffix("phone wrote no unlock"))
    #expect(
      try reason(mute.filter { !$0.is(Recorded.Radio.linkUp) || $0[.link] == "1" }).hasSuffix(
        "no link of phone came up"))
    #expect(
      try reason(mute.inserting(Recorded.Story.appQuit, Self.agent, before: Recorded.Story.ownerReturned)).hasSuffix(
        "the user had quit the agent on phone"))
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
      Self.dead.without(Recorded.Lock.boltMoved).without(Recorded.Agent.unlockAnswered)
      + [Self.dead[0]].map { entry in
        var entry = entry
        (entry.process, entry.event, entry.machine) = (Recorded.orchestrator, Recorded.Story.waitFailed.rawValue, "")
        return entry
      }
    let result = try judge("unlocked-once", evidence(story, isCutOff: true))
    #expect(result.judgement == .broken, "\(result.reason)")
  }

  @Test("A3: an end caused by the story is not a crash: killed, reclaimed, quit, rebooted, hung until it overran")
  func explained() throws {
    func told(_ mark: Recorded.Story, _ how: String, app: [JournalField: String] = StoryJournal.agent) throws
      -> Judgement
    {
      let story = Self.suspended
        .inserting(Recorded.Daemon.appEnded, app.and([.how: how]), before: Recorded.Story.ownerReturned)
        .inserting(mark, app, before: Recorded.Daemon.appEnded)
      return try judge("nothing-crashed", evidence(story)).judgement
    }
    #expect(try told(.appKilled, "signal 9") == .kept)
    #expect(try told(.appKilled, "gone") == .kept)
    #expect(try told(.appReclaimed, "reclaimed") == .kept)
    #expect(try told(.appQuit, "quit") == .kept)
    #expect(try told(.machineDown, "signal 15") == .kept)
    #expect(try told(.appHung, "overran its wake budget") == .kept)
    #expect(try told(.appHung, "signal 11") == .broken)
    #expect(try told(.fault, "signal 9") == .broken)
    // Another app's fault explains nothing.
    let story = Self.suspended
      .inserting(Recorded.Daemon.appEnded, Self.crash(StoryJournal.lock), before: Recorded.Story.ownerReturned)
      .inserting(Recorded.Story.appKilled, StoryJournal.agent, before: Recorded.Daemon.appEnded)
    #expect(try judge("nothing-crashed", evidence(story)).judgement == .broken)
  }

  @Test("L5: a refusal counts as logged if the answer names a record that is newer than all before it")
  func refusalsLogged() throws {
    let refused = Self.dead.with(Recorded.Agent.unlockAnswered, .result, "revoked")
      .with(Recorded.Agent.unlockAnswered, .record, "99")
    #expect(try judge("refusals-logged", evidence(refused)).kept)
    // The same answer again is of the same record.
    #expect(try judge("refusals-logged", evidence(refused.twice(Recorded.Agent.unlockAnswered))).kept)
    let jammed = Self.dead.with(Recorded.Agent.unlockAnswered, .result, "jammed")
    #expect(try judge("refusals-logged", evidence(jammed)).judgement == .notJudged)
  }

  @Test("L4: a door may open for certain phones only, and for none whose write nobody recorded")
  func openedOnlyFor() {
    func judge(_ phones: [String], _ entries: [JournalEntry]) -> Judgement {
      Expectation(kind: .openedOnlyFor, app: nil, machines: phones).promise.judge(evidence(entries), scope: "test")
        .judgement
    }
    #expect(judge(["phone"], Self.dead) == .kept)
    #expect(judge([], Self.dead) == .broken)
    #expect(judge(["other"], Self.dead) == .broken)
    #expect(judge(["phone"], Self.dead.without(Recorded.Agent.unlockWritten)) == .broken)
    #expect(judge([], Self.dead.without(Recorded.Lock.boltMoved)) == .kept)
    #expect(judge([], Self.dead.filter { $0.process != Recorded.lock }) == .notJudged)
  }

  @Test("A1: a command that was refused opens nothing later")
  func refusedWord() throws {
    let opening = Self.dead.filter {
      $0.is(Recorded.Agent.unlockWritten) || $0.is(Recorded.Lock.commandAccepted) || $0.is(Recorded.Lock.boltMoved)
    }.suffix(3)
      .map { $0 }.with(Recorded.Agent.unlockWritten, .because, "word")
    let asked = StoryJournal.jumped.afterwards(opening)
    let said = asked.inserting(Recorded.Story.userUnlocked, StoryJournal.agent, before: Recorded.Agent.unlockWritten)
    let refused = said.inserting(
      Recorded.Story.userAnswered, [.about: "unlock", .outcome: "refused"], before: Recorded.Agent.unlockWritten)
    #expect(try judge("opened-only-on-arrival", evidence(said)).kept)
    #expect(try judge("opened-only-on-arrival", evidence(refused)).judgement == .broken)
  }

  @Test("A1: a phone opens on its owner's word, once for each time it was given, and not on its agent's alone")
  func word() throws {
    let opening = Self.dead.filter {
      $0.is(Recorded.Agent.unlockWritten) || $0.is(Recorded.Lock.commandAccepted) || $0.is(Recorded.Lock.boltMoved)
    }.suffix(3)
      .map { $0 }.with(Recorded.Agent.unlockWritten, .because, "word")
    let asked = StoryJournal.jumped.afterwards(opening)
    #expect(try judge("opened-only-on-arrival", evidence(asked)).judgement == .broken)
    let said = asked.inserting(Recorded.Story.userUnlocked, StoryJournal.agent, before: Recorded.Agent.unlockWritten)
    #expect(try judge("opened-only-on-arrival", evidence(said)).kept)
    #expect(try judge("opened-only-on-arrival", evidence(said.afterwards(opening))).judgement == .broken)
  }

  @Test("A13: a command on its way to a lock that restarted is not a refusal; without a restart it is one")
  func earlierRun() throws {
    let refused = StoryJournal.suspended.inserting(
      Recorded.Lock.commandRefused, [.reason: "earlierRun"], before: Recorded.Lock.commandAccepted, last: true)
    #expect(try judge("nothing-refused", evidence(refused)).judgement == .broken)
    let restarted = refused.inserting(Recorded.Lock.started, before: Recorded.Lock.commandRefused, last: true)
    let result = try judge("nothing-refused", evidence(restarted))
    #expect(result.judgement == .kept)
    #expect(result.reason.contains("was on its way"))
    #expect(
      try judge(
        "nothing-refused", evidence(restarted.with(Recorded.Lock.commandRefused, .reason, "authenticationFailed"))
      )
      .judgement == .broken)
  }

  @Test("A12: an arrival is one movement of the bolt, by as many operations as it takes")
  func operations() throws {
    // The power failed during the turn: the lock says that the first command failed, and the policy writes another.
    var story = Self.dead
    let write = try #require(story.firstIndex { $0.is(Recorded.Agent.unlockWritten) })
    let isPart =
      [
        { $0.is(Recorded.Agent.unlockWritten) }, { $0.is(Recorded.Lock.commandAccepted) },
        { $0.is(Recorded.Agent.unlockAnswered) },
      ] as [(JournalEntry) -> Bool]
    for (index, isThis) in isPart.enumerated() {
      var entry = try #require(story.last(where: isThis))
      entry[.operation] = "first"
      if entry.is(Recorded.Agent.unlockAnswered) { entry[.result] = "failed" }
      story.insert(entry, at: index == 0 ? write : write + 1)
    }
    #expect(try judge("opened-once", evidence(story)).kept)
    #expect(try judge("unlock-answered", evidence(story)).kept)
    // It was locked in between: a person left and came back.
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
      if entry.is(Recorded.Agent.unlockAnswered) { entry.fields["result"] = "notNeeded" }
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

  @Test("H6: a cancelled attempt and a repeated request are answered once more; nothing else is told twice")
  func toldTwice() throws {
    let app = InstalledApp(name: "a", bundleIdentifier: "org.example.a", executable: "a", propertyList: Data())
    func judge(_ calls: [(call: String, isAsked: Bool)]) -> Judgement {
      let launch = JournalEntry(
        t: 0, wall: 0, machine: "phone", process: "latchkeyd", pid: 1, level: "notice", event: "app.launched",
        message: "launched", fields: ["app": app.bundleIdentifier])
      let entries = calls.enumerated().map { index, told in
        var fields = ["call": told.call, "manager": "1", "peer": "P"]
        if told.isAsked { fields["asked"] = "yes" }
        return JournalEntry(
          t: Int64(index), wall: 0, machine: "phone", process: "a", pid: 7, level: "notice", event: "told",
          message: told.call, fields: fields)
      }
      let promise = Expectation(kind: .toldNothingTwice, app: app, machines: ["phone"]).promise
      return promise.judge(evidence([launch] + entries), scope: "test").judgement
    }
    #expect(judge([("disconnected", true), ("disconnected", true), ("connected", false)]) == .kept)
    #expect(judge([("connected", false), ("connected", true), ("disconnected", true)]) == .kept)
    #expect(judge([("disconnected", true), ("disconnected", false)]) == .broken)
    #expect(judge([("connected", false), ("connected", false)]) == .broken)
    #expect(judge([("connected", true), ("connected", false)]) == .broken)
  }
}
