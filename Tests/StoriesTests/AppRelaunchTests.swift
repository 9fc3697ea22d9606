import Foundation
import Journal
import JournalEvents
import StoryTesting
import Testing

@testable import Stories
@testable import Worlds

/// Promises about an app that the system has relaunched, and that the story may end at once.
@Suite("Promises about a relaunched app")
struct AppRelaunchTests {
  private static let app = InstalledApp(
    name: "collector", bundleIdentifier: "org.example.collector", executable: "collector", propertyList: Data())

  private func line(
    _ event: String, by process: String, at milliseconds: Int64, pid: Int32 = 1, _ fields: [String: String] = [:]
  ) -> JournalEntry {
    JournalEntry(
      t: milliseconds * 1_000_000, wall: 0, machine: "phone", process: process, pid: pid, level: "notice", event: event,
      message: event, fields: fields)
  }

  /// latchkeyd relaunches the app as process 7.
  private func launch(
    at milliseconds: Int64 = 0, for reason: String = "restore", centrals: String = "main"
  ) -> JournalEntry {
    let app = ["app": Self.app.bundleIdentifier, "reason": reason, "because": "connected"]
    return line(
      "app.launched", by: Recorded.daemon, at: milliseconds, app.merging(["pid": "7", "centrals": centrals]) { $1 })
  }

  private func told(_ calls: String..., at milliseconds: Int64) -> [JournalEntry] {
    calls.map {
      line("told", by: "collector", at: milliseconds, pid: 7, ["call": $0, "role": "central", "manager": "main"])
    }
  }

  /// The story does something to the app, or to its machine.
  private func step(_ event: Recorded.Story, at milliseconds: Int64) -> JournalEntry {
    let isAboutApp = event.fields.contains(.app)
    return line(
      event.rawValue, by: Recorded.orchestrator, at: milliseconds, isAboutApp ? ["app": Self.app.bundleIdentifier] : [:]
    )
  }

  private func judge(_ kind: Stories.Expectation.Kind, event: String? = nil, _ entries: [JournalEntry]) -> PromiseResult
  {
    Stories.Expectation(kind: kind, app: Self.app, machines: ["phone"], event: event).promise
      .judge(Evidence(entries, machines: StoryJournal.machines), scope: "test")
  }

  @Test(
    "S10: an app that the story ends before it could be told breaks no 'restored in order'",
    arguments: [.appKilled, .appReclaimed, .appQuit, .appHung, .machineDown] as [Recorded.Story], [0, 1, 250, 500])
  func endedAtOnce(_ step: Recorded.Story, _ milliseconds: Int64) {
    let end = self.step(step, at: milliseconds)
    for calls in [[], told("willRestoreState", at: 0)] {
      let result = judge(.restoredInOrder, [launch()] + calls + [end])
      #expect(result.judgement == .notJudged, "\(result.reason)")
      #expect(result.evidence.contains(end))
    }
    let later = judge(
      .restoredInOrder,
      [launch(), end, launch(at: 20_000)] + told("willRestoreState", "stateChanged", at: 20_000))
    #expect(later.judgement == .kept, "\(later.reason)")
  }

  @Test("S10: an app that never ran was told nothing in the wrong way, and nothing in the right way either")
  func neverRan() {
    let entries = [step(.machineDown, at: 0)]
    for kind in [.restoredInOrder, .toldNothingTwice] as [Stories.Expectation.Kind] {
      let result = judge(kind, entries)
      #expect(result.judgement == .notJudged, "\(result.reason)")
      #expect(result.reason.contains("never ran"), "\(result.reason)")
    }
    #expect(judge(.told, event: "connected", entries).judgement == .broken)
  }

  @Test(
    "S10: a promise that lets something happen never is not judged of an app that never ran, whatever its limit",
    arguments: [0, 1, 3])
  func neverRanWithLimit(_ most: Int) {
    for (least, judgement) in [(0, Judgement.notJudged), (1, .broken)] where least <= most {
      var expectation = Stories.Expectation(kind: .told, app: Self.app, machines: ["phone"])
      expectation.times = .init(atLeast: least, atMost: most)
      let result = expectation.promise.judge(
        Evidence([step(.machineDown, at: 0)], machines: StoryJournal.machines), scope: "test")
      #expect(result.judgement == judgement, "\(least) to \(most): \(result.reason)")
    }
  }

