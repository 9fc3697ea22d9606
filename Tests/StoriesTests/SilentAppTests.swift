import Foundation
import Journal
import JournalEvents
import Testing

@testable import Stories
@testable import Worlds

/// What a wait in vain says of the app that was to record something.
@Suite("An app that says nothing")
struct SilentAppTests {
  private static let bundleIdentifier = "org.example.collector"

  private func machines(_ modes: [String]) throws -> [MachineDescription] {
    let keys: [String: Any] = ["CFBundleIdentifier": Self.bundleIdentifier, "UIBackgroundModes": modes]
    let app = InstalledApp(
      name: "collector", bundleIdentifier: Self.bundleIdentifier, executable: "collector",
      propertyList: try PropertyListSerialization.data(fromPropertyList: keys, format: .xml, options: 0))
    return [
      MachineDescription(name: "phone", position: Place(x: 0, y: 0), apps: [app]),
      MachineDescription(name: "chest", position: Place(x: 0, y: 0), apps: []),
    ]
  }

  private func entry(
    _ event: Recorded.Daemon, of app: String = bundleIdentifier, on machine: String = "phone", how: String? = nil
  ) -> JournalEntry {
    var entry = JournalEntry(
      t: 0, wall: 0, machine: machine, process: "latchkeyd", pid: 1, level: "notice", event: event.rawValue,
      message: "", fields: [:])
    entry[.app] = app
    entry[.how] = how
    return entry
  }

  private func reason(_ modes: [String] = ["bluetooth-central"], _ entries: JournalEntry...) throws -> String? {
    let pattern = EventPattern(named: "stored", machine: "phone", process: "collector")
    return SilentApp(pattern, try machines(modes))?.reason(entries)
  }

  @Test("H7: a wait in vain says that the app is suspended, and what would have it woken")
  func suspended() throws {
    let entries = (entry(.appLaunched), entry(.appSuspended))
    #expect(try reason(["bluetooth-central"], entries.0, entries.1) == "; collector was suspended")
    let none = "; collector was suspended, and nothing wakes it: its Info.plist has no background mode for Bluetooth"
    #expect(try reason([], entries.0, entries.1) == none)
    #expect(try reason(["audio"], entries.0, entries.1) == none)
  }

  @Test("H7: a wait in vain says that the app had ended, and what would have it started again")
  func ended() throws {
    let again = "; it is started again for managers that have a restore identifier"
    #expect(
      try reason(["bluetooth-central"], entry(.appLaunched), entry(.appEnded, how: "reclaimed"))
        == "; collector had ended (reclaimed)" + again)
    #expect(
      try reason([], entry(.appLaunched), entry(.appEnded, how: "signal 9"))
        == "; collector had ended (signal 9)" + again + ", if its Info.plist has a background mode for Bluetooth")
    #expect(
      try reason(["bluetooth-central"], entry(.appLaunched), entry(.appEnded, how: "quit"))
        == "; collector had ended (quit), and is not started before it is opened again")
    #expect(
      try reason(["bluetooth-central"], entry(.appLaunched), entry(.appEnded, how: "exit 0"))
        == "; collector had ended (exit 0), as a program does at the end of its main.swift; dispatchMain() or "
        + "RunLoop.main.run() there keeps it running")
  }

  @Test("H7: a wait in vain for the agent's or the lock's record says if it does not run")
  func own() throws {
    let machines = [
      MachineDescription(name: "phone", position: Place(x: 0, y: 0), apps: [.agent]),
      MachineDescription(name: "door", position: Place(x: 0, y: 0), apps: [.lock]),
      MachineDescription(name: "tablet", position: Place(x: 0, y: 0), apps: [.agent]),
    ]
    func reason(_ event: String, on machine: String?, _ entries: [JournalEntry]) -> String? {
      SilentApp(EventPattern(named: event, machine: machine, process: nil), machines)?.reason(entries)
    }
    let agent = Recorded.agentIdentifier
    let ended = [entry(.appLaunched, of: agent), entry(.appEnded, of: agent, how: "reclaimed")]
    #expect(reason("status.answered", on: "phone", []) == "; the agent on phone was never started, as by `open app`")
    #expect(reason("status.answered", on: "phone", ended) == "; the agent on phone had ended (reclaimed)")
    #expect(reason("status.answered", on: "phone", [ended[0]]) == "")
    #expect(reason("bolt.moved", on: nil, []) == "; the lock on door was never started")
    // Either phone can record this, and latchkeyd's events are nobody's here.
    #expect(reason("status.answered", on: nil, []) == nil)
    #expect(reason("app.suspended", on: "phone", []) == nil)
  }

  @Test("H7: a wait in vain says nothing of an app that runs, nor of what it can't know")
  func others() throws {
    #expect(try reason(["bluetooth-central"]) == "; collector was never started")
    var ready = entry(.appLaunched)
    (ready.process, ready.event) = ("collector", "ready")
    #expect(try reason(["bluetooth-central"], ready) == "")
    #expect(try reason(["bluetooth-central"], entry(.appSuspended), entry(.appResumed)) == "")
    #expect(try reason(["bluetooth-central"], entry(.appLaunched), entry(.appSuspended, of: "org.example.other")) == "")
    #expect(try reason(["bluetooth-central"], entry(.appLaunched), entry(.appSuspended, on: "chest")) == "")
    let machines = try machines([])
    #expect(SilentApp(EventPattern(named: "stored", machine: "phone"), machines) == nil)
    #expect(SilentApp(EventPattern(named: "stored", machine: "chest", process: "collector"), machines) == nil)
    #expect(SilentApp(EventPattern(named: "stored", process: "collector"), machines)?.machine == "phone")
  }
}
