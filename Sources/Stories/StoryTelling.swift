import AppLink
import Foundation
import Journal
import JournalEvents
import TimeTypes
import Worlds

extension Action {
  /// Whether this only waits or checks, and leaves the world alone.
  fileprivate var isPatient: Bool {
    switch self {
    case .wait, .pass, .passDays, .check: true
    default: false
    }
  }
}

// What each step does.
extension ScenarioRun {
  func perform(_ step: Step) throws {
    let words = step.note ?? step.action.summary
    if case (let machine, .unsupported(let why))? = try ability(step.action) {
      return try leaveOut(step, machine, why)
    }
    if case .wait = step.action {} else { waitsFrom = chronicle.entries.count }
    if !step.action.isPatient { try world.meet(begins(with: step.action)) }
    switch step.action {
    case .openApp(let machine, let app):
      try user(.appOpened, .openApp(bundleIdentifier: app.bundleIdentifier), machine, app, words)
    case .leaveApp(let machine, let app):
      try user(.appLeft, .leaveApp(bundleIdentifier: app.bundleIdentifier), machine, app, words)
    case .quitApp(let machine, let app):
      try user(.appQuit, .quitApp(bundleIdentifier: app.bundleIdentifier), machine, app, words)
    case .reclaimApp(let machine, let app):
      try user(.appReclaimed, .reclaimApp(bundleIdentifier: app.bundleIdentifier), machine, app, words)
    case .unlock(let machine, let door): try unlock(on: machine, door: door, words)
    case .ask(let machine, let question): try ask(question, on: machine, words)
    case .provision(let machine, let door): try provision(machine, at: door, words)
    case .killApp(let machine, let app):
      let pid = try running(app, on: machine, toBe: "killed")
      try mark(
        .appKilled, machine: machine, message: words, fields: [.app: app.bundleIdentifier, .pid: "\(pid)"])
      try world.machine(machine).kill(app)
    case .hangApp(let machine, let app): try hold(app, on: machine, isHung: true, words)
    case .continueApp(let machine, let app): try hold(app, on: machine, isHung: false, words)
    case .killDaemon(let machine, let downtime):
      try mark(.daemonKilled, machine: machine, message: words)
      try world.machine(machine).killDaemon(staysDown: downtime > .zero)
      try pause(downtime)
      try world.machine(machine).startDaemon()
    case .reboot(let machine, let downtime):
      try restart(machine, clean: true, downtime, words)
    case .cutPower(let machine, let downtime):
      try restart(machine, clean: false, downtime, words)
    case .bluetooth(let machine, let isOn):
      try mark(
        .fault, machine: machine, message: words, fields: isOn ? [:] : [.about: Recorded.bluetoothSwitchedOff])
      try world.machine(machine).control(.setBluetooth(on: isOn))
    case .move(let machine, let place, let occasion, let over):
      try move(machine, to: place, occasion, over, step, words)
    case .fault(let machine, let fault):
      let isClock = if case .clock = fault { true } else { false }
      try mark(.fault, machine: machine, message: words, fields: isClock ? [.about: Recorded.clockSet] : [:])
      try world.machine(machine).perform(fault)
    case .door(let machine, let isOpen):
      try mark(.fault, machine: machine, message: words, fields: [.door: isOpen ? "open" : "shut"])
      try world.machine(machine).lockHardware().moveDoor(isOpen: isOpen)
    case .turnBolt(let machine, let isLocked, let side):
      try mark(.fault, machine: machine, message: words, fields: [.about: Recorded.atTheLock])
      try world.machine(machine).lockHardware().turnBolt(isLocked: isLocked, from: side)
    case .lock(let machine, let hand):
      try mark(.fault, machine: machine, message: words, fields: [.about: Recorded.atTheLock])
      try world.machine(machine).lockHardware().perform(hand)
    case .passDays(let days):
      try mark(.timePassed, message: words)
      try pass(until: world.now + scaled(days: days))
    case .pass(let duration):
      try mark(.timePassed, message: words)
      try pause(duration, since: stepDone)
    case .wait(let pattern, let limit): try wait(pattern, limit, step.note)
    case .check(let references):
      judge(references, evidence(chapterWindow..<chronicle.entries.count), scope: Verdict.scope(of: step))
    }
  }

