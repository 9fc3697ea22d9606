import Foundation
import Journal
import JournalEvents
import Worlds

/// Why an app may have been silent while a story waited for a record of it, for the story's author.
struct SilentApp {
  private static let bluetoothModes: Set = ["bluetooth-central", "bluetooth-peripheral"]

  let app: InstalledApp
  let machine: String

  /// The app that records this, if only one described app on one machine can. Otherwise `nil`.
  init?(_ pattern: EventPattern, _ machines: [MachineDescription]) {
    guard let name = pattern.process else { return nil }
    let candidates = machines.filter { pattern.machine == nil || $0.name == pattern.machine }
      .flatMap { machine in
        machine.apps.filter { $0.name == name && $0.isDescribed }.map { (app: $0, machine: machine.name) }
      }
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
      let isHeard = entries.contains { $0.machine == machine && $0.process == app.name }
      return isHeard ? "" : "; \(app.name) was never started"
    }
    switch last.event(as: Recorded.Daemon.self) {
    case .appSuspended:
      return "; \(app.name) was suspended"
        + (wakes ? "" : ", and nothing wakes it: its Info.plist has no background mode for Bluetooth")
    case .appEnded: return "; \(app.name) had ended" + (last[.how].map { " (\($0))" + afterwards($0) } ?? "")
    default: return ""
    }
  }

  /// What an author should know about this kind of end (`docs/background.md`).
  private func afterwards(_ how: String) -> String {
    switch how {
    case "exit 0":
      ", as a program does at the end of its main.swift; dispatchMain() or RunLoop.main.run() there keeps it running"
    case "quit": ", and is not started before it is opened again"
    default:
      "; it is started again for managers that have a restore identifier"
        + (wakes ? "" : ", if its Info.plist has a background mode for Bluetooth")
    }
  }

  private var wakes: Bool {
    let keys = try? PropertyListSerialization.propertyList(from: app.propertyList, format: nil) as? [String: Any]
    return !Self.bluetoothModes.isDisjoint(with: keys?["UIBackgroundModes"] as? [String] ?? [])
  }
}
