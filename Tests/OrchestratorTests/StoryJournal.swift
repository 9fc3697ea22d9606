import Journal

@testable import Orchestrator

/// Journals of stories that went well, to be doctored by tests.
struct StoryJournal {
  var entries: [JournalEntry] = []
  private var seconds: Int64 = 0

  mutating func add(
    _ process: String, _ event: String, _ fields: [String: String] = [:], pid: Int32 = 0, after: Int64 = 1
  ) {
    seconds += after
    let machine =
      switch process {
      case Recorded.lock: "door"
      case Recorded.simulator: ""
      case _ where fields["machine"] != nil: fields["machine"] ?? ""
      default: fields["app"] == Recorded.lockIdentifier ? "door" : "phone"
      }
    entries.append(
      JournalEntry(
        t: seconds * 1_000_000_000, wall: 1_700_000_000_000_000_000 + Int64(entries.count), machine: machine,
        process: process, pid: pid, level: "notice", event: event, message: event, fields: fields))
  }

  static let agent = ["app": Recorded.agentIdentifier]
  static let lock = ["app": Recorded.lockIdentifier]
  static let day: Int64 = 86400

  static let machines = [
    MachineDescription(name: "door", position: Place(x: 0, y: 0), apps: [.lock]),
    MachineDescription(name: "phone", position: Place(x: 1, y: 0), apps: [.agent]),
  ]

  /// Both systems run, the phone is connected and subscribed, and the door is unlocked.
  private mutating func begin() {
    add(Recorded.daemon, "daemon.started", ["machine": "door"])
    add(Recorded.daemon, "daemon.started")
    add(Recorded.lock, "lock.started", ["bolt": "unlocked"], pid: 20)
    add(Marks.process, Marks.appOpened, Self.agent)
    add(Recorded.daemon, "app.launched", Self.agent.merging(["reason": "opened"]) { $1 })
    add(Recorded.simulator, "link.up", ["link": "1"])
    add(Recorded.agent, "didConnect", ["peripheral": "P"], pid: 10)
    add(Recorded.agent, "subscribed", pid: 10)
    add(Recorded.daemon, "app.suspended", Self.agent)
  }

  private mutating func leave(record: Int = 2) {
    add(Marks.process, Marks.ownerLeft, ["machine": "phone", "way": "jump"])
    add(Recorded.simulator, "link.down", ["link": "1", "reason": "timeout"])
    add(Recorded.lock, "bolt.moved", ["to": "locked", "cause": "leaving", "record": "\(record)"])
  }

  private mutating func unlock(pid: Int32, record: Int = 3) {
    let operation = ["operation": "\(record)"]
    add(Recorded.lock, "offer.sent", after: 0)
    add(Recorded.agent, "subscription.alive", pid: pid, after: 0)
    add(Recorded.agent, "offer.received", pid: pid, after: 0)
    add(Recorded.agent, "unlock.written", operation.merging(["because": "approach"]) { $1 }, pid: pid, after: 0)
    add(Recorded.lock, "command.accepted", operation.merging(["command": "unlock"]) { $1 }, after: 0)
    add(Recorded.lock, "bolt.moved", ["to": "unlocked", "cause": "phone", "record": "\(record)"], after: 0)
    add(Recorded.agent, "unlock.answered", operation.merging(["result": "done"]) { $1 }, pid: pid, after: 0)
  }

  private mutating func comeHome(awaySeconds: Int64) {
    add(
      Marks.process, Marks.ownerReturned,
      ["machine": "phone", "away.at-least": "\(awaySeconds * 1_000_000_000)", "way": "walk", "over": "45"])
    add(Recorded.simulator, "link.up", ["link": "2"])
    add(Recorded.daemon, "request.completed", ["app": Recorded.agentIdentifier, "peripheral": "P"], after: 0)
  }

  /// The agent dead while its owner is away.
  static let dead: [JournalEntry] = {
    var story = StoryJournal()
    story.begin()
    story.leave()
    story.add(Marks.process, Marks.appKilled, agent.merging(["pid": "10"]) { $1 })
    story.add(Recorded.daemon, "app.ended", agent.merging(["how": "signal 9"]) { $1 }, after: 0)
    story.add(Marks.process, Marks.daemonKilled, ["machine": "phone"], after: day)
    story.add(Recorded.daemon, "daemon.started")
    story.add(Marks.process, Marks.appKilled, lock.merging(["pid": "20", "machine": "door"]) { $1 }, after: day)
    story.add(Recorded.daemon, "app.launched", lock.merging(["reason": "keep-alive"]) { $1 })
    story.add(Recorded.lock, "lock.started", ["bolt": "locked"], pid: 21)
    story.add(Recorded.lock, "willRestoreState", ["services": "1"], pid: 21)
    story.comeHome(awaySeconds: 2 * day)
    story.add(
      Recorded.daemon, "app.launched", agent.merging(["reason": "restore", "centrals": "door-lock"]) { $1 }, after: 0)
    story.add(Recorded.agent, "agent.started", ["centralsToRestore": "door-lock"], pid: 11, after: 0)
    story.add(Recorded.agent, "willRestoreState", ["peripherals": "1", "services": "1"], pid: 11, after: 0)
    story.add(Recorded.agent, "stateUpdated", ["state": "poweredOn"], pid: 11, after: 0)
    story.add(Recorded.agent, "didConnect", ["peripheral": "P"], pid: 11, after: 0)
    story.unlock(pid: 11)
    return story.entries
  }()

