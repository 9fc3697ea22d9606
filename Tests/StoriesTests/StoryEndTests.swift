import Journal
import JournalEvents
import StoryTesting
import Testing

@testable import Stories

/// What a story did not wait for, and what it did to a phone or a lock after their promises were kept.
@Suite("The end of a story")
struct StoryEndTests {
  private func judge(_ name: String, _ entries: [JournalEntry], endsAfter seconds: Double? = nil) throws
    -> PromiseResult
  {
    let last = entries.last?.t ?? 0
    return try #require(Promise.named(name)).judge(
      Evidence(entries, machines: StoryJournal.machines, endsAt: seconds.map { last + Int64($0 * 1e9) }), scope: "test")
  }

  private func upTo(_ event: some JournalEvent, _ story: [JournalEntry]) throws -> [JournalEntry] {
    Array(story[...(try #require(story.firstIndex { $0.is(event) }))])
  }

  @Test(
    "H1: what an owner's return brings is not missed by a story that ends while they are on the way or have just come",
    arguments: [
      "opened-once", "unlocked-once", "unlock-answered", "relaunched-in-background", "restored-in-order",
      "services-restored", "subscription-alive",
    ])
  func onTheWay(_ promise: String) throws {
    let story = try upTo(Recorded.Story.ownerReturned, StoryJournal.dead)
    for seconds in [0.0, 44, 50] {
      let result = try judge(promise, story, endsAfter: seconds)
      #expect(result.judgement == .notJudged && result.reason.contains("too soon to tell"), "\(result.reason)")
    }
    #expect(try judge(promise, story, endsAfter: 61).judgement == .broken)
    // Where only records are known, what is not among them did not happen.
    #expect(try judge(promise, story).judgement == .broken)
  }

  @Test("L4: an answer that is not there yet as the story ends is not missed before a phone would stop waiting for it")
  func answer() throws {
    let story = try upTo(Recorded.Lock.boltMoved, StoryJournal.dead.filter { $0[.cause] != "leaving" })
      .filter { $0[.cause] != "leaving" }
    #expect(story.contains { $0.is(Recorded.Agent.unlockWritten) })
    let early = try judge("unlock-answered", story, endsAfter: 0.1)
    #expect(early.judgement == .notJudged && early.reason.contains("too soon to tell"), "\(early.reason)")
    #expect(try judge("unlock-answered", story, endsAfter: 16).judgement == .broken)
  }

  @Test(
    "H1: an owner who turns back on the way home has come to no door",
    arguments: ["opened-once", "unlocked-once", "unlock-answered", "subscription-alive"])
  func turnedBack(_ promise: String) throws {
    let story = try upTo(Recorded.Story.ownerReturned, StoryJournal.dead)
    func away(_ event: Recorded.Story, after seconds: Int64, to x: Int) throws -> [JournalEntry] {
      let returned = try #require(story.last)
      return story + [
        JournalEntry(
          t: returned.t + seconds * 1_000_000_000, wall: returned.wall, machine: "phone",
          process: Recorded.orchestrator, pid: 1, level: "notice", event: event.rawValue, message: "",
          fields: [JournalField.way: "walk", .over: "60", .x: "\(x)", .y: "0"].named)
      ]
    }
    for event in [Recorded.Story.moved, .ownerLeft] {
      let turned = try judge(promise, away(event, after: 20, to: 200))
      #expect(
        turned.judgement == .notJudged && turned.reason.contains("the way home was broken off"), "\(turned.reason)")
      #expect(try judge(promise, away(event, after: 50, to: 200)).judgement == .broken)
    }
    // Whoever is suddenly somewhere has not come on a way. A way that goes on to the door is one way.
    let jumped = try judge(
      promise, away(.moved, after: 20, to: 5).map { $0.isMark(.moved) ? $0.with(way: "jump") : $0 })
    #expect(jumped.judgement == .notJudged && jumped.reason.contains("the way home was broken off"), "\(jumped.reason)")
    #expect(try judge(promise, away(.moved, after: 20, to: 1)).judgement == .broken)
  }

  @Test("L3: a request completes again only for an agent that was not told of it by a latchkeyd that was then killed")
  func completedAnew() throws {
    let story = StoryJournal.suspended
    let completed = try #require(story.lastIndex { $0.is(Recorded.Daemon.requestCompleted) })
    let told = try #require(story.lastIndex { $0.is(Recorded.Agent.didConnect) })
    func again(at index: Int, restarted: Bool) throws -> PromiseResult {
      var again = story
      again.insert(story[completed], at: index)
      let started = again.inserting(Recorded.Daemon.started, before: Recorded.Daemon.requestCompleted, last: true)
      return try judge("request-held", restarted ? started : again)
    }
    #expect(try again(at: completed + 1, restarted: true).judgement == .kept)
    #expect(try again(at: completed + 1, restarted: false).judgement == .broken)
    #expect(try again(at: told + 1, restarted: true).judgement == .broken)
  }

  @Test("L3: an agent that its user asks for something on the way home could have renewed its request")
  func askedOnTheWay() throws {
    let agent: [JournalField: String] = [.app: Recorded.agentIdentifier]
    /// What happens just after the way home has begun.
    func onTheWay(_ story: [JournalEntry], _ event: some JournalEvent) throws -> [JournalEntry] {
      var story = story.inserting(event, agent, before: Recorded.Story.ownerReturned, last: true)
      let returned = try #require(story.lastIndex { $0.is(Recorded.Story.ownerReturned) })
      story.swapAt(returned - 1, returned)
      return story
    }
    let woken = try onTheWay(StoryJournal.suspended, Recorded.Daemon.appResumed)
    #expect(try judge("request-held", woken).judgement == .broken)
    let asked = try onTheWay(woken, Recorded.Story.userUnlocked)
    let result = try judge("request-held", asked)
    #expect(result.judgement == .notJudged && result.reason.hasPrefix("the user asked the agent"), "\(result.reason)")
  }

  @Test("L3: a request that counts from later on need not complete before that")
  func requestForLater() throws {
    let story = StoryJournal.suspended
    let completed = try #require(story.lastIndex { $0.is(Recorded.Daemon.requestCompleted) })
    let left = try #require(story.firstIndex { $0.is(Recorded.Story.ownerLeft) })
    let returned = try #require(story.lastIndex { $0.is(Recorded.Story.ownerReturned) })
    func held(until seconds: Int64) throws -> PromiseResult {
      let pause = (story[returned].t - story[left].t) / 1_000_000 + seconds * 1000
      let held = Array(story[..<completed]).inserting(
        Recorded.Daemon.requestHeld,
        [.app: Recorded.agentIdentifier, .peripheral: "P", .milliseconds: "\(pause)"],
        before: Recorded.Daemon.appSuspended, last: true)
      return try judge("request-held", held, endsAfter: 300)
    }
    let later = try held(until: 3600)
    #expect(later.judgement == .notJudged && later.reason.contains("from a later time on"), "\(later.reason)")
    #expect(try held(until: -3600).judgement == .broken)
  }

  @Test("L3: an owner who is back before the agent has to be suspended has tried no request")
  func awakeYet() throws {
    func story(away seconds: Int64) throws -> [JournalEntry] {
      let story = StoryJournal.suspended
      let lost = try #require(story.firstIndex { $0.is(Recorded.Radio.linkDown) })
      let returned = try #require(story.firstIndex { $0.is(Recorded.Story.ownerReturned) })
      let later = seconds * 1_000_000_000 - (story[returned].t - story[lost].t)
      return story.enumerated().filter { index, entry in
        !(index > lost && index < returned && entry.is(Recorded.Daemon.appSuspended))
      }.map { index, entry in
        JournalEntry(
          t: entry.t + (index < returned ? 0 : later), wall: entry.wall, machine: entry.machine, process: entry.process,
          pid: entry.pid, level: entry.level, event: entry.event, message: entry.message, fields: entry.fields)
      }
    }
    // It is awake from before its owner left on, or from the loss of its link on.
    func awake(_ story: [JournalEntry]) -> [JournalEntry] {
      let lost = story.first { $0.is(Recorded.Radio.linkDown) }?.t ?? 0
      return story.filter { !($0.is(Recorded.Daemon.appSuspended) && $0.t < lost) }
    }
    for change in [awake, { $0 }] {
      let soon = try judge("request-held", change(story(away: 5)))
      #expect(soon.judgement == .notJudged && soon.reason.contains("had to be suspended"), "\(soon.reason)")
      #expect(try judge("request-held", change(story(away: 3600))).judgement == .broken)
    }
  }

  @Test("L3: a return on a day that had passed when the owner left says nothing of how long they were away")
  func dayHasPassed() throws {
    for wanted in ["0", "-43200000000000"] {
      let result = try judge(
        "away-long-enough", StoryJournal.dead.with(Recorded.Story.ownerReturned, .awayAtLeast, wanted))
      #expect(result.judgement == .notJudged && result.reason.contains("had passed"), "\(result.reason)")
    }
  }

  @Test("L3: a request that the user gave up before they left has nothing to complete", arguments: [true, false])
  func givenUpAtHome(_ isQuit: Bool) throws {
    let agent: [JournalField: String] = [.app: Recorded.agentIdentifier]
    func story(_ changes: ([JournalEntry]) -> [JournalEntry]) throws -> PromiseResult {
      let story = changes(StoryJournal.dead.filter { !$0.is(Recorded.Story.appKilled) || $0[.app] != agent[.app] })
      return try judge("request-held", upTo(Recorded.Story.ownerReturned, story), endsAfter: 300)
    }
    let ended = isQuit ? Recorded.Story.appQuit : .appKilled
    let asked = try story { $0.inserting(ended, agent, before: Recorded.Story.ownerLeft) }
    let given = try story {
      let story = $0.inserting(ended, agent, before: Recorded.Story.ownerLeft)
      let off: [JournalField: String] = [.about: Recorded.bluetoothSwitchedOff]
      return isQuit ? story : story.inserting(Recorded.Story.fault, off, before: Recorded.Story.ownerLeft)
    }
    #expect(given.judgement == .notJudged && given.reason.contains("the user had"), "\(given.reason)")
    // An agent that was only killed still has its request.
    #expect(asked.judgement == (isQuit ? .notJudged : .broken), "\(asked.reason)")
    // An agent that was opened again has asked again.
    let again = try story {
      let story = $0.inserting(ended, agent, before: Recorded.Story.ownerLeft)
        .inserting(Recorded.Story.appOpened, agent, before: Recorded.Story.ownerLeft)
      return story.inserting(Recorded.Story.appKilled, agent, before: Recorded.Story.daemonKilled)
    }
    #expect(again.judgement == .broken, "\(again.reason)")
  }

  @Test(
    "L1 L3 C6: what is killed or hangs as a story ends is not missed before it could be back, or be answered for",
    arguments: [
      ("death-unseen", false, 60.0), ("lock-relaunched", true, 60), ("daemon-came-back", true, 60),
      ("answered-for-the-app", false, 5), ("closed-with-its-link", false, 1),
    ] as [(String, Bool, Double)])
  func soonAfterAFault(_ promise: String, _ isDead: Bool, _ allowance: Double) throws {
    let story = isDead ? StoryJournal.dead : StoryJournal.lockFaults
    let fault = try #require(
      story.firstIndex { entry in
        switch promise {
        case "daemon-came-back": entry.isMark(.daemonKilled)
        case "answered-for-the-app": entry.isAgent(.offerAsked)
        case "closed-with-its-link": entry.isLink(.linkDown)
        default: entry.isMark(.appKilled) && entry[.app] == Recorded.lockIdentifier
        }
      })
    let cut = Array(story[...fault])
    for seconds in [0, allowance - 0.5] {
      let early = try judge(promise, cut, endsAfter: seconds)
      #expect(early.judgement == .notJudged, "\(early.reason)")
    }
    #expect(try judge(promise, cut, endsAfter: allowance + 0.5).judgement == .broken)
    #expect(try judge(promise, cut).judgement == .broken)
  }

  @Test("L2: a lock has time to lock behind its owner before its staying open counts")
  func leaving() throws {
    let story = try upTo(Recorded.Story.ownerLeft, StoryJournal.dead)
    for promise in ["locked-on-leaving", "link-lost-on-leaving"] {
      #expect(try judge(promise, story, endsAfter: 40).judgement == .notJudged, "\(promise)")
      #expect(try judge(promise, story, endsAfter: 50).judgement == .broken, "\(promise)")
    }
  }

  @Test(
    "S4 S12: a subscription that was found alive may end with what the story does to the lock afterwards",
    arguments: ["subscription-alive", "services-restored"])
  func disturbedLater(_ promise: String) throws {
    let again = [Recorded.Agent.discoveryStarted, .subscribed]
    func story(_ done: [JournalEntry]) -> [JournalEntry] {
      let t = StoryJournal.dead.last?.t ?? 0
      let lines = again.map { event in
        JournalEntry(
          t: t + 20_000_000_000, wall: t, machine: "phone", process: Recorded.agent, pid: 11, level: "notice",
          event: event.rawValue, message: "", fields: [:])
      }
      return StoryJournal.dead + done + lines
    }
    func deed(_ event: Recorded.Story, _ machine: String, _ fields: [JournalField: String] = [:]) -> JournalEntry {
      let t = (StoryJournal.dead.last?.t ?? 0) + 10_000_000_000
      return JournalEntry(
        t: t, wall: t, machine: machine, process: Recorded.orchestrator, pid: 1, level: "notice", event: event.rawValue,
        message: "", fields: fields.named)
    }
    #expect(try judge(promise, story([])).judgement == .broken)
    for done in [deed(.fault, "door"), deed(.daemonKilled, "phone"), deed(.machineDown, "door")] {
      let result = try judge(promise, story([done]))
      #expect(result.judgement == .kept, "\(result.reason)")
    }
    // A hand at the lock ends nothing.
    #expect(try judge(promise, story([deed(.fault, "door", [.about: Recorded.atTheLock])])).judgement == .broken)
  }
}

extension JournalEntry {
  fileprivate func with(way: String) -> JournalEntry {
    JournalEntry(
      t: t, wall: wall, machine: machine, process: process, pid: pid, level: level, event: event, message: message,
      fields: fields.merging([JournalField.way.rawValue: way]) { $1 })
  }
}
