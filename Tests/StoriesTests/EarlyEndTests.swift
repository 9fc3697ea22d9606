import Journal
import JournalEvents
import StoryTesting
import Testing

@testable import Stories

extension PromiseTests {
  /// The story up to this event, with which it ends.
  private func ending(_ story: [JournalEntry], with event: some JournalEvent) throws -> [JournalEntry] {
    let last = try #require(story.lastIndex { $0.is(event) })
    return Array(story[...last])
  }

  private func passing(_ seconds: Int64, with mark: Recorded.Story, after story: [JournalEntry]) throws
    -> [JournalEntry]
  {
    var last = try #require(story.last)
    last.t += seconds * 1_000_000_000
    last.process = Recorded.orchestrator
    last.event = mark.rawValue
    last.fields = [:]
    return story + [last]
  }

  @Test(
    "H7: what had no time to follow before the story's end breaks no promise, and the reason says so",
    arguments: [
      ("opened-once", true), ("unlocked-once", true), ("unlock-answered", true), ("relaunched-in-background", true),
      ("restored-in-order", true), ("request-held", true), ("locked-on-leaving", false),
      ("link-lost-on-leaving", false),
    ])
  func earlyEnd(_ name: String, _ isReturn: Bool) throws {
    let story = try ending(Self.dead, with: isReturn ? Recorded.Story.ownerReturned : .ownerLeft)
    let result = try judge(name, evidence(story))
    #expect(result.judgement == .notJudged && result.reason.contains("ended"), "\(result.judgement) \(result.reason)")
    // There was time; the way home takes 45 s.
    let late = try judge(name, evidence(passing(120, with: .timePassed, after: story)))
    #expect(late.judgement == .broken, "\(late.judgement) \(late.reason)")
    // Whoever waits for it has given it the time that it should take.
    let waited = try passing(5, with: .waitFailed, after: story)
    let result2 = try judge(name, evidence(waited, isCutOff: true))
    #expect(result2.judgement == .broken, "\(result2.judgement) \(result2.reason)")
  }

  @Test("H7: a story that ends while the lock's answer is on its way does not break the promise of an answer")
  func endsWithTheOpening() throws {
    let story = try ending(Self.dead, with: Recorded.Lock.boltMoved)
    let result = try judge("unlock-answered", evidence(story))
    #expect(result.judgement == .notJudged && result.reason.contains("ended"), "\(result.judgement) \(result.reason)")
    #expect(try judge("opened-once", evidence(story)).kept)
  }
}
