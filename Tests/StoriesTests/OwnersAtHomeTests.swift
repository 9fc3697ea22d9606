import Journal
import JournalEvents
import StoryTesting
import Testing
import Worlds

@testable import Stories

/// Departures behind which a lock has nothing to lock, and returns from where the phone was heard all the time.
@Suite("Owners at home")
struct OwnersAtHomeTests {
  private static let machines = [
    MachineDescription(name: "door", position: Place(x: 0, y: 0), apps: [.lock]),
    MachineDescription(name: "alice", position: Place(x: 1, y: 0), apps: [.agent]),
    MachineDescription(name: "bob", position: Place(x: 1, y: 1), apps: [.agent]),
  ]

  private func line<Event: JournalEvent>(
    _ seconds: Int64, _ machine: String, _ event: Event, _ fields: [JournalField: String] = [:]
  ) -> JournalEntry {
    JournalEntry(
      t: seconds * 1_000_000_000, wall: 1_700_000_000_000_000_000 + seconds, machine: machine,
      process: Event.processes[0], pid: 10, level: "notice", event: event.rawValue, message: event.rawValue,
      fields: fields.named)
  }

  private func link(_ seconds: Int64, _ phone: String, isUp: Bool) -> JournalEntry {
    line(seconds, "", isUp ? Recorded.Radio.linkUp : .linkDown, [.central: phone, .peripheral: "door", .link: phone])
  }

  /// Both are at home, their phones are linked, and the bolt is unlocked.
  private var home: [JournalEntry] {
    var entries = [line(0, "door", Recorded.Lock.started, [.bolt: "unlocked"])]
    for phone in ["alice", "bob"] {
      entries += [
        line(1, phone, Recorded.Daemon.appLaunched, StoryJournal.agent), link(1, phone, isUp: true),
        line(2, phone, Recorded.Agent.didConnect, [.peripheral: "P"]), line(2, phone, Recorded.Agent.subscribed),
        line(3, phone, Recorded.Agent.statusAnswered, [.result: "done"]),
        line(4, phone, Recorded.Daemon.appSuspended, StoryJournal.agent),
      ]
    }
    return entries
  }

  private func leaves(_ seconds: Int64, _ phone: String) -> JournalEntry {
    line(
      seconds, phone, Recorded.Story.ownerLeft,
      [.way: "walk", .over: "140", .fromX: "1", .fromY: "0", .x: "200", .y: "0"])
  }

  private func comes(_ seconds: Int64, _ phone: String, from x: Int) -> JournalEntry {
    line(
      seconds, phone, Recorded.Story.ownerReturned,
      [.way: "walk", .over: "140", .fromX: "\(x)", .fromY: "0", .x: "1", .y: "0"])
  }

  private func judge(_ name: String, _ entries: [JournalEntry]) throws -> PromiseResult {
    try #require(Promise.named(name)).judge(Evidence(entries, machines: Self.machines), scope: "test")
  }

  @Test(
    "L2: a lock that stays open because somebody was still there breaks nothing, though that phone's link is lost later"
  )
  func stayed() throws {
    let left = home + [leaves(100, "alice"), link(116, "alice", isUp: false)]
    let later = [link(4000, "bob", isUp: false), link(4020, "bob", isUp: true)]
    let blink = [link(130, "bob", isUp: false), link(132, "bob", isUp: true)]
    for story in [left, left + later, left + blink, left + blink + later] {
      let result = try judge("locked-on-leaving", story)
      #expect(result.judgement == .notJudged && result.reason.hasPrefix("bob stayed"), "\(result.reason)")
    }
  }

