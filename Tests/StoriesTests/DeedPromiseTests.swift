import Foundation
import Journal
import JournalEvents
import StoryTesting
import Testing

@testable import Stories
@testable import Worlds

/// Promises about what a person, the story or a lock did.
extension PromiseTests {
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
    // A hang that is over for minutes explains nothing more.
    for end in [Recorded.Story.appContinued, .machineDown] {
      var later = Self.suspended
        .inserting(Recorded.Story.appHung, StoryJournal.agent, before: Recorded.Story.ownerLeft)
        .inserting(end, StoryJournal.agent, before: Recorded.Story.ownerLeft)
        .inserting(
          Recorded.Daemon.appEnded, StoryJournal.agent.and([.how: "overran its wake budget"]),
          before: Recorded.Story.ownerReturned
        )
        .inserting(Recorded.Daemon.appLaunched, StoryJournal.agent, before: Recorded.Daemon.appEnded)
      let over = try #require(later.firstIndex { $0.is(end) })
      for index in later.indices where index > over { later[index].t += 120_000_000_000 }
      #expect(try judge("nothing-crashed", evidence(later)).judgement == .broken, "\(end)")
    }
    // Another app's fault explains nothing.
    let story = Self.suspended
      .inserting(Recorded.Daemon.appEnded, Self.crash(StoryJournal.lock), before: Recorded.Story.ownerReturned)
      .inserting(Recorded.Story.appKilled, StoryJournal.agent, before: Recorded.Daemon.appEnded)
    #expect(try judge("nothing-crashed", evidence(story)).judgement == .broken)
  }

  @Test("A3: an app that hangs explains no end on a machine that was never linked with its own") func hangElsewhere()
    throws
  {
    for machine in ["phone", "tablet"] {
      var story = Self.suspended
        .inserting(
          Recorded.Daemon.appEnded, StoryJournal.agent.and([.how: "overran its wake budget"]),
          before: Recorded.Story.ownerReturned
        )
        .inserting(Recorded.Story.appHung, StoryJournal.lock, before: Recorded.Daemon.appEnded)
        .inserting(Recorded.Radio.linkUp, [.central: "phone", .peripheral: "door"], before: Recorded.Story.ownerLeft)
      let ended = try #require(story.firstIndex { $0.is(Recorded.Daemon.appEnded) })
      story[ended].machine = machine
      #expect(try judge("nothing-crashed", evidence(story)).judgement == (machine == "phone" ? .kept : .broken))
    }
  }

  @Test("L7: an arrival at the end of which the agent asked opens nothing at night") func afterTheQuestion() throws {
    let isUnlocking = { (entry: JournalEntry) in
      entry.isOpening || entry.is(Recorded.Agent.unlockWritten) || entry.is(Recorded.Lock.commandAccepted)
    }
    let opening = Self.dead.filter(isUnlocking).suffix(3).map {
      var entry = $0
      entry.t += 8 * 3_600_000_000_000
      return entry
    }
    let shut = Self.dead.filter { !isUnlocking($0) && !$0.is(Recorded.Agent.unlockAnswered) }
    // A lock that hangs, or has no power, may open late.
    let late = shut.afterwards(opening)
    #expect(try judge("opened-only-on-arrival", evidence(late)).kept)
    let asked = late.inserting(Recorded.Agent.unlockAsked, before: Recorded.Agent.unlockWritten)
    #expect(try judge("opened-only-on-arrival", evidence(asked)).judgement == .broken)
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

  @Test("A1: an unlock is its owner's also if another phone's lock command is accepted while the bolt still turns")
  func lockMeanwhile() throws {
    let opening = Self.dead.filter {
      $0.is(Recorded.Agent.unlockWritten) || $0.is(Recorded.Lock.commandAccepted) || $0.is(Recorded.Lock.boltMoved)
    }.suffix(3)
      .map { $0 }.with(Recorded.Agent.unlockWritten, .because, "word")
    var said = StoryJournal.jumped.afterwards(opening)
      .inserting(Recorded.Story.userUnlocked, StoryJournal.agent, before: Recorded.Agent.unlockWritten)
    let moved = try #require(said.lastIndex { $0.is(Recorded.Lock.boltMoved) })
    var lock = try #require(said.last { $0.is(Recorded.Lock.commandAccepted) })
    lock[.command] = "lock"
    lock[.operation] = "77"
    lock.t = said[moved].t
    said.insert(lock, at: moved)
    #expect(try judge("opened-only-on-arrival", evidence(said)).kept)
  }

  @Test("L7: a word holds for a short while: a phone that keeps it, and opens minutes later, breaks the promise")
  func oldWord() throws {
    let opening = Self.dead.filter {
      $0.is(Recorded.Agent.unlockWritten) || $0.is(Recorded.Lock.commandAccepted) || $0.is(Recorded.Lock.boltMoved)
    }.suffix(3)
      .map { $0 }.with(Recorded.Agent.unlockWritten, .because, "word")
    let said = StoryJournal.jumped.afterwards(opening)
      .inserting(Recorded.Story.userUnlocked, StoryJournal.agent, before: Recorded.Agent.unlockWritten)
    let given = try #require(said.firstIndex { $0.is(Recorded.Story.userUnlocked) })
    func judged(after seconds: Int64) throws -> PromiseResult {
      var story = said
      for index in story.indices where index > given { story[index].t += seconds * 1_000_000_000 }
      return try judge("opened-only-on-arrival", evidence(story))
    }
    // An agent that has to be started first, and a lock that is tried again.
    #expect(try judged(after: 60).kept)
    let late = try judged(after: 180)
    #expect(late.judgement == .broken && late.reason.contains("word"), "\(late.reason)")
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

  @Test(
    "A13: a command for which the lock's bluetoothd had lost the subscription is not a refusal, and is written again")
  func lostSubscription() throws {
    let refused = StoryJournal.suspended.inserting(
      Recorded.Lock.commandRefused, [.reason: "unsubscribed"], before: Recorded.Lock.commandAccepted, last: true)
    #expect(try judge("nothing-refused", evidence(refused)).judgement == .broken)
    #expect(try judge("unlocked-once", evidence(refused)).kept)
    let crashed = refused.inserting(
      Recorded.Radio.bluetoothdStopped, [.machine: "door", .cause: "crashed"], before: Recorded.Lock.commandRefused,
      last: true)
    #expect(try judge("nothing-refused", evidence(crashed)).kept)
    #expect(
      try judge("nothing-refused", evidence(crashed.with(Recorded.Radio.bluetoothdStopped, .machine, "phone")))
        .judgement == .broken)
    let write = try #require(refused.lastIndex { $0.is(Recorded.Agent.unlockWritten) })
    var twice = refused
    twice.insert(refused[write], at: write)
    #expect(try judge("unlocked-once", evidence(twice)).judgement == .broken)
    let asked: [JournalField: String] = [
      .operation: refused[write][.operation] ?? "", .result: "unknownOperation", .machine: "phone",
    ]
    let told = twice.inserting(Recorded.Agent.statusAnswered, asked, before: Recorded.Agent.unlockWritten, last: true)
    let result = try judge("unlocked-once", evidence(told))
    #expect(result.kept && result.reason.contains("one unlock, written 2 times"), "\(result.reason)")
    let other = told.with(Recorded.Agent.statusAnswered, .operation, "77")
    #expect(try judge("unlocked-once", evidence(other)).judgement == .broken)
  }

  @Test("L3: what an owner says once the door is open is not the arrival's")
  func wordsAfterwards() throws {
    let arrived = Self.dead
    let opening = try #require(arrived.lastIndex { $0.is(Recorded.Lock.boltMoved) })
    func then(_ event: Recorded.Agent, because reason: String? = nil) throws -> PromiseResult {
      var word = try #require(arrived.last { $0.is(Recorded.Agent.unlockWritten) })
      word.event = event.rawValue
      word.t = arrived[opening].t + 60_000_000_000
      word.fields[JournalField.because.rawValue] = reason
      var movement = arrived[opening]
      movement.t = word.t + 1
      movement.fields[JournalField.to.rawValue] = "locked"
      let moves = event == .lockWritten ? [movement] : []
      return try judge("unlocked-once", evidence(arrived + [word] + moves))
    }
    #expect(try then(.unlockWritten, because: "word").kept)
    #expect(try then(.lockWritten).kept)
    #expect(try then(.unlockWritten, because: "approach").judgement == .broken)
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

  @Test(
    "L4: an unlock that the lock refuses for somebody who locked the door at home breaks no promise of an answer",
    arguments: ["lockedAtHome", "somebodyInside"])
  func keptForSomebody(_ result: String) throws {
    let refused = Self.dead.with(Recorded.Agent.unlockAnswered, .result, result)
    // It had locked by itself behind its owner, so nobody at home can have locked it.
    #expect(try judge("unlock-answered", evidence(refused)).judgement == .broken)
    let byHand = Self.lockedByHand(refused, from: "inside")
    let finding = try judge("unlock-answered", evidence(byHand))
    #expect(finding.judgement == .notJudged, "\(finding.reason)")
    #expect(finding.reason.contains("somebody at home had locked the door"), "\(finding.reason)")
    // Another reason is another matter.
    let jammed = byHand.with(Recorded.Agent.unlockAnswered, .result, "jammed")
    #expect(try judge("unlock-answered", evidence(jammed)).judgement == .broken)
  }

  @Test(
    "L4: no arrival opens a door that somebody inside has locked, and that breaks no promise of an opening",
    arguments: ["opened-once", "unlocked-once"])
  func lockedFromInside(_ promise: String) throws {
    let shut = Self.dead.filter { !$0.isOpening }.with(Recorded.Agent.unlockAnswered, .result, "somebodyInside")
    // It had locked by itself behind its owner, so nobody inside can have locked it.
    #expect(try judge(promise, evidence(shut)).judgement == .broken)
    let byHand = Self.lockedByHand(shut, from: "inside")
    let finding = try judge(promise, evidence(byHand))
    #expect(finding.judgement == .notJudged, "\(finding.reason)")
    #expect(finding.reason.contains("somebody inside had locked the door"), "\(finding.reason)")
    // What is locked from outside, or by a phone, opens to an approach that is clear enough.
    let atHome = try judge(promise, evidence(byHand.with(Recorded.Agent.unlockAnswered, .result, "lockedAtHome")))
    #expect(atHome.judgement == .broken)
    #expect(atHome.reason.contains("locked while somebody was at home"), "\(atHome.reason)")
  }

  /// The story with a bolt that a hand has locked, on this side of the door.
  private static func lockedByHand(_ story: [JournalEntry], from side: String?) -> [JournalEntry] {
    story.map { entry in
      var entry = entry
      if entry.is(Recorded.Lock.boltMoved), entry[.to] == "locked" {
        entry[.cause] = "hand"
        entry[.from] = side
      }
      return entry
    }
  }

  @Test(
    "L4: a lock that answers that somebody inside has locked, after a key has, breaks the promises of an opening",
    arguments: ["opened-once", "unlocked-once", "unlock-answered"], ["outside", nil])
  func lockedFromOutside(_ promise: String, _ side: String?) throws {
    let shut = Self.dead.filter { !$0.isOpening }.with(Recorded.Agent.unlockAnswered, .result, "somebodyInside")
    let finding = try judge(promise, evidence(Self.lockedByHand(shut, from: side)))
    #expect(finding.judgement == .broken, "\(finding.reason)")
    // What was locked at home, on whichever side, is kept for those who are there.
    let kept = Self.lockedByHand(shut, from: side).with(Recorded.Agent.unlockAnswered, .result, "lockedAtHome")
    #expect(try judge("unlock-answered", evidence(kept)).judgement == .notJudged)
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
