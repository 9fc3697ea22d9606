import Journal
import JournalEvents
import StoryTesting
import Testing

@testable import Stories
@testable import Worlds

@Suite struct HungLockTests {
  @Test(
    "C6: a lock that hangs for less than its system waits answers by itself; one that hangs for longer is answered for",
    arguments: [1, 6])
  func hungBriefly(seconds: Int64) throws {
    let faults = PromiseTests.lockFaults
    let hung = try #require(faults.firstIndex { $0.is(Recorded.Story.appHung) })
    let asked = try #require(faults[hung...].first { $0.is(Recorded.Agent.offerAsked) })
    let left = try #require(faults.firstIndex { $0.is(Recorded.Story.ownerLeft) })
    let continued = Array(faults[..<left]).without(Recorded.Daemon.requestExpired).map { entry in
      var entry = entry
      if entry.is(Recorded.Story.appContinued) { entry.t = asked.t + seconds * 1_000_000_000 }
      return entry
    }
    let story = continued.enumerated().sorted { ($0.element.t, $0.offset) < ($1.element.t, $1.offset) }
    let promise = try #require(Promise.named("answered-for-the-app"))
    let result = promise.judge(
      Evidence(story.map(\.element), machines: StoryJournal.machines), scope: "test")
    #expect(result.judgement == (seconds == 1 ? .notJudged : .broken), "\(result.reason)")
  }
}
