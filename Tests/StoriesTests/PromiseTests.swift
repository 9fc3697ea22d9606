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

  func judge(_ name: String, _ evidence: Evidence) throws -> PromiseResult {
    try #require(Promise.named(name)).judge(evidence, scope: "test")
  }

  func evidence(_ entries: [JournalEntry], isCutOff: Bool = false) -> Evidence {
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

  @Test("L3: a link of the phone with another device is no link with the door", arguments: [false, true])
  func otherDevice(isDoor: Bool) throws {
    var entries = Self.dead
    for index in entries.indices where entries[index].isLink(.linkUp) || entries[index].isLink(.linkDown) {
      entries[index] = JournalEntry(
        t: entries[index].t, wall: entries[index].wall, machine: "", process: Recorded.simulator, pid: 0,
        level: "notice", event: entries[index].event, message: "",
        fields: [JournalField.central: "phone", .peripheral: "door"].named)
    }
    let home = try #require(entries.firstIndex { $0.isMark(.ownerReturned) })
    entries.insert(
      JournalEntry(
        t: entries[home - 1].t, wall: entries[home - 1].wall, machine: "", process: Recorded.simulator, pid: 0,
        level: "notice", event: Recorded.Radio.linkUp.rawValue, message: "",
        fields: [JournalField.central: "phone", .peripheral: isDoor ? "door" : "watch"].named), at: home)
    let result = try judge("link-lost-on-leaving", evidence(entries))
    #expect(result.judgement == (isDoor ? .broken : .kept), "\(result.reason)")
  }

  @Test("L2: a lock in passage mode locks behind nobody, which breaks no promise")
  func passage() throws {
    var entries = Self.dead.without(Recorded.Lock.boltMoved)
    let left = try #require(entries.firstIndex { $0.isMark(.ownerLeft) })
    for (mode, judgement) in [("normal", Judgement.broken), ("passage", .notJudged)] {
      entries.insert(
        JournalEntry(
          t: entries[left].t, wall: entries[left].wall, machine: "door", process: Recorded.lock, pid: 20,
          level: "notice", event: Recorded.Lock.modeChanged.rawValue, message: "",
          fields: [JournalField.mode: mode].named), at: left + (mode == "passage" ? 1 : 0))
      let result = try judge("locked-on-leaving", evidence(entries))
      #expect(result.judgement == judgement, "\(mode): \(result.reason)")
    }
  }

  @Test("L3: an agent that is woken because its Bluetooth went off could renew its request, which breaks no promise")
  func wokenForItsRadio() throws {
    var entries = Self.suspended
    let home = try #require(entries.firstIndex { $0.isMark(.ownerReturned) })
    func line(_ event: some JournalEvent, _ process: String, _ fields: [JournalField: String]) -> JournalEntry {
      JournalEntry(
        t: entries[home - 1].t, wall: entries[home - 1].wall, machine: "phone", process: process, pid: 10,
        level: "info", event: event.rawValue, message: "", fields: fields.named)
    }
    entries.insert(
      contentsOf: [
        line(Recorded.Daemon.appResumed, Recorded.daemon, StoryJournal.agent),
        line(Recorded.Agent.stateUpdated, Recorded.agent, [.state: "poweredOff"]),
        line(Recorded.Daemon.appSuspended, Recorded.daemon, StoryJournal.agent),
      ], at: home)
    #expect(try judge("request-held", evidence(entries)).judgement == .broken)
    entries.insert(line(Recorded.Story.fault, Recorded.orchestrator, [:]), at: home)
    let result = try judge("request-held", evidence(entries))
    #expect(result.judgement == .notJudged && result.reason.contains("told of its radio"), "\(result.reason)")
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
        "the lock answered phone with restricted: its mode does not allow it"))
    let mute = shut.without(Recorded.Agent.unlockAnswered).without(Recorded.Agent.unlockWritten)
    #expect(
      try reason(
        mute.inserting(Recorded.Agent.unlockAsked, [.because: "noApproach"], before: Recorded.Lock.commandAccepted)
      )
      .hasSuffix("phone asked its owner (noApproach)"))
    #expect(try reason(mute).hasSuffix("phone wrote no unlock"))
    let hung = StoryJournal.lock.and([.machine: "door"])
    #expect(
      try reason(mute.inserting(Recorded.Story.appHung, hung, before: Recorded.Story.ownerReturned))
        .hasSuffix("the lock's app hung"))
    #expect(
      try reason(
        mute.without(Recorded.Agent.offerReceived)
          .inserting(Recorded.Daemon.linkBarren, [.peripheral: "P"], before: Recorded.Lock.commandAccepted)
      )
      .hasSuffix("as if one of the two had lost their pairing"))
    #expect(
      try reason(mute.filter { !$0.is(Recorded.Radio.linkUp) || $0[.link] == "1" }).hasSuffix(
        "no link of phone came up"))
    #expect(
      try reason(mute.inserting(Recorded.Story.appQuit, Self.agent, before: Recorded.Story.ownerReturned)).hasSuffix(
        "the user had quit the agent on phone"))
    #expect(
      try reason(mute.inserting(Recorded.Story.fault, Self.switchedOff, before: Recorded.Story.ownerReturned))
        .hasSuffix(
          "the user had switched Bluetooth off on phone when the agent was not running, which gives up what it asked for"
        ))
  }

  @Test(
    "H1: an agent that had been quit, and is opened at the door, asks because it saw no approach: the quitting is the reason"
  )
  func quitBeforeAsking() throws {
    func reason(because doubt: String, quitBefore event: Recorded.Story) throws -> String {
      let story = Self.dead.filter { !$0.isOpening }.without(Recorded.Agent.unlockAnswered)
        .without(Recorded.Agent.unlockWritten)
        .inserting(Recorded.Story.appQuit, Self.agent, before: event)
        .inserting(Recorded.Story.appOpened, Self.agent, before: Recorded.Lock.commandAccepted)
        .inserting(Recorded.Agent.unlockAsked, [.because: doubt], before: Recorded.Lock.commandAccepted)
      return try judge("opened-once", evidence(story)).reason
    }
    #expect(
      try reason(because: "noApproach", quitBefore: .ownerReturned).hasSuffix("the user had quit the agent on phone"))
    #expect(try reason(because: "jammed", quitBefore: .ownerReturned).hasSuffix("phone asked its owner (jammed)"))
    #expect(try reason(because: "noApproach", quitBefore: .ownerLeft).hasSuffix("the user had quit the agent on phone"))
  }

  private static let switchedOff: [JournalField: String] = [.about: Recorded.bluetoothSwitchedOff]

  @Test("S12: what the agent discovers after the restored link was lost again breaks nothing")
  func discoveredAfterLoss() throws {
    let story = Self.dead.inserting(Recorded.Agent.discoveryStarted, before: Recorded.Agent.offerReceived)
    #expect(try judge("services-restored", evidence(story)).judgement == .broken)
    let lost = story.inserting(Recorded.Agent.didDisconnect, before: Recorded.Agent.discoveryStarted)
    #expect(try judge("services-restored", evidence(lost)).judgement == .kept)
  }

  @Test(
    "S13: an agent that was dead when its user switched Bluetooth off may not be relaunched, so that it was not breaks nothing",
    arguments: ["relaunched-in-background", "restored-in-order", "services-restored", "subscription-alive"])
  func switchedOffWhileDead(_ promise: String) throws {
    let shut = Self.dead.filter { !$0.isOpening }.without(Recorded.Daemon.appLaunched).without(
      Recorded.Agent.willRestoreState)
    let story = shut.inserting(Recorded.Story.fault, Self.switchedOff, before: Recorded.Story.ownerReturned)
    let result = try judge(promise, evidence(story))
    #expect(result.judgement == .notJudged && result.reason.contains("switched Bluetooth off"), "\(result.reason)")
    // An agent that its user has opened since has asked again.
    let opened = story.inserting(Recorded.Story.appOpened, Self.agent, before: Recorded.Story.ownerReturned)
    #expect(try !judge(promise, evidence(opened)).reason.contains("switched Bluetooth off"))
    // One that was alive is told of it, and asks again.
    let alive = shut.inserting(Recorded.Story.fault, Self.switchedOff, before: Recorded.Story.appKilled)
    #expect(try !judge(promise, evidence(alive)).reason.contains("switched Bluetooth off"))
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
}