  /// The machines that begin to take part with an action. One is the machine that it happens to, so that nothing that a
  /// later step waits for happens before. With the first action come the machines with a lock, and those without an
  /// action of their own.
  private func begins(with action: Action) -> Set<String> {
    let acting = scenario.chapters.flatMap(\.steps).compactMap { DeedsTold.record(of: $0.action)?.machine }
    let others = scenario.machines.filter { $0.apps.contains(.lock) || !acting.contains($0.name) }.map(\.name)
    return Set(others + [DeedsTold.record(of: action)?.machine].compactMap { $0 })
  }

  private func user(
    _ event: Recorded.Story, _ request: ControlRequest, _ machine: String, _ app: InstalledApp, _ words: String
  ) throws {
    // Recorded before it is done, so that its consequences are recorded after it.
    try mark(event, machine: machine, message: words, fields: [.app: app.bundleIdentifier])
    try world.machine(machine).control(request)
  }

  /// The process of an app that a step needs alive. What the step is about can't happen to one that does not run, and a
  /// story that went on would prove something else than it says.
  private func running(_ app: InstalledApp, on machine: String, toBe done: String) throws -> Int32 {
    do {
      return try world.machine(machine).process(of: app)
    } catch let error as WorldError {
      throw Stopped(
        reason: "\(error), and can't be \(done)" + SilentApp(app, on: machine).reason(chronicle.entries)
          + "; a step before has to open it, or to wait until its system has started it again")
    }
  }

  private func hold(_ app: InstalledApp, on machine: String, isHung: Bool, _ words: String) throws {
    if isHung { _ = try running(app, on: machine, toBe: "hung") }
    try mark(
      isHung ? .appHung : .appContinued, machine: machine, message: words,
      fields: [.app: app.bundleIdentifier])
    try world.machine(machine).hold(app, isHung: isHung)
  }

  /// A step that a machine can't do is recorded, with the reason. Without a departure or an arrival there is no
  /// story.
  private func leaveOut(_ step: Step, _ machine: String, _ why: String) throws {
    undone += 1
    try mark(.notDone, machine: machine, message: "not done: \(step.note ?? step.action.summary): \(why)")
    if case .move(_, _, .some, _) = step.action { throw Stopped(reason: "\(step.action.summary): \(why)") }
  }

  /// A pause in the story. If its days are shortened, the pause is limited.
  private func pause(_ duration: Duration, since beginning: Instant? = nil) throws {
    try pass(until: (beginning ?? world.now) + (options.pace.map { min(duration, $0.longestPause) } ?? duration))
  }

  private func restart(_ name: String, clean: Bool, _ downtime: Duration, _ words: String) throws {
    let machine = try world.machine(name)
    try mark(.machineDown, machine: name, message: words)
    try machine.shutDown(clean: clean)
    try pause(downtime)
    try mark(.machineUp, machine: name, message: "\(name) boots")
    try machine.boot()
  }

