import Journal
import JournalEvents
import Radio
import TimeTypes
import Worlds

/// A story that the orchestrator runs: machines, what happens to them and when, and the promises that must hold.
package struct Scenario: Sendable, Equatable {
  /// Where it was read from, for errors.
  package var file: String
  /// Short and unique: the argument of `latchkey prove`.
  package var name: String
  /// One line for a person.
  package var title: String
  /// The seed of the radio's randomness.
  package var seed: UInt64
  /// Days that each chapter lasts as written; `--days` scales every `day:`, `at:` and `pass days:` by its ratio to this.
  package var days: Double
  package var machines: [MachineDescription]
  /// The noise of a simulated world's radio.
  package var radio: RadioPhysics
  package var chapters: [Chapter]
  /// Checked over the whole run, at its end.
  package var promises: [PromiseReference]

  package init(
    file: String, name: String, title: String, seed: UInt64, days: Double, machines: [MachineDescription],
    radio: RadioPhysics = .ordinary, chapters: [Chapter], promises: [PromiseReference]
  ) {
    self.file = file
    self.name = name
    self.title = title
    self.seed = seed
    self.days = days
    self.machines = machines
    self.radio = radio
    self.chapters = chapters
    self.promises = promises
  }
}

/// A part of the story with its own count of days: its `day: 0` is the moment it begins.
package struct Chapter: Sendable, Equatable {
  package var name: String
  package var steps: [Step]
  /// Checked over this chapter's events, at its end.
  package var promises: [PromiseReference]

  package init(name: String, steps: [Step], promises: [PromiseReference]) {
    self.name = name
    self.steps = steps
    self.promises = promises
  }
}

/// A promise that a scenario wants to be checked, and its line.
package struct PromiseReference: Sendable, Equatable {
  package var name: String
  package var line: Int?
  /// What the scenario says of a promise about any app or about a radio; `nil` for a promise that is one word.
  package var expectation: Expectation?

  package init(_ name: String, line: Int? = nil) {
    self.name = name
    self.line = line
  }

  package init(_ expectation: Expectation, line: Int? = nil) {
    self.name = expectation.name
    self.line = line
    self.expectation = expectation
  }
}

/// One step of the story.
package struct Step: Sendable, Equatable {
  package var line: Int?
  package var time: StepTime
  /// Text for the progress and the timeline, instead of the action's own words.
  package var note: String?
  package var action: Action

  package init(line: Int?, time: StepTime, note: String? = nil, action: Action) {
    self.line = line
    self.time = time
    self.note = note
    self.action = action
  }
}

package enum StepTime: Sendable, Equatable {
  /// As soon as the step before is done.
  case next
  /// This many days after the chapter's beginning, scaled by `--days`. If that time has passed, at once.
  case day(Double)
  /// This long after the step before was done, scaled by `--days`.
  case later(Duration)
}

package enum Action: Sendable, Equatable {
  case openApp(machine: String, app: InstalledApp)
  case leaveApp(machine: String, app: InstalledApp)
  case quitApp(machine: String, app: InstalledApp)
  /// Ends it as the system does under memory pressure.
  case reclaimApp(machine: String, app: InstalledApp)
  /// The owner's command to the agent (`latchkey unlock`). Its outcome is in the journal.
  case unlock(machine: String, door: String? = nil)
  /// A person asks the agent, and waits for the answer.
  case ask(machine: String, Question)
  /// A phone and the lock are introduced to each other, as `latchkey provision` does; the lock starts again.
  case provision(machine: String, door: String)
  /// SIGKILL from outside.
  case killApp(machine: String, app: InstalledApp)
  /// SIGSTOP from outside: it stays alive and does nothing, until it is continued.
  case hangApp(machine: String, app: InstalledApp)
  case continueApp(machine: String, app: InstalledApp)
  /// SIGKILL. The machine's init restarts it after `after`.
  case killDaemon(machine: String, after: Duration)
  /// A fault from outside. Some machines can do it, and others can't.
  case fault(machine: String, MachineFault)
  /// The user's own switch for Bluetooth.
  case bluetooth(machine: String, isOn: Bool)
  /// A clean reboot: processes are asked to end, then killed; after `downtime` the machine boots.
  case reboot(machine: String, downtime: Duration)
  /// Power fails in an instant, and comes back after `downtime` (a battery is changed).
  case cutPower(machine: String, downtime: Duration)
  /// A machine moves: in an instant, or with `over` on foot, straight and at an even pace. The step is done before the
  /// walk ends.
  case move(machine: String, to: Place, occasion: Occasion?, over: Duration? = nil)
  /// The lock's door sensor.
  case door(machine: String, isOpen: Bool)
  /// The lock's thumb-turn, by hand.
  case turnBolt(machine: String, isLocked: Bool, from: LockHand.Side? = nil)
  /// Another act of a hand at a simulated lock.
  case lock(machine: String, LockHand)
  /// Days pass, scaled by `--days`.
  case passDays(Double)
  /// Time passes, not scaled.
  case pass(Duration)
  case wait(EventPattern, limit: Duration)
  /// Checks promises over what has happened in this chapter so far.
  case check([PromiseReference])
}

