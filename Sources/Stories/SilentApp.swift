import Foundation
import Journal
import JournalEvents
import Worlds

/// Why an app may have been silent while a story waited for a record of it, or is not there for a step, for the story's
/// author.
struct SilentApp {
  private static let bluetoothModes: Set = ["bluetooth-central", "bluetooth-peripheral"]

  let app: InstalledApp
  let machine: String

  init(_ app: InstalledApp, on machine: String) {
    self.app = app
    self.machine = machine
  }

  /// The app that records this, if only one app on one machine can. Otherwise `nil`.
  init?(_ pattern: EventPattern, _ machines: [MachineDescription]) {
    func records(_ app: InstalledApp) -> Bool {
      guard pattern.process == nil || pattern.process == app.process else { return false }
      // A described app has events of its own, of which nothing is known here.
      if app.isDescribed { return pattern.process != nil }
      return app == .agent
        ? Recorded.Agent(rawValue: pattern.event) != nil : Recorded.Lock(rawValue: pattern.event) != nil
    }
    let candidates = machines.filter { pattern.machine == nil || $0.name == pattern.machine }
      .flatMap { machine in machine.apps.filter(records).map { (app: $0, machine: machine.name) } }
    guard candidates.count == 1 else { return nil }
    (app, machine) = candidates[0]
  }

  /// - Returns: a clause for the end of a sentence, or nothing if the app runs.
  func reason(_ entries: some BidirectionalCollection<JournalEntry>) -> String {
    let turns: Set<Recorded.Daemon> = [.appLaunched, .appResumed, .appSuspended, .appEnded]
    let last = entries.last { entry in
      entry.machine == machine && entry[.app] == app.bundleIdentifier
        && entry.event(as: Recorded.Daemon.self).map(turns.contains) == true
    }
    guard let last else {
      // latchkeyd does not record the start of a unit that systemd started, but the app itself records something.
      let isHeard = entries.contains { $0.machine == machine && $0.process == app.process }
      return isHeard ? "" : "; \(name) was never started" + (app == .agent ? ", as by `open app`" : "")
    }
    switch last.event(as: Recorded.Daemon.self) {
    case .appSuspended:
      return "; \(name) was suspended"
        + (wakes ? "" : ", and nothing wakes it: its Info.plist has no background mode for Bluetooth")
    case .appEnded:
      return "; \(name) had ended" + (last[.how].map { " (\($0))" + afterwards($0) } ?? "")
    default: return ""
    }
  }

  /// What an author should know about this kind of end (`docs/background.md`).
  private func afterwards(_ how: String) -> String {
    switch how {
    case "exit 0":
      ", as a program does at the end of its main.swift; dispatchMain() or RunLoop.main.run() there keeps it running"
    case "quit": ", and is not started before it is opened again"
    case _ where !app.isDescribed: ""
    default:
      "; it is started again for managers that have a restore identifier"
        + (wakes ? "" : ", if its Info.plist has a background mode for Bluetooth")
    }
  }

  /// What the author calls it. Every phone has an agent, so the machine tells which.
  private var name: String { app.isDescribed ? app.name : "the \(app.name) on \(machine)" }

  private var wakes: Bool {
    guard app.isDescribed else { return true }
    let keys = try? PropertyListSerialization.propertyList(from: app.propertyList, format: nil) as? [String: Any]
    return !Self.bluetoothModes.isDisjoint(with: keys?["UIBackgroundModes"] as? [String] ?? [])
  }
}
