import Foundation
import Journal
import JournalEvents
import Testing

@testable import Stories

@Suite("The report")
struct ReportTests {
  @Test("H4: the radio's fingerprint depends on radio events and their times, and on nothing else")
  func digest() {
    let story = StoryJournal.dead
    let digest = RadioDigest(story)
    #expect(digest.events == 3)
    #expect(RadioDigest(story.without(Recorded.Lock.boltMoved).without(Recorded.Agent.started)).text == digest.text)
    #expect(RadioDigest(story.without(Recorded.Radio.linkUp)).text != digest.text)
    #expect(RadioDigest(story.with(Recorded.Radio.linkUp, .link, "3")).text != digest.text)
    let later = story.map {
      var entry = $0
      if entry.is(Recorded.Radio.linkUp) { entry.t += 1 }
      entry.pid += 1
      entry.wall += 5
      return entry
    }
    #expect(RadioDigest(later).text != digest.text)
    #expect(RadioDigest([]).text == "cbf29ce484222325")
  }

  @Test("H1: a line of the timeline has both times, the place, who, and what")
  func line() {
    let entry = JournalEntry(
      t: 4 * 86_400_000_000_000 + 7_987_250_000_000, wall: 2_500_000_000, machine: "phone", process: "latchkey-agent",
      pid: 4, level: "notice", event: "didConnect", message: "", fields: ["peripheral": "P", "a": "b"])
    let line = entry.line(since: 1_000_000_000)
    for part in ["4d 02:13:07.250", "1.500 s", "phone", "latchkey-agent", "didConnect", "a=b peripheral=P"] {
      #expect(line.contains(part), "\(line)")
    }
  }

  @Test("H1: a broken promise shows what was promised and the lines that broke it, and the run is broken")
  func text() throws {
    let result = try #require(Promise.named("unlocked-once")).judge(
      Evidence(StoryJournal.dead.twice(Recorded.Lock.boltMoved), machines: StoryJournal.machines), scope: "the chapter")
    let report = Report(
      scenario: "days-away", title: "T", seed: 1, days: 5, kept: false, problem: "line 3: in vain", promises: [result],
      timeline: StoryJournal.dead, radio: .init(digest: "d", events: 2), virtualSeconds: 1, wallSeconds: 1,
      beganAt: 1_700_000_000_000_000_000, damagedLines: 0)
    let text = report.text()
    for part in [
      "BROKEN  unlocked-once", "promised: ", "line 3: in vain", "1 of 1 promise broken in days-away", "bolt.moved",
    ] {
      #expect(text.contains(part), "\(text)")
    }
    // The first broken promise is printed last.
    let end = try #require(text.range(of: "BROKEN: 1 of 1"))
    #expect(text[end.upperBound...].contains("BROKEN  unlocked-once: \(result.reason)"))
    let json = String(decoding: try report.json(), as: UTF8.self)
    #expect(json.contains("\"judgement\" : \"broken\""))
  }

  private func report(_ judgements: [Judgement], problem: String? = nil, days: Double = 5) -> Report {
    let promises = judgements.map {
      PromiseResult(name: "p", meaning: "m", rows: [], scope: "s", judgement: $0, reason: "r", evidence: [])
    }
    return Report(
      scenario: "x", title: "T", seed: 1, days: days,
      kept: problem == nil && judgements.contains(.kept) && !judgements.contains(.broken), problem: problem,
      promises: promises, timeline: [], radio: .init(digest: "d", events: 1), virtualSeconds: 1, wallSeconds: 1,
      beganAt: 0, damagedLines: 0)
  }

  @Test("A15: the verdict's words say what happened, and count in good English")
  func words() {
    #expect(report([.kept, .kept]).verdict == "KEPT: 2 of 2 promises kept in x")
    #expect(report([.kept, .notJudged]).verdict == "KEPT: 1 of 2 promises kept in x, 1 not judged")
    #expect(
      report([.kept, .kept], problem: "line 3").verdict
        == "NOT PROVEN: x stopped before its end, 2 of 2 promises kept up to there")
    #expect(report([]).verdict == "NOT PROVEN: x checks no promise")
    #expect(report([.notJudged]).verdict == "NOT PROVEN: nothing was judged in x, 1 not judged")
    #expect(
      report([.broken, .kept, .notReached], problem: "line 3").verdict
        == "BROKEN: 1 of 3 promises broken in x, 1 kept, 1 not reached")
    for (days, words) in [(1, "1 day a chapter"), (5, "5 days a chapter"), (0.5, "0.5 days a chapter")] {
      #expect(report([.kept], days: days).text().contains(words))
    }
    #expect(report([.kept]).text().contains("(1 event)"))
  }
}