  /// The lock dies while the phone is connected; later it hangs over a request, and over one whose link is lost.
  static let lockFaults: [JournalEntry] = {
    var story = StoryJournal()
    story.begin()
    story.add(Marks.process, Marks.appKilled, lock.merging(["pid": "20", "machine": "door"]) { $1 })
    story.add(Recorded.daemon, "app.ended", lock.merging(["how": "signal 9"]) { $1 }, after: 0)
    story.add(Recorded.lock, "lock.started", ["bolt": "unlocked"], pid: 21)
    story.add(Recorded.agent, "status.answered", ["result": "unknownOperation"], pid: 10)
    story.add(Marks.process, Marks.appHung, lock.merging(["machine": "door"]) { $1 })
    story.add(Recorded.agent, "offer.asked", pid: 10)
    story.add(Recorded.daemon, "request.expired", lock)
    story.add(Marks.process, Marks.appContinued, lock.merging(["machine": "door"]) { $1 })
    story.add(Marks.process, Marks.ownerLeft, ["machine": "phone"])
    story.add(Marks.process, Marks.appHung, lock.merging(["machine": "door"]) { $1 })
    story.add(Recorded.agent, "offer.asked", pid: 10)
    story.add(Recorded.simulator, "link.down", ["link": "1"])
    story.add(Recorded.daemon, "request.abandoned", lock)
    story.add(Marks.process, Marks.appContinued, lock.merging(["machine": "door"]) { $1 })
    return story.entries
  }()

  /// The agent suspended all the while.
  static let suspended: [JournalEntry] = {
    var story = StoryJournal()
    story.begin()
    story.leave()
    story.add(Recorded.daemon, "app.resumed", agent, after: 0)
    story.add(Recorded.agent, "didDisconnect", ["peripheral": "P"], pid: 10, after: 0)
    story.add(Recorded.daemon, "app.suspended", agent)
    story.comeHome(awaySeconds: 1)
    story.add(Recorded.daemon, "app.resumed", agent, after: 0)
    story.add(Recorded.agent, "didConnect", ["peripheral": "P"], pid: 10, after: 0)
    story.unlock(pid: 10)
    return story.entries
  }()

  /// The owner is suddenly at the door, and the agent asks.
  static let jumped: [JournalEntry] = {
    var story = StoryJournal()
    story.begin()
    story.leave()
    story.add(Marks.process, Marks.ownerReturned, ["machine": "phone", "way": "jump"])
    story.add(Recorded.simulator, "link.up", ["link": "2"])
    story.add(Recorded.agent, "unlock.asked", pid: 10)
    return story.entries
  }()
}

extension [JournalEntry] {
  func without(_ event: String, of process: String? = nil) -> [JournalEntry] {
    filter { $0.event != event || (process != nil && $0.process != process) }
  }

  /// Every such event a second time, right after the first.
  func twice(_ event: String, of process: String? = nil) -> [JournalEntry] {
    flatMap { $0.event == event && (process == nil || $0.process == process) ? [$0, $0] : [$0] }
  }

  func with(_ event: String, of process: String? = nil, _ key: String, _ value: String?) -> [JournalEntry] {
    map {
      var entry = $0
      if entry.event == event, process == nil || entry.process == process { entry.fields[key] = value }
      return entry
    }
  }

  /// A line more, right before the first such event, or the last one.
  func inserting(
    _ event: String, of process: String, _ fields: [String: String] = [:], level: String = "notice",
    before other: String, last isLast: Bool = false
  ) -> [JournalEntry] {
    guard
      let index = isLast
        ? lastIndex(where: { $0.event == other }) : firstIndex(where: { $0.event == other })
    else { return self }
    var entries = self
    let place = self[index]
    let isDoors = process == Recorded.lock || fields["app"] == Recorded.lockIdentifier
    let machine = process == Recorded.simulator ? "" : isDoors ? "door" : "phone"
    entries.insert(
      JournalEntry(
        t: place.t, wall: place.wall, machine: machine, process: process, pid: 10, level: level, event: event,
        message: event, fields: fields), at: index)
    return entries
  }

  /// The same story later, so that it can follow another.
  func afterwards(_ story: [JournalEntry]) -> [JournalEntry] {
    let later = story.map { entry in
      var entry = entry
      entry.t += (last?.t ?? 0) + 1_000_000_000
      if let record = entry.fields["record"].flatMap({ Int($0) }) { entry.fields["record"] = "\(record + 100)" }
      if let operation = entry.fields["operation"] { entry.fields["operation"] = operation + "-later" }
      return entry
    }
    return self + later
  }

  func swapping(_ event: String, _ other: String, of process: String) -> [JournalEntry] {
    guard let first = lastIndex(where: { $0.event == event && $0.process == process }),
      let second = lastIndex(where: { $0.event == other && $0.process == process })
    else { return self }
    var entries = self
    entries.swapAt(first, second)
    return entries
  }
}
