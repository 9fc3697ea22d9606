import Journal
import JournalEvents
import Stories
import Worlds

/// Journals of stories that went well, for tests to alter.
package struct StoryJournal {
  package private(set) var entries: [JournalEntry] = []
  private var seconds: Int64 = 0

  package init() {}

  package mutating func add<Event: JournalEvent>(
    _ event: Event, _ fields: [JournalField: String] = [:], pid: Int32 = 0, after: Int64 = 1
  ) {
    seconds += after
    let process = Event.processes[0]
    let machine =
      switch process {
      case Recorded.lock: "door"
      case Recorded.simulator: ""
      case _ where fields[.machine] != nil: fields[.machine] ?? ""
      default: fields[.app] == Recorded.lockIdentifier ? "door" : "phone"
      }
    entries.append(
      JournalEntry(
        t: seconds * 1_000_000_000, wall: 1_700_000_000_000_000_000 + Int64(entries.count), machine: machine,
        process: process, pid: pid, level: "notice", event: event.rawValue, message: event.rawValue,
        fields: fields.named))
  }

  package static let agent: [JournalField: String] = [.app: Recorded.agentIdentifier]
  package static let lock: [JournalField: String] = [.app: Recorded.lockIdentifier]
  package static let day: Int64 = 86400

  package static let machines = [
    MachineDescription(name: "door", position: Place(x: 0, y: 0), apps: [.lock]),
    MachineDescription(name: "phone", position: Place(x: 1, y: 0), apps: [.agent]),
  ]

  /// Both systems are running, the phone is connected and subscribed, and the door is unlocked.
  private mutating func begin() {
    add(Recorded.Daemon.started, [.machine: "door"])
    add(Recorded.Daemon.started)
    add(Recorded.Lock.started, [.bolt: "unlocked"], pid: 20)
    add(Recorded.Story.appOpened, Self.agent)
    add(Recorded.Daemon.appLaunched, Self.agent.and([.reason: "opened"]))
    add(Recorded.Radio.linkUp, [.link: "1"])
    add(Recorded.Agent.didConnect, [.peripheral: "P"], pid: 10)
    add(Recorded.Agent.subscribed, pid: 10)
    add(Recorded.Daemon.appSuspended, Self.agent)
  }

  private mutating func leave(record: Int = 2) {
    add(Recorded.Story.ownerLeft, [.machine: "phone", .way: "jump"])
    add(Recorded.Radio.linkDown, [.link: "1", .reason: "timeout"])
    add(Recorded.Lock.boltMoved, [.to: "locked", .cause: "leaving", .record: "\(record)"])
  }

  private mutating func unlock(pid: Int32, record: Int = 3) {
    let operation: [JournalField: String] = [.operation: "\(record)"]
    add(Recorded.Lock.offerSent, after: 0)
    add(Recorded.Agent.subscriptionAlive, pid: pid, after: 0)
    add(Recorded.Agent.offerReceived, pid: pid, after: 0)
    add(Recorded.Agent.unlockWritten, operation.and([.because: "approach"]), pid: pid, after: 0)
    add(Recorded.Lock.commandAccepted, operation.and([.command: "unlock"]), after: 0)
    add(Recorded.Lock.boltMoved, [.to: "unlocked", .cause: "phone", .record: "\(record)"], after: 0)
    add(Recorded.Agent.unlockAnswered, operation.and([.result: "done"]), pid: pid, after: 0)
  }

  private mutating func comeHome(awaySeconds: Int64) {
    add(
      Recorded.Story.ownerReturned,
      [.machine: "phone", .awayAtLeast: "\(awaySeconds * 1_000_000_000)", .way: "walk", .over: "45"])
    add(Recorded.Radio.linkUp, [.link: "2"])
    add(Recorded.Daemon.requestCompleted, [.app: Recorded.agentIdentifier, .peripheral: "P"], after: 0)
  }

  /// The agent is dead while its owner is away.
  package static let dead: [JournalEntry] = {
    var story = StoryJournal()
    story.begin()
    story.leave()
    story.add(Recorded.Story.appKilled, agent.and([.pid: "10"]))
    story.add(Recorded.Daemon.appEnded, agent.and([.how: "signal 9"]), after: 0)
    story.add(Recorded.Story.daemonKilled, [.machine: "phone"], after: day)
    story.add(Recorded.Daemon.started)
    story.add(Recorded.Story.appKilled, lock.and([.pid: "20", .machine: "door"]), after: day)
    story.add(Recorded.Daemon.appLaunched, lock.and([.reason: "keep-alive"]))
    story.add(Recorded.Lock.started, [.bolt: "locked"], pid: 21)
    story.add(Recorded.Lock.willRestoreState, [.services: "1"], pid: 21)
    story.comeHome(awaySeconds: 2 * day)
    story.add(
      Recorded.Daemon.appLaunched, agent.and([.reason: "restore", .centrals: "door-lock"]), after: 0)
    story.add(Recorded.Agent.started, [.centralsToRestore: "door-lock"], pid: 11, after: 0)
    story.add(Recorded.Agent.willRestoreState, [.peripherals: "1", .services: "1"], pid: 11, after: 0)
    story.add(Recorded.Agent.stateUpdated, [.state: "poweredOn"], pid: 11, after: 0)
    story.add(Recorded.Agent.didConnect, [.peripheral: "P"], pid: 11, after: 0)
    story.unlock(pid: 11)
    return story.entries
  }()

  /// The lock dies while the phone is connected. Later it hangs during a request, and during one whose link is lost.
  package static let lockFaults: [JournalEntry] = {
    var story = StoryJournal()
    story.begin()
    story.add(Recorded.Story.appKilled, lock.and([.pid: "20", .machine: "door"]))
    story.add(Recorded.Daemon.appEnded, lock.and([.how: "signal 9"]), after: 0)
    story.add(Recorded.Lock.started, [.bolt: "unlocked"], pid: 21)
    story.add(Recorded.Agent.statusAnswered, [.result: "unknownOperation"], pid: 10)
    story.add(Recorded.Story.appHung, lock.and([.machine: "door"]))
    story.add(Recorded.Agent.offerAsked, pid: 10)
    story.add(Recorded.Daemon.requestExpired, lock, after: 5)
    story.add(Recorded.Story.appContinued, lock.and([.machine: "door"]))
    story.add(Recorded.Story.ownerLeft, [.machine: "phone"])
    story.add(Recorded.Story.appHung, lock.and([.machine: "door"]))
    story.add(Recorded.Agent.offerAsked, pid: 10)
    story.add(Recorded.Radio.linkDown, [.link: "1"])
    story.add(Recorded.Daemon.requestAbandoned, lock)
    story.add(Recorded.Story.appContinued, lock.and([.machine: "door"]))
    return story.entries
  }()

  /// The agent stays suspended.
  package static let suspended: [JournalEntry] = {
    var story = StoryJournal()
    story.begin()
    story.leave()
    story.add(Recorded.Daemon.appResumed, agent, after: 0)
    story.add(Recorded.Agent.didDisconnect, [.peripheral: "P"], pid: 10, after: 0)
    story.add(Recorded.Daemon.appSuspended, agent)
    story.comeHome(awaySeconds: 1)
    story.add(Recorded.Daemon.appResumed, agent, after: 0)
    story.add(Recorded.Agent.didConnect, [.peripheral: "P"], pid: 10, after: 0)
    story.unlock(pid: 10)
    return story.entries
  }()

  /// The owner is suddenly at the door, and the agent asks.
  package static let jumped: [JournalEntry] = {
    var story = StoryJournal()
    story.begin()
    story.leave()
    story.add(Recorded.Story.ownerReturned, [.machine: "phone", .way: "jump"])
    story.add(Recorded.Radio.linkUp, [.link: "2"])
    story.add(Recorded.Agent.unlockAsked, pid: 10)
    return story.entries
  }()
}