/// Events of the journal that a step waits for.
package struct EventPattern: Sendable, Equatable, CustomStringConvertible {
  package var event: String
  package var machine: String?
  package var process: String?
  /// Fields that must have exactly these values.
  package var fields: [String: String]

  /// An event of this project's own programs.
  package init(_ event: some JournalEvent, machine: String? = nil, fields: [JournalField: String] = [:]) {
    self.event = event.rawValue
    self.machine = machine
    self.fields = fields.named
  }

  /// An event in a scenario, which may be another program's own.
  ///
  /// - Precondition: `StepReader` has compared its names with the vocabulary.
  init(named event: String, machine: String? = nil, process: String? = nil, fields: [String: String] = [:]) {
    self.event = event
    self.machine = machine
    self.process = process
    self.fields = fields
  }

  package func matches(_ entry: JournalEntry) -> Bool {
    entry.event == event && (machine.map(entry.isOf) ?? true)
      && (process.map { $0 == entry.process } ?? true) && fields.allSatisfy { entry.fields[$0.key] == $0.value }
  }

  package var description: String {
    var text = event
    if let process { text += " of \(process)" }
    if let machine { text += " on \(machine)" }
    if !fields.isEmpty {
      text += " with " + fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    }
    return text
  }
}

extension Scenario {
  /// The promises of every scope.
  package var everyPromise: [PromiseReference] {
    let checked = chapters.flatMap(\.steps).flatMap { step in
      if case .check(let references) = step.action { references } else { [PromiseReference]() }
    }
    return promises + chapters.flatMap(\.promises) + checked
  }

  /// Whether the run must record what is on the air. These records are many.
  package var concernsAir: Bool {
    everyPromise.contains { $0.expectation?.concernsAir ?? false }
  }
}

extension Action {
  /// What happens, in words for people.
  package var summary: String {
    switch self {
    case .openApp(let machine, let app): "the user opens the \(app) on \(machine)"
    case .leaveApp(let machine, let app): "the user leaves the \(app) on \(machine)"
    case .quitApp(let machine, let app): "the user force-quits the \(app) on \(machine)"
    case .reclaimApp(let machine, let app): "\(machine) reclaims the \(app)'s memory"
    case .unlock(let machine, let door):
      "the owner says on \(machine) that the door\(door.map { " '\($0)'" } ?? "") is to open"
    case .ask(let machine, let question): question.summary(on: machine)
    case .provision(let machine, let door): "the phone \(machine) and the lock at \(door) are given each other's keys"
    case .killApp(let machine, let app): "SIGKILL for the \(app) on \(machine)"
    case .hangApp(let machine, let app): "the \(app) on \(machine) hangs (SIGSTOP)"
    case .continueApp(let machine, let app): "the \(app) on \(machine) goes on (SIGCONT)"
    case .killDaemon(let machine, _): "SIGKILL for latchkeyd on \(machine); init brings it back"
    case .fault(let machine, let fault): fault.summary(on: machine)
    case .bluetooth(let machine, let isOn): "the user of \(machine) switches Bluetooth \(isOn ? "on" : "off")"
    case .reboot(let machine, _): "\(machine) reboots"
    case .cutPower(let machine, _): "\(machine) loses its power and gets it back"
    case .move(let machine, let place, let occasion, let over):
      MachineFault.move(to: place, occasion: occasion, over: over).summary(on: machine)
    case .door(let machine, let isOpen): "the door at \(machine) is \(isOpen ? "opened" : "shut")"
    case .turnBolt(let machine, let isLocked, let side):
      "somebody \(isLocked ? "locks" : "unlocks") the lock at \(machine) by hand\(side.map { ", from \($0.rawValue)" } ?? "")"
    case .lock(let machine, let hand): hand.summary(on: machine)
    case .passDays(let days): "\(days) days pass"
    case .pass(let duration): "\(DurationText.format(duration)) pass"
    case .wait(let pattern, _): "wait for \(pattern)"
    case .check(let promises): "check \(promises.map(\.name).joined(separator: ", "))"
    }
  }
}