  private func move(
    _ machine: String, to place: Place, _ occasion: Occasion?, _ over: Duration?, _ step: Step, _ words: String
  ) throws {
    let written = place
    var (here, place, over) = (try whereabouts(of: machine), place, over)
    if let whole = over, options.pace != nil,
      case .exact = try world.machine(machine).ability(.move(to: place, occasion: occasion, over: whole))
    {
      // The days are shortened, and so is the part of the way on which nobody hears the machine.
      let others = try scenario.machines.map(\.name).filter { $0 != machine }.map { try whereabouts(of: $0) }
      // In the story, the machine is where its last walk was to end, and the walk's pace counts from there.
      let begin = ways[machine].map { world.now - $0.began >= $0.over } ?? true ? destinations[machine] ?? here : here
      let way = Way(from: begin, to: place, began: world.now, over: whole).near(others, within: Self.outOfHearing)
      if way.from != here { try world.machine(machine).perform(.move(to: way.from, occasion: nil)) }
      (here, place, over) = (way.from, way.to, way.over)
    }
    destinations[machine] = written
    // Promises use this to tell whether there was an approach.
    var fields: [JournalField: String] = [
      .x: "\(place.x)", .y: "\(place.y)", .fromX: "\(here.x)", .fromY: "\(here.y)",
      .way: over == nil ? "jump" : "walk",
    ]
    if let over { fields[.over] = "\(Double(over.wholeNanoseconds) / 1e9)" }
    ways[machine] = Way(from: here, to: place, began: world.now, over: over ?? .zero)
    switch occasion {
    case .departure:
      departed[machine] = world.now
      try mark(.ownerLeft, machine: machine, message: words, fields: fields)
    case .arrival:
      if let departed = departed[machine], case .day(let day) = step.time {
        fields[.awayAtLeast] = "\((chapterBegan + scaled(days: day) - departed).wholeNanoseconds)"
      }
      try mark(.ownerReturned, machine: machine, message: words, fields: fields)
    case nil:
      try mark(.moved, machine: machine, message: words, fields: fields)
    }
    let fault = MachineFault.move(to: place, occasion: occasion, over: over)
    try world.machine(machine).perform(fault)
    // If a person walks in place of a simulation, they say when they have arrived. Nothing else records the end of the
    // walk.
    if over != nil, case .substitute = try world.machine(machine).ability(fault) {
      try mark(
        .walkEnded, machine: machine, message: "\(machine) is at \(place)",
        fields: [.machine: machine, .x: "\(place.x)", .y: "\(place.y)"])
    }
  }

  /// A distance at which no machine hears another, in metres. Virtual machines hear each other up to 38, and promises
  /// count up to 50 as home.
  private static let outOfHearing = 55.0

  /// The present place of a machine in the story.
  private func whereabouts(of machine: String) throws -> Place {
    if let way = ways[machine] { return way.place(at: world.now) }
    guard let description = scenario.machines.first(where: { $0.name == machine }) else {
      throw WorldError("there is no machine '\(machine)' in this world")
    }
    return description.position
  }

  /// For the author of a wait in vain: the event came before the latest action. Empty if it did not.
  private func earlier(_ pattern: EventPattern, than limit: Duration) -> String {
    let missed = (min(chapterWindow, waitsFrom)..<waitsFrom).last { index in
      !found.contains(index) && pattern.matches(chronicle.entries[index])
    }
    guard let missed else { return "" }
    let ago = max(0, world.now.nanoseconds - limit.wholeNanoseconds - chronicle.entries[missed].t)
    return
      "; it had come already, \(DurationText.format(.milliseconds(ago / 1_000_000))) before this wait and before the "
      + "latest action, and only what comes after that counts"
  }

  /// For the author of a wait in vain: the event came with other values. Empty if it did not.
  private func other(than pattern: EventPattern) -> String {
    var event = pattern
    event.fields = [:]
    guard !pattern.fields.isEmpty,
      let seen = chronicle.entries[waitsFrom...].last(where: { event.matches($0) && !pattern.matches($0) })
    else { return "" }
    let values = pattern.fields.keys.sorted().map { "\($0)=\(seen.fields[$0] ?? "")" }.joined(separator: " ")
    return "; the last \(pattern.event) had \(values)"
  }

  /// Waits for an event after the last action on the world.
  private func wait(_ pattern: EventPattern, _ limit: Duration, _ note: String?) throws {
    options.observe(.waiting(for: note ?? "\(pattern)"))
    var next = waitsFrom
    let came = try world.run(until: world.now + limit) {
      try tend()
      while next < chronicle.entries.count {
        defer { next += 1 }
        if pattern.matches(chronicle.entries[next]), found.insert(next).inserted { return true }
      }
      return false
    }
    guard came else {
      let seen = Set(chronicle.entries[waitsFrom...].compactMap(\.event)).sorted().joined(separator: ", ")
      try mark(.waitFailed, message: "waited \(DurationText.format(limit)) in vain for \(pattern)")
      throw Stopped(
        reason: "waited \(DurationText.format(limit)) for \(pattern), which did not come; what came: "
          + (seen.isEmpty ? "nothing" : seen) + other(than: pattern) + earlier(pattern, than: limit)
          + (SilentApp(pattern, scenario.machines)?.reason(chronicle.entries) ?? ""))
    }
    try mark(.waited, message: note ?? "there it is: \(pattern)")
  }
}
