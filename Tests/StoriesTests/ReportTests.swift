import Foundation
import Journal
import JournalEvents
import StoryTesting
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
  }

  @Test("A15: times are in seconds while they are short, then in days, hours and minutes")
  func times() {
    func entry(_ seconds: Double) -> JournalEntry {
      JournalEntry(
        t: Int64(seconds * 1e9), wall: 0, machine: "", process: "", pid: 0, level: "notice", event: nil, message: "",
        fields: [:])
    }
    for (seconds, text) in [
      (10.999, "10.999 s"), (599, "599.000 s"), (600, "10 min"), (431_366, "4 d 23 h 49 min"), (86_400, "1 d"),
      (0, "0.000 s"), (-5, "0.000 s"),
    ] {
      #expect(elapsed(from: entry(0), to: entry(seconds)) == text)
    }
  }
}