  @Test("S10: a promise of something that is to happen exactly never says so in its name")
  func namedNever() {
    var expectation = Stories.Expectation(kind: .relaunched, app: Self.app, machines: ["phone"])
    #expect(expectation.name == "relaunched: collector")
    expectation.times = .never
    #expect(expectation.name == "relaunched: collector, never")
    var other = Stories.Expectation(kind: .notRelaunched, app: Self.app, machines: ["phone"])
    other.times = .never
    #expect(other.name == "not relaunched: collector")
  }

  @Test("S10: an app that was told out of order breaks 'restored in order', whatever the story does then")
  func outOfOrder() {
    let entries = [launch()] + told("stateChanged", at: 0) + [step(.appKilled, at: 1)]
    #expect(judge(.restoredInOrder, entries).judgement == .broken)
  }

  @Test("S10: an app that had its time to make its managers breaks 'restored in order'")
  func forgetful() {
    #expect(judge(.restoredInOrder, [launch(), step(.appKilled, at: 60_000)]).judgement == .broken)
    #expect(judge(.restoredInOrder, [launch(), launch(at: 20), step(.appKilled, at: 21)]).judgement == .broken)
    #expect(judge(.restoredInOrder, [launch()]).judgement == .broken)
  }

  @Test("S10: an app that always runs is restored in order when it starts again, and not judged for its first start")
  func keptAlive() {
    let first = launch(for: "keep-alive", centrals: "")
    let again = launch(at: 10, for: "keep-alive")
    let right = judge(.restoredInOrder, [first, again] + told("willRestoreState", "stateChanged", at: 10))
    #expect(right.judgement == .kept, "\(right.reason)")
    let wrong = judge(.restoredInOrder, [first, again] + told("stateChanged", "willRestoreState", at: 10))
    #expect(wrong.judgement == .broken, "\(wrong.reason)")
    #expect(judge(.restoredInOrder, [first]).judgement == .notJudged)
    #expect(judge(.relaunched, [first, again]).judgement == .kept)
    #expect(judge(.relaunched, [first]).judgement == .broken)
    // Nothing but its end was the reason.
    #expect(judge(.woken, event: "connected", [first, again]).judgement == .broken)
  }

  @Test("W3: for what an app was relaunched is known at once, whether that wake has ended or not")
  func relaunchedFor() {
    #expect(judge(.woken, event: "connected", [launch()]).judgement == .kept)
    let next = line(
      "wake.ended", by: Recorded.daemon, at: 9, ["app": Self.app.bundleIdentifier, "because": "valueUpdated"])
    #expect(judge(.woken, event: "connected", [launch(), step(.appKilled, at: 1), next]).judgement == .kept)
    #expect(judge(.woken, event: "valueUpdated", [launch(), next]).judgement == .broken)
  }

  @Test("H1: an app that hangs by itself and is ended by its system is not said to have ended by itself")
  func endedBySystem() throws {
    func judge(_ how: String...) throws -> String {
      let ends = how.map { line("app.ended", by: Recorded.daemon, at: 9, ["app": "org.example.collector", "how": $0]) }
      let result = try #require(Promise.named("nothing-crashed"))
        .judge(Evidence([launch()] + ends, machines: StoryJournal.machines), scope: "test")
      #expect(result.judgement == .broken)
      return result.reason
    }
    let overran = "overran its wake budget"
    let app = "org.example.collector"
    #expect(try judge("signal 11") == "1 process ended by itself: \(app)")
    #expect(try judge(overran, overran) == "2 processes ended by the system: \(app), which \(overran)")
    #expect(
      try judge("status 3", overran)
        == "1 process ended by itself: \(app); 1 process ended by the system: \(app), which \(overran)")
  }
}
