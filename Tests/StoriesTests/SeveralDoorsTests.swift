import Journal
import JournalEvents
import Testing

@testable import Stories
@testable import Worlds

/// Each promise about a door is judged at each door of the story, from what concerns that one.
@Suite("Promises of a story with several doors")
struct SeveralDoorsTests {
  private static let machines = [
    MachineDescription(name: "front", position: Place(x: 0, y: 0), apps: [.lock]),
    MachineDescription(name: "garden", position: Place(x: 30, y: 0), apps: [.lock]),
    MachineDescription(name: "office", position: Place(x: -3000, y: 0), apps: [.lock]),
    MachineDescription(name: "phone", position: Place(x: 1, y: 0), apps: [.agent]),
  ]

  private func entry(
    _ second: Int64, _ machine: String, _ process: String, _ event: some JournalEvent,
    _ fields: [JournalField: String] = [:]
  ) -> JournalEntry {
    JournalEntry(
      t: second * 1_000_000_000, wall: second, machine: machine, process: process, pid: 1, level: "notice",
      event: event.rawValue, message: "", fields: fields.named)
  }

  private func lock(_ second: Int64, _ door: String, _ event: Recorded.Lock, _ fields: [JournalField: String] = [:])
    -> JournalEntry
  { entry(second, door, Recorded.lock, event, fields) }

  private func agent(_ second: Int64, _ door: String, _ event: Recorded.Agent, _ fields: [JournalField: String] = [:])
    -> JournalEntry
  { entry(second, "phone", Recorded.agent, event, fields.merging([.door: door]) { $1 }) }

  private func walk(_ second: Int64, _ event: Recorded.Story, from: Double, to: Double) -> JournalEntry {
    entry(
      second, "phone", Recorded.orchestrator, event,
      [.x: "\(to)", .y: "0", .fromX: "\(from)", .fromY: "0", .way: "walk", .over: "100"])
  }

  private func move(_ second: Int64, _ door: String, to position: String, record: Int) -> JournalEntry {
    lock(
      second, door, .boltMoved,
      [.to: position, .cause: position == "locked" ? "leaving" : "phone", .record: "\(record)"])
  }

  /// The phone leaves its home for the office, whose door it opens, and comes home to the front door.
  private func story() -> [JournalEntry] {
    func opening(_ second: Int64, _ door: String, _ operation: String, record: Int) -> [JournalEntry] {
      [
        agent(second, door, .unlockWritten, [.operation: operation, .because: "approach"]),
        lock(second, door, .commandAccepted, [.operation: operation, .command: "unlock"]),
        move(second, door, to: "unlocked", record: record),
        agent(second, door, .unlockAnswered, [.operation: operation, .result: "done", .record: "\(record)"]),
      ]
    }
    return
      [lock(0, "front", .started, [.bolt: "unlocked"]), lock(0, "garden", .started, [.bolt: "unlocked"])]
      + [lock(0, "office", .started, [.bolt: "locked"])]
      + [walk(10, .ownerLeft, from: 1, to: -1500)]
      + [move(50, "front", to: "locked", record: 1), move(52, "garden", to: "locked", record: 1)]
      + [walk(1000, .ownerReturned, from: -1500, to: -2999)] + opening(1100, "office", "1", record: 1)
      + [walk(2000, .ownerLeft, from: -2999, to: -1500), move(2050, "office", to: "locked", record: 2)]
      + [walk(3000, .ownerReturned, from: -1500, to: 1)] + opening(3100, "front", "2", record: 2)
  }

  private func judge(_ name: String, _ entries: [JournalEntry]) throws -> PromiseResult {
    try #require(Promise.named(name)).judge(Evidence(entries, machines: Self.machines), scope: "test")
  }

  private static let about = [
    "locked-on-leaving", "unlocked-once", "opened-once", "unlock-answered", "never-unlocked-while-away",
    "opened-only-on-arrival", "every-movement-recorded", "nothing-refused",
  ]

  @Test("H1 L8: where each door does what it should, each promise is kept", arguments: Self.about)
  func kept(_ name: String) throws {
    let result = try judge(name, story())
    #expect(result.judgement == .kept, "\(result.reason)")
  }

