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

  @Test(
    "L1 L3: what the story kills again before it could be back has not failed to come back",
    arguments: ["death-unseen", "lock-relaunched", "daemon-came-back"])
  func killedAgain(_ promise: String) throws {
    let story = promise == "death-unseen" ? PromiseTests.lockFaults : StoryJournal.dead
    let killed = try #require(
      story.firstIndex {
        promise == "daemon-came-back"
          ? $0.isMark(.daemonKilled) : $0.isMark(.appKilled) && $0[.app] == Recorded.lockIdentifier
      })
    func judge(before seconds: Int64) throws -> PromiseResult {
      var earlier = story[killed]
      earlier.t -= seconds * 1_000_000_000
      let twice = story[..<killed] + [earlier] + story[killed...]
      return try #require(Promise.named(promise)).judge(
        Evidence(Array(twice), machines: StoryJournal.machines), scope: "test")
    }
    let soon = try judge(before: 1)
    #expect(soon.kept, "\(soon.reason)")
    let late = try judge(before: 61)
    #expect(late.judgement == .broken, "\(late.reason)")
  }
}
