import ConsoleOutput
import Journal
import JournalEvents
import Stories
import StoryTesting
import Testing
import TimeTypes

@testable import StoryPresentation

@Suite("A story on a terminal")
struct ScreenTests {
  private static let chapter = StoryJournal.dead.inserting(
    Recorded.Story.chapterBegan, [.name: "away for days"], before: Recorded.Story.appOpened)

  private func lines(_ entries: [JournalEntry], _ terminal: Terminal) -> [String] {
    var screen = StoryScreen(terminal, machines: ["door", "phone"])
    return entries.flatMap { screen.lines($0) }
  }

  @Test("A15: one line a deed, within the width", arguments: [20, 40, 80, 200])
  func widths(width: Int) {
    let lines = lines(Self.chapter, Terminal(width: width))
    #expect(lines.count > 10)
    #expect(lines.allSatisfy { $0.count <= width }, "\(lines)")
    #expect(lines.contains("away for days"))
  }

  @Test("A15: a pipe gets no colours and no broken lines, and a line says when, where and what")
  func pipe() {
    let lines = lines(Self.chapter, .plain)
    #expect(!lines.contains { $0.contains("\u{1B}") })
    #expect(lines.contains { $0.hasSuffix("  door   # the bolt is locked, because its owner has left") }, "\(lines)")
  }

  @Test("A15: the machines' start is not a part of the story")
  func beginning() {
    let lines = lines(Self.chapter, .plain)
    #expect(lines.first { !$0.isEmpty } == "away for days")
    #expect(!lines.contains { $0.hasPrefix("0d 00:00:01") })
  }

  @Test("A15: colours do not change what is written")
  func colours() {
    let coloured = lines(Self.chapter, Terminal(width: 60, usesColor: true))
    let bare = coloured.map { $0.replacing(/\u{1B}\[[0-9;]*m/, with: "") }
    #expect(bare != coloured)
    #expect(bare == lines(Self.chapter, Terminal(width: 60)))
  }

  @Test("A15: characters that a terminal obeys do not reach it, whoever recorded them", arguments: [nil, 60])
  func printable(width: Int?) throws {
    let nasty = "\u{1B}]0;owned\u{7}\u{9B}2J\nnext\u{202E}"
    var warning = StoryJournal.dead[6]
    (warning.event, warning.level, warning.message) = (nil, "warning", nasty)
    let broken = Reports.result(nasty, .broken, scope: nasty, reason: nasty, evidence: [warning])
    let report = Reports.of(Self.chapter + [warning], promises: [broken], problem: nasty, title: nasty)
    let terminal = Terminal(width: width)
    let shown =
      lines(report.timeline, terminal) + VerdictScreen(report, terminal).lines(isVerbose: true)
      + TimelineScreen(report).lines
    let obeyed = shown.filter { line in
      line.unicodeScalars.contains { [.control, .format].contains($0.properties.generalCategory) }
    }
    #expect(obeyed.isEmpty, "\(obeyed)")
    #expect(shown.contains { $0.contains("owned") })
  }

  @Test("A15: the verdict has marks on a terminal, and the first broken promise with its evidence comes last")
  func verdict() throws {
    let broken = try Reports.judged("unlocked-once", StoryJournal.dead.twice(Recorded.Lock.boltMoved))
    let report = Reports.of(
      StoryJournal.dead, promises: [Reports.result("first", .kept), broken], problem: "line 3: in vain")
    let text = VerdictScreen(report, .plain).lines().joined(separator: "\n")
    for part in [
      "kept    first: r", "BROKEN  unlocked-once", "promised: ", "line 3: in vain",
      "1 of 2 promises broken in days-away", "bolt.moved", "5 days a chapter", "fingerprint f (1 event)",
    ] {
      #expect(text.contains(part), "\(text)")
    }
    let end = try #require(text.range(of: "BROKEN: 1 of 2"))
    #expect(text[end.upperBound...].contains("BROKEN  unlocked-once: \(broken.reason)"))
    #expect(!text.contains("✓"))
    let shown = VerdictScreen(report, Terminal(width: 80, usesColor: true, usesUnicode: true)).lines()
    #expect(shown.contains { $0.contains("✓ \u{1B}[32mkept  \u{1B}[0m  first") }, "\(shown)")
    for width in [40, 80, 200] {
      let lines = VerdictScreen(report, Terminal(width: width)).lines()
      #expect(lines.allSatisfy { $0.count <= width }, "\(lines)")
    }
  }

  @Test("H7: every promise says in plain words what it promises; its name is for those who look further")
  func words() throws {
    #expect(Set(PromiseWords.all.keys) == Set(Promise.all.map(\.name)))
    for words in PromiseWords.all.values {
      #expect(words.count <= 52 && !words.contains("-") && !words.hasSuffix("."), "\(words)")
    }
    let kept = try Reports.judged("unlocked-once", StoryJournal.dead)
    let report = Reports.of(StoryJournal.dead, promises: [kept])
    let short = VerdictScreen(report, .plain).lines().joined(separator: "\n")
    #expect(short.contains("kept    the door opens, once: one write") && !short.contains("unlocked-once"), "\(short)")
    let long = VerdictScreen(report, .plain).lines(isVerbose: true).joined(separator: "\n")
    #expect(long.contains("kept    unlocked-once: one write"), "\(long)")
  }

  @Test("A15: with --verbose a kept promise shows the line that proves it, and the timeline has every event")
  func verbose() throws {
    let kept = try Reports.judged("unlocked-once", StoryJournal.dead)
    let report = Reports.of(StoryJournal.dead, promises: [kept])
    #expect(!VerdictScreen(report, .plain).lines().contains { $0.contains("bolt.moved") })
    #expect(VerdictScreen(report, .plain).lines(isVerbose: true).contains { $0.contains("bolt.moved") })
    #expect(
      TimelineScreen(report).lines.count { $0.contains("latchkeyd") }
        == StoryJournal.dead.count { $0.process == "latchkeyd" })
  }

