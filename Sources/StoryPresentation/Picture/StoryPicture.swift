import Journal
import JournalEvents
import Stories
import TimeTypes
import Worlds

/// A story as one page for a browser: its lanes over time, its promises with the moments that decide them, and what
/// happened. The page holds everything that it needs, and asks the network for nothing.
package struct StoryPicture {
  /// The most lines of a page. A page with more is slow to open, so it leaves out the lines that only a developer looks
  /// for.
  static let lineLimit = 4000

  private let report: Report
  private let scene: PictureScene
  private let time: FoldedTime

  package init(_ report: Report) {
    self.report = report
    scene = SceneBuilder.scene(of: report)
    time = FoldedTime(PictureDrawing.moments(scene))
  }

  package var html: String {
    let drawing = PictureDrawing(scene, time)
    let title = Markup.escaped(report.title)
    return """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
      <meta name="color-scheme" content="light dark">
      <title>\(title)</title>
      <style>\(PictureStyle.text)</style>
      </head>
      <body>
      <header>
      <h1>\(title)</h1>
      <p class="verdict \(report.kept ? "kept" : "broken")">\(Markup.escaped(report.verdict))</p>
      \(StorySummary.text(report).map { "<p>\(Markup.escaped($0))</p>" } ?? "")
      <p class="facts">\(Markup.escaped(facts))</p>
      \(report.problem.map { "<p class=\"problem\">The story stopped: \(Markup.escaped($0))</p>" } ?? "")
      </header>
      <main>
      <section aria-labelledby="h-picture">
      <h2 id="h-picture">The picture</h2>
      <p class="hint" id="hint">Quiet hours are drawn short. A dot leads to its line in the story.</p>
      <div class="picture">\(drawing.names)<div id="window" class="window">\(drawing.svg)</div></div>
      </section>
      <section aria-labelledby="h-promises">
      <h2 id="h-promises">The promises</h2>
      \(promises)
      </section>
      <section aria-labelledby="h-story">
      <h2 id="h-story">What happened</h2>
      <input type="checkbox" id="everything"><label for="everything">also what only developers look for</label>
      \(story)
      </section>
      </main>
      <script>\(PictureScript.text(time))</script>
      </body>
      </html>

      """
  }

  private var facts: String {
    let wall = DurationText.format(.nanoseconds(Int64(report.wallSeconds * 1e9)))
    if let journals = report.journals {
      return "\(report.scenario), from the journals of \(journals.keys.sorted().joined(separator: " and ")): \(wall)"
    }
    let days = "\(report.scenario), seed \(report.seed), \(count(report.days, "day")) a chapter"
    guard let fingerprint = report.fingerprint else { return "\(days), on machines, in \(wall)" }
    let virtual = DurationText.format(.nanoseconds(Int64(report.virtualSeconds * 1e9)))
    return "\(days), \(virtual) of simulated time in \(wall), fingerprint \(fingerprint.digest)"
  }

  // MARK: Promises

  private var promises: String {
    // If two lines have the same content, the first stands for both.
    let positions = Dictionary(report.timeline.enumerated().map { ($0.element, $0.offset) }) { first, _ in first }
    var scope: String?
    var lines = ["<ul class=\"promises\">"]
    let broken = report.promises.filter { $0.judgement == .broken }
    for promise in broken + report.promises.filter({ $0.judgement != .broken }) {
      if promise.scope != scope {
        scope = promise.scope
        lines.append("<li class=\"scope\">\(Markup.escaped(promise.scope))</li>")
      }
      let moments = promise.evidence.compactMap { positions[$0] }.prefix(10).map { position in
        "<a class=\"moment\" href=\"#e\(position)\" title=\"\(Markup.escaped(promiseTitle(position)))\">\(Self.time(report.timeline[position]))</a>"
      }
      let (style, word) = Self.word(promise.judgement)
      lines.append(
        "<li class=\"\(style)\"><span class=\"word\">\(word)</span> <b>\(Markup.escaped(promise.meaning))</b> "
          + "<span class=\"reason\">\(Markup.escaped(promise.name)): \(Markup.escaped(promise.reason))</span> "
          + "<span class=\"moments\">\(moments.joined(separator: " "))</span></li>")
    }
    return (lines + ["</ul>"]).joined(separator: "\n")
  }

  private func promiseTitle(_ position: Int) -> String {
    let entry = report.timeline[position]
    return "\(entry.place) \(entry.process) \(entry.event ?? entry.message)"
  }

  private static func word(_ judgement: Judgement) -> (style: String, word: String) {
    switch judgement {
    case .kept: ("kept", "✓ kept")
    case .broken: ("broken", "✗ broken")
    case .notJudged: ("open", "– not judged")
    case .notReached: ("open", "– not reached")
    }
  }

  private static func time(_ entry: JournalEntry) -> String { StoryScreen.time(entry.instant) }

  // MARK: The story

  private var story: String {
    var narrator = Narrator()
    let evidence = Set(report.promises.flatMap(\.evidence))
    let told = report.timeline.map { narrator.tell($0) }
    let isLong = report.timeline.count > Self.lineLimit
    var lines: [String] = []
    var leftOut = 0
    for (index, entry) in report.timeline.enumerated() {
      let deed = told[index]
      guard !isLong || evidence.contains(entry) || (deed != nil && lines.count < Self.lineLimit) else {
        leftOut += 1
        continue
      }
      let words = deed?.text ?? entry.event ?? entry.message
      let detail =
        entry.process == Recorded.orchestrator
        ? "" : "\(entry.process) \(entry.event ?? entry.level) \(entry.fieldText)"
      lines.append(
        "<tr id=\"e\(index)\" class=\"\(deed?.kind.rawValue ?? "raw")\" data-a=\"\(PictureDrawing.milliseconds(entry.instant))\">"
          + "<td class=\"time\">\(Self.time(entry))</td><td class=\"place\">\(Markup.escaped(deed?.place ?? entry.place))</td>"
          + "<td>\(Markup.escaped(words))<span class=\"detail\">\(Markup.escaped(detail))</span></td></tr>")
    }
    let note = leftOut > 0 ? "<p class=\"hint\">\(count(leftOut, "line")) left out; --json has them all.</p>" : ""
    return "\(note)<table class=\"story\"><tbody>\n\(lines.joined(separator: "\n"))\n</tbody></table>"
  }
}
