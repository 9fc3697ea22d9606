import Journal
import JournalEvents
import StoryTesting

@testable import Stories

/// Reports of stories that never ran.
enum Reports {
  static func of(
    _ entries: [JournalEntry], promises: [PromiseResult] = [], problem: String? = nil, title: String = "T",
    days: Double = 5, events: Int = 2, stage: [Report.StageMachine]? = nil, range: Double? = nil
  ) -> Report {
    Report(
      scenario: "days-away", title: title, seed: 1, days: days,
      kept: problem == nil && promises.contains(where: \.kept) && !promises.contains { $0.judgement == .broken },
      problem: problem, promises: promises, timeline: entries, radio: .init(digest: "d", events: events),
      fingerprint: .init(digest: "f", events: 1), virtualSeconds: 1, wallSeconds: 1,
      beganAt: 1_700_000_000_000_000_000, stage: stage, rangeMetres: range, damagedLines: 0)
  }

  static func result(
    _ name: String, _ judgement: Judgement, scope: String = "s", reason: String = "r", evidence: [JournalEntry] = []
  ) -> PromiseResult {
    PromiseResult(
      name: name, meaning: "meaning of \(name)", rows: [], scope: scope, judgement: judgement, reason: reason,
      evidence: evidence)
  }

  static func judged(_ name: String, _ entries: [JournalEntry]) throws -> PromiseResult {
    guard let promise = Promise.named(name) else { throw NoSuchPromise() }
    return promise.judge(Evidence(entries, machines: StoryJournal.machines), scope: "the chapter")
  }

  struct NoSuchPromise: Error {}
}
