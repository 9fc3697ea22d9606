import Journal
import JournalEvents
import StoryTesting
import Testing

@testable import Stories
@testable import Worlds

/// Arrivals on which the lock rightly answers that it does not open.
@Suite("Openings that are forbidden")
struct ForbiddenOpeningTests {
  static let promises = ["opened-once", "unlocked-once", "unlock-answered"]

  private func judge(_ promise: String, _ story: [JournalEntry], isEnrolled: Bool = true) throws -> PromiseResult {
    var machines = StoryJournal.machines
    machines[1].isEnrolled = isEnrolled
    return try #require(Promise.named(promise)).judge(Evidence(story, machines: machines), scope: "test")
  }

  private func answered(_ result: String) -> [JournalEntry] {
    StoryJournal.dead.filter { !$0.isOpening }.with(Recorded.Agent.unlockAnswered, .result, result)
      .with(Recorded.Agent.unlockAnswered, .door, "home")
  }

  @Test("L3 L6: a lock whose mode forbids it opens on no arrival, which breaks nothing", arguments: promises)
  func mode(_ promise: String) throws {
    func story(_ modes: [String]) -> [JournalEntry] {
      modes.reduce(answered("restricted")) {
        $0.inserting(Recorded.Lock.modeChanged, [.mode: $1], before: Recorded.Story.ownerReturned)
      }
    }
    for mode in ["noRemoteLockUnlock", "privacy"] {
      let result = try judge(promise, story([mode]))
      #expect(result.judgement == .notJudged && result.reason.contains(mode), "\(result.reason)")
      #expect(try judge(promise, story([mode, "normal"])).judgement == .broken)
    }
    #expect(try judge(promise, story([])).judgement == .broken, "no record explains it")
  }

  @Test("L3 L5: a guest whose grant does not allow it opens on no arrival, which breaks nothing", arguments: promises)
  func grant(_ promise: String) throws {
    for word in ["usedUp", "outsideSchedule", "expired", "revoked"] {
      let result = try judge(promise, answered(word), isEnrolled: false)
      #expect(result.judgement == .notJudged && result.reason.contains("grant"), "\(result.reason)")
      #expect(try judge(promise, answered(word)).judgement == .broken, "an owner has no grant")
    }
    #expect(try judge(promise, answered("failed"), isEnrolled: false).judgement == .broken)
  }
}