  @Test("H1 L8: a door that misbehaves breaks its promise, and is named, whatever the other doors do")
  func broken() throws {
    func without(_ door: String, _ event: some JournalEvent) -> [JournalEntry] {
      story().filter { !($0.is(event) && ($0.machine == door || $0[.door] == door)) }
    }
    var sneaky = story()
    sneaky.insert(move(500, "garden", to: "unlocked", record: 2), at: 6)
    var twice = story()
    twice.append(move(3101, "front", to: "unlocked", record: 3))
    for (name, entries, door) in [
      ("locked-on-leaving", without("garden", Recorded.Lock.boltMoved), "garden"),
      ("unlocked-once", without("office", Recorded.Lock.boltMoved), "office"),
      ("unlock-answered", without("front", Recorded.Agent.unlockAnswered), "front"),
      ("never-unlocked-while-away", sneaky, "garden"), ("opened-only-on-arrival", sneaky, "garden"),
      ("opened-once", twice, "front"), ("unlocked-once", twice, "front"),
    ] {
      let result = try judge(name, entries)
      #expect(
        result.judgement == .broken && result.reason.hasPrefix("\(door): "),
        "\(name): \(result.judgement) \(result.reason)")
    }
  }

  @Test("H1 L8: an opening of the office by somebody who came home is nobody's arrival there")
  func wrongDoor() throws {
    var entries = story()
    let last = entries.count - 1
    entries[last - 1].machine = "office"
    let result = try judge("opened-only-on-arrival", entries)
    #expect(result.judgement == .broken && result.reason.hasPrefix("office: "), "\(result.reason)")
  }

  private func link(_ second: Int64, _ event: Recorded.Radio, of central: String = "phone", to door: String)
    -> JournalEntry
  {
    entry(second, "", Recorded.simulator, event, [.central: central, .peripheral: door])
  }

  @Test(
    "H1 L8: a phone may ask the wrong lock while it looks for its own; any other refused command breaks the promise")
  func search() throws {
    func refusal(_ second: Int64, _ reason: String = "authenticationFailed") -> JournalEntry {
      lock(second, "garden", .commandRefused, [.reason: reason])
    }
    func found(_ second: Int64, door: String = "front") -> JournalEntry {
      agent(second, door, .otherLock, [.peripheral: "P"])
    }
    let (up, down) = (link(4, .linkUp, to: "garden"), link(6, .linkDown, to: "garden"))
    for right in [
      [up, refusal(5), found(5)], [up, refusal(5), refusal(5, "notEnrolled"), refusal(6), found(7)],
      [up, refusal(5), found(5), refusal(6), found(7, door: "office")],
    ] {
      let result = try judge("nothing-refused", story() + right)
      #expect(result.judgement == .kept, "\(result.reason)")
    }
    for wrong in [
      // Nobody looked for a lock there: not at all, after it, for this door, or on this link.
      [up, refusal(5)], [up, found(5), refusal(6)], [up, refusal(5), found(5, door: "garden")], [refusal(5), found(5)],
      [up, refusal(5), down, found(7)], [link(4, .linkUp, of: "other", to: "garden"), refusal(5), found(5)],
      [refusal(3), up, refusal(5), found(5)], [link(4, .linkUp, to: "office"), refusal(5), found(5)],
      // More than a phone tries, and what another device would not be refused for.
      [up, refusal(5), refusal(5), refusal(5), refusal(5), found(5)], [up, refusal(5, "wrongLength"), found(5)],
    ] {
      let result = try judge("nothing-refused", story() + wrong)
      #expect(result.judgement == .broken && result.reason.hasPrefix("garden: "), "\(result.reason) \(wrong)")
    }
  }

  @Test("H1 L8: who comes home beside a neighbour's door, of which they have no key, has come to their own")
  func neighbour() throws {
    var machines = Self.machines
    machines[1].position = Place(x: 0.5, y: 0)
    machines[3].enrolledAt = ["front", "office"]
    let promise = try #require(Promise.named("unlocked-once"))
    let home = Evidence(story().filter { $0.machine != "garden" && $0[.door] != "garden" }, machines: machines)
    let front = promise.judge(home.about("front"), scope: "test")
    #expect(front.judgement == .kept, "\(front.reason)")
    let garden = promise.judge(home.about("garden"), scope: "test")
    #expect(garden.judgement == .notJudged, "\(garden.reason)")
  }

  @Test("H1 L8: who goes to a door of which they have no key has not come to their own, some way off")
  func strangersDoor() throws {
    var machines = Self.machines
    machines[3].enrolledAt = ["front", "office"]
    let left = story().prefix { !$0.isMark(.ownerReturned) }
    let came = left + [walk(3000, .ownerReturned, from: -1500, to: 29)]
    for promise in ["unlocked-once", "opened-once", "unlock-answered"] {
      let result = try #require(Promise.named(promise)).judge(
        Evidence(Array(came), machines: machines).about("front"), scope: "test")
      #expect(
        result.judgement == .notJudged && result.reason.hasSuffix("the owner came to garden"), "\(result.reason)")
    }
  }

  @Test("H1 L8: a phone without a key of a door is not reported as a phone without an agent")
  func withoutKey() throws {
    var machines = Self.machines
    machines[3].enrolledAt = ["office"]
    let left = [story()[0], story()[1], story()[3]]
    let promise = try #require(Promise.named("locked-on-leaving"))
    #expect(
      promise.judge(Evidence(left, machines: machines).about("front"), scope: "test").reason
        == "no phone in the story has a key of it")
    machines.append(MachineDescription(name: "other", position: Place(x: 1, y: 1), apps: [.agent]))
    #expect(
      promise.judge(Evidence(left, machines: machines).about("front"), scope: "test").reason
        == "no owner left home; phone has no key of it")
  }
}