  @Test("L2: a lock that locks behind the last owner has not locked, hours late, behind the one who left before")
  func lockedBehindAnother() throws {
    let story =
      home + [
        leaves(100, "alice"), link(116, "alice", isUp: false), leaves(4000, "bob"), link(4016, "bob", isUp: false),
        line(4026, "door", Recorded.Lock.boltMoved, [.to: "locked", .cause: "leaving", .record: "2"]),
        comes(9000, "bob", from: 200), comes(9100, "alice", from: 200),
      ]
    let result = try judge("locked-on-leaving", story)
    #expect(result.judgement == .kept && result.reason.contains("bob stayed"), "\(result.reason)")
    #expect(result.reason.contains("locked 26.000 s after leaving"), "\(result.reason)")
  }

  @Test("L2: somebody who is linked again after the door's machine went down has stayed")
  func stayedOverReboot() throws {
    let left =
      home + [
        leaves(100, "alice"), link(116, "alice", isUp: false), line(130, "door", Recorded.Story.machineDown),
        link(130, "bob", isUp: false),
        line(190, "door", Recorded.Story.machineUp), line(191, "door", Recorded.Lock.started, [.bolt: "unlocked"]),
      ]
    let result = try judge("locked-on-leaving", left + [link(192, "bob", isUp: true)])
    #expect(result.judgement == .notJudged && result.reason.hasPrefix("bob stayed"), "\(result.reason)")
    #expect(try judge("locked-on-leaving", left).judgement == .broken)
    // Of what happens after the boot the lock knows.
    let again = left + [link(192, "bob", isUp: true), link(210, "bob", isUp: false)]
    #expect(try judge("locked-on-leaving", again).judgement == .broken)
  }

  @Test("L2: a lock that stays open behind the last owner is still found, whoever was there before")
  func nobodyStayed() throws {
    let left = home + [leaves(100, "alice"), link(116, "alice", isUp: false)]
    let alone = left + [link(130, "bob", isUp: false)]
    #expect(try judge("locked-on-leaving", alone).judgement == .broken)
    let both = left + [leaves(4000, "bob"), link(4016, "bob", isUp: false)]
    #expect(try judge("locked-on-leaving", both).judgement == .broken)
  }