  @Test("A15: half days and single events are counted in good English")
  func counts() {
    for (days, words) in [(1, "1 day a chapter"), (5, "5 days a chapter"), (0.5, "0.5 days a chapter")] {
      let report = Reports.of([], promises: [Reports.result("p", .kept)], days: days, events: 1)
      let text = VerdictScreen(report, .plain).lines().joined(separator: "\n")
      #expect(text.contains(words) && text.contains("radio d (1 event)"), "\(text)")
    }
  }
}

@Suite("Signs of life")
struct StoryDisplayTests {
  private let heading = StoryHeading(scenario: "s", title: "T", seed: 1, days: 1, machines: ["door"])
  private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

  @Test("A15: on a terminal the last line says what a quiet run waits for, and goes away when something happens")
  func terminal() {
    var display = StoryDisplay(Terminal(width: 80, rewritesLines: true), at: .zero)
    #expect(display.text(.began(heading), at: .zero) == "T (s, seed 1, 1 day a chapter)\n")
    #expect(display.text(.waiting(for: "the bolt"), at: .zero).isEmpty)
    #expect(display.sign(at: .zero).isEmpty)
    #expect(display.sign(at: at(2)) == "(2 s; waiting for: the bolt)")
    #expect(display.sign(at: at(3)) == "\r\u{1B}[K(3 s; waiting for: the bolt)")
    #expect(display.text(.remark("door boots"), at: at(3)) == "\r\u{1B}[K  door boots\n")
    #expect(display.sign(at: at(3)).isEmpty)
    #expect(display.sign(at: at(5)) == "(5 s; door boots)")
    #expect(display.text(.busy("latchkeyd is busy"), at: at(5)).isEmpty)
    #expect(display.sign(at: at(6)) == "\r\u{1B}[K(6 s; latchkeyd is busy)")
    #expect(display.end() == "\r\u{1B}[K")
    #expect(display.sign(at: at(60)).isEmpty)
  }

  @Test("A15: a pipe gets a line a minute when nothing happens, and none of a terminal's codes")
  func pipe() {
    var display = StoryDisplay(.plain, at: .zero)
    _ = display.text(.began(heading), at: .zero)
    _ = display.text(.waiting(for: "the bolt"), at: .zero)
    let signs = (1...180).map { display.sign(at: at($0)) }.filter { !$0.isEmpty }
    #expect(signs == [60, 120, 180].map { "(\($0) s; waiting for: the bolt)\n" })
    #expect(display.end().isEmpty)
  }

  @Test("A15: a story that stops says why")
  func stopped() {
    var display = StoryDisplay(.plain, at: .zero)
    #expect(display.text(.stopped("line 3: in vain"), at: .zero) == "\nThe story stopped: line 3: in vain\n")
  }
}