extension [JournalField: String] {
  package func and(_ more: Self) -> Self { merging(more) { $1 } }
}

extension [JournalEntry] {
  package func without(_ event: some JournalEvent) -> [JournalEntry] { filter { !$0.is(event) } }

  /// Each such event twice in a row.
  package func twice(_ event: some JournalEvent) -> [JournalEntry] { flatMap { $0.is(event) ? [$0, $0] : [$0] } }

  package func with(_ event: some JournalEvent, _ field: JournalField, _ value: String?) -> [JournalEntry] {
    map {
      var entry = $0
      if entry.is(event) { entry[field] = value }
      return entry
    }
  }

  /// An additional line, directly before the first or the last such event.
  package func inserting<Event: JournalEvent>(
    _ event: Event, _ fields: [JournalField: String] = [:], level: String = "notice",
    before other: some JournalEvent, last isLast: Bool = false
  ) -> [JournalEntry] {
    guard let index = isLast ? lastIndex(where: { $0.is(other) }) : firstIndex(where: { $0.is(other) }) else {
      return self
    }
    var entries = self
    let place = self[index]
    let process = Event.processes[0]
    let isDoors = process == Recorded.lock || fields[.app] == Recorded.lockIdentifier
    let machine = process == Recorded.simulator ? "" : isDoors ? "door" : "phone"
    entries.insert(
      JournalEntry(
        t: place.t, wall: place.wall, machine: machine, process: process, pid: 10, level: level, event: event.rawValue,
        message: event.rawValue, fields: fields.named), at: index)
    return entries
  }

  /// The same story at a later time, so that it can follow another.
  package func afterwards(_ story: [JournalEntry]) -> [JournalEntry] {
    let later = story.map { entry in
      var entry = entry
      entry.t += (last?.t ?? 0) + 1_000_000_000
      if let record = entry[.record].flatMap({ Int($0) }) { entry[.record] = "\(record + 100)" }
      if let operation = entry[.operation] { entry[.operation] = operation + "-later" }
      return entry
    }
    return self + later
  }

  package func swapping(_ event: some JournalEvent, _ other: some JournalEvent) -> [JournalEntry] {
    guard let first = lastIndex(where: { $0.is(event) }), let second = lastIndex(where: { $0.is(other) })
    else { return self }
    var entries = self
    entries.swapAt(first, second)
    return entries
  }
}