  @Test(
    "H1: an owner who turns back before their phone is out of range has held no request, and comes to no door",
    arguments: [
      "request-held", "subscription-alive", "woken-on-arrival", "opened-once", "unlocked-once", "unlock-answered",
    ])
  func turnedBack(_ promise: String) throws {
    let locked = line(90, "door", Recorded.Lock.boltMoved, [.to: "locked", .cause: "hand", .record: "2"])
    let story = home + [locked, leaves(100, "alice"), comes(101, "alice", from: 2)]
    let result = try judge(promise, story)
    #expect(
      result.judgement == .notJudged && result.reason.contains("was connected all the while"), "\(result.reason)")
    // Beyond the range, a link that stays is no excuse.
    let far = home + [locked, leaves(100, "alice"), comes(1000, "alice", from: 200)]
    #expect(try judge(promise, far).judgement == .broken)
    // What happens to the link when they are at home again is another matter.
    let later = story + [link(400, "alice", isUp: false), link(402, "alice", isUp: true)]
    #expect(try judge(promise, later).judgement == .notJudged)
    // A link that is lost on the way has to come back.
    let lost = story + [link(120, "alice", isUp: false)]
    #expect(try !judge(promise, lost).reason.contains("was connected all the while"))
  }

  @Test("L2 L3: an owner who turns back before their phone is out of range has not left")
  func neverOut() throws {
    func story(to x: Int) -> [JournalEntry] {
      let left = line(
        100, "alice", Recorded.Story.ownerLeft,
        [.way: "walk", .over: "10", .fromX: "1", .fromY: "0", .x: "\(x)", .y: "0"])
      let alone = home.filter { $0.machine != "bob" && $0[.central] != "bob" }
      return alone + [left, line(120, "door", Recorded.Daemon.appSuspended), comes(130, "alice", from: x)]
    }
    for promise in ["locked-on-leaving", "link-lost-on-leaving"] {
      let near = try judge(promise, story(to: 15))
      #expect(
        near.judgement == .notJudged && near.reason.contains("was connected all the while"),
        "\(promise): \(near.reason)")
      #expect(try judge(promise, story(to: 200)).judgement == .broken, "\(promise)")
    }
  }

  @Test("L4: nobody is at home where only a phone without a key lies, which nobody who lives there carries")
  func phoneWithoutKey() throws {
    func judge(_ steps: [JournalEntry], bobIsEnrolled: Bool) throws -> Judgement {
      let alone = home.filter { bobIsEnrolled || ($0.machine != "bob" && $0[.central] != "bob") }
      let story =
        alone + [
          leaves(100, "alice"), link(116, "alice", isUp: false),
          line(126, "door", Recorded.Lock.boltMoved, [.to: "locked", .cause: "leaving", .record: "2"]),
        ] + steps
        + [line(1000, "door", Recorded.Lock.boltMoved, [.to: "unlocked", .cause: "hand", .record: "3"])]
      var machines = Self.machines
      machines[2].isEnrolled = bobIsEnrolled
      return try #require(Promise.named("never-unlocked-while-away"))
        .judge(Evidence(story, machines: machines), scope: "test").judgement
    }
    func answered(_ result: String) -> JournalEntry {
      line(600, "bob", Recorded.Agent.statusAnswered, [.result: result, .door: "home"])
    }
    let turnedAway = line(500, "bob", Recorded.Agent.turnedAway, [.milliseconds: "60000"])
    #expect(try judge([], bobIsEnrolled: true) == .notJudged)
    #expect(try judge([], bobIsEnrolled: false) == .broken)
    // The lock no longer knows its key, and then knows it again.
    #expect(try judge([turnedAway], bobIsEnrolled: true) == .broken)
    #expect(try judge([turnedAway, answered("unknownOperation")], bobIsEnrolled: true) == .notJudged)
    #expect(try judge([answered("revoked")], bobIsEnrolled: true) == .broken)
    #expect(try judge([answered("expired")], bobIsEnrolled: true) == .broken)
    // The story gives it a key.
    let provisioned = line(500, "bob", Recorded.Story.fault, [.about: "provision"])
    for key in [provisioned, line(500, "bob", Recorded.Agent.enrolled), answered("unknownOperation")] {
      #expect(try judge([key], bobIsEnrolled: false) == .notJudged)
    }
  }

  @Test("L3: another owner who leaves while one walks home does not end the arrival before the door has opened")
  func leftMeanwhile() throws {
    func unlock(_ seconds: Int64, _ operation: String, record: Int) -> [JournalEntry] {
      [
        line(seconds, "alice", Recorded.Agent.unlockWritten, [.operation: operation, .because: "approach"]),
        line(seconds, "door", Recorded.Lock.commandAccepted, [.operation: operation, .command: "unlock"]),
        line(seconds, "door", Recorded.Lock.boltMoved, [.to: "unlocked", .cause: "phone", .record: "\(record)"]),
        line(seconds, "alice", Recorded.Agent.unlockAnswered, [.operation: operation, .result: "done"]),
      ]
    }
    let coming =
      home + [
        leaves(100, "alice"), link(116, "alice", isUp: false), comes(1150, "alice", from: 200), leaves(1160, "bob"),
        link(1176, "bob", isUp: false),
        line(1190, "door", Recorded.Lock.boltMoved, [.to: "locked", .cause: "leaving", .record: "2"]),
        link(1270, "alice", isUp: true),
      ]
    let once = try judge("unlocked-once", coming + unlock(1280, "a", record: 3))
    #expect(once.kept, "\(once.reason)")
    let again = coming + unlock(1280, "a", record: 3) + unlock(1285, "b", record: 4)
    #expect(try judge("unlocked-once", again).judgement == .broken)
    #expect(try judge("unlocked-once", coming).judgement == .broken)
  }
}
