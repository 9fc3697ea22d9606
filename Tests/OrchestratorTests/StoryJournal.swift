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
      case Recorded.simulator, Marks.process: fields["machine"] ?? ""
      default: "phone"
      }
    entries.append(
      JournalEntry(
        t: seconds * 1_000_000_000, wall: 1_700_000_000_000_000_000 + Int64(entries.count), machine: machine,
        process: process, pid: pid, level: "notice", event: event, message: event, fields: fields))
  }

  static let agent = ["app": Recorded.agentIdentifier]
  static let lock = ["app": Recorded.lockIdentifier]
  static let day: Int64 = 86400

  private mutating func leave() {
    add(Recorded.daemon, "app.suspended", Self.agent)
    add(Marks.process, Marks.ownerLeft, ["machine": "phone"])
    add(Recorded.simulator, "link.down", ["link": "1", "reason": "timeout"])
    add(Recorded.lock, "bolt.moved", ["to": "locked", "cause": "left", "record": "2"])
  }

  private mutating func unlock(pid: Int32) {
    add(Recorded.lock, "offer.sent", after: 0)
    add(Recorded.agent, "subscription.alive", pid: pid, after: 0)
    add(Recorded.agent, "offer.received", pid: pid, after: 0)
    add(Recorded.agent, "unlock.written", pid: pid, after: 0)
    add(Recorded.lock, "command.accepted", after: 0)
    add(Recorded.lock, "bolt.moved", ["to": "unlocked", "cause": "command", "record": "3"], after: 0)
    add(Recorded.agent, "unlock.answered", ["result": "ok"], pid: pid, after: 0)
  }

  private mutating func comeHome(awaySeconds: Int64) {
    add(Marks.process, Marks.ownerReturned, ["machine": "phone", "away.at-least": "\(awaySeconds * 1_000_000_000)"])
    add(Recorded.simulator, "link.up", ["link": "2"])
    add(Recorded.daemon, "request.completed", ["app": Recorded.agentIdentifier, "peripheral": "P"], after: 0)
  }

  /// The agent dead while its owner is away.
  static let dead: [JournalEntry] = {
    var story = StoryJournal()
    story.add(Recorded.agent, "didConnect", ["peripheral": "P"], pid: 10)
    story.leave()
    story.add(Marks.process, Marks.appKilled, agent.merging(["pid": "10"]) { $1 })
    story.add(Marks.process, Marks.daemonKilled, ["machine": "phone"], after: day)
    story.add(Recorded.daemon, "daemon.started")
    story.add(Marks.process, Marks.appKilled, lock.merging(["pid": "20", "machine": "door"]) { $1 }, after: day)
    story.add(Recorded.daemon, "app.launched", lock.merging(["reason": "keep-alive"]) { $1 })
    story.add(Recorded.lock, "lock.started", pid: 21)
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
    story.add(Recorded.simulator, "link.up", ["link": "1"])
    story.add(Marks.process, Marks.appKilled, lock.merging(["pid": "20", "machine": "door"]) { $1 })
    story.add(Recorded.lock, "lock.started", pid: 21)
    story.add(Recorded.agent, "status.answered", ["result": "unknownOperation"], pid: 10)
    story.add(Marks.process, Marks.ownerLeft, ["machine": "phone"])
    story.add(Recorded.simulator, "link.down", ["link": "1"])
    story.add(Marks.process, Marks.appHung, lock.merging(["machine": "door"]) { $1 })
    story.add(Recorded.daemon, "request.expired", lock)
    story.add(Recorded.daemon, "request.abandoned", lock)
    story.add(Marks.process, Marks.appContinued, lock.merging(["machine": "door"]) { $1 })
    return story.entries
  }()

  /// The agent suspended all the while.
  static let suspended: [JournalEntry] = {
    var story = StoryJournal()
    story.leave()
    story.comeHome(awaySeconds: 1)
    story.add(Recorded.daemon, "app.resumed", agent, after: 0)
    story.add(Recorded.agent, "didDisconnect", ["peripheral": "P"], pid: 10, after: 0)
    story.add(Recorded.agent, "didConnect", ["peripheral": "P"], pid: 10, after: 0)
    story.unlock(pid: 10)
    // Suspended after it had left home, as this promise needs it.
    let suspension = story.entries.removeFirst()
    story.entries.insert(suspension, at: 1)
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

  /// A line more, right before the first such event.
  func inserting(
    _ event: String, of process: String, _ fields: [String: String] = [:], level: String = "notice",
    before other: String
  ) -> [JournalEntry] {
    guard let index = firstIndex(where: { $0.event == other }) else { return self }
    var entries = self
    let place = self[index]
    entries.insert(
      JournalEntry(
        t: place.t, wall: place.wall, machine: place.machine, process: process, pid: 10, level: level, event: event,
        message: event, fields: fields), at: index)
    return entries
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
