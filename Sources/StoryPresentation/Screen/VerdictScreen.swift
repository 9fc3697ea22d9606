import ConsoleOutput
import Stories
import TimeTypes
import Worlds

/// The end of a story for a terminal: each promise, then the outcome, then what was broken.
package struct VerdictScreen: Sendable {
  private let report: Report
  private let terminal: Terminal

  package init(_ report: Report, _ terminal: Terminal) {
    self.report = report
    self.terminal = terminal
  }

  static let heading = "Verdict: what was promised, and what the records of all processes show"

  /// - Parameter isVerbose: kept promises show their names and the line that proves them, too.
  package func lines(isVerbose: Bool = false) -> [String] {
    var lines = [""] + terminal.hanging("", Self.heading).map { styled($0, .bold) }
    var scope: String?
    for promise in report.promises where promise.judgement != .broken {
      if promise.scope != scope {
        scope = promise.scope
        lines += [""] + terminal.hanging("  ", promise.scope)
      }
      lines += told(promise, evidence: isVerbose ? 1 : 0)
    }
    lines.append("")
    if !report.remarks.isEmpty {
      lines += ["  Otherwise than written:"] + report.remarks.flatMap { terminal.hanging("    ", $0) } + [""]
    }
    if let summary = StorySummary.text(report) { lines += terminal.hanging("  ", summary) + [""] }
    lines += outcome
    // The most important part comes last, where a reader looks first.
    if let problem = report.problem { lines += [""] + terminal.hanging("  The story stopped: ", problem) }
    let broken = report.promises.filter { $0.judgement == .broken }
    if let first = broken.first {
      for promise in broken.dropFirst() {
        lines += [""] + terminal.hanging("  ", "In \(promise.scope):") + told(promise, evidence: 5)
      }
      lines += [""] + terminal.hanging("  ", "First broken, in \(first.scope):") + told(first, evidence: 5)
    }
    return lines
  }

  /// One promise: its outcome, its reason, and at most `evidence` lines that show it.
  private func told(_ promise: PromiseResult, evidence: Int) -> [String] {
    let (word, style): (String, TextStyle) =
      switch promise.judgement {
      case .kept: ("kept  ", .green)
      case .broken: ("BROKEN", .red)
      case .notJudged, .notReached: (promise.judgement.rawValue, .yellow)
      }
    let beginning = "    \(mark(promise.judgement))\(word)  "
    // The promise's name is shown only for readers who need to look further.
    let isNamed = evidence > 0 || promise.judgement == .broken
    let words = isNamed ? promise.name : PromiseWords.text(promise.name)
    var lines = terminal.hanging(beginning, "\(words): \(promise.reason)", narrowIndent: 6)
    if terminal.usesColor {
      lines[0] = lines[0].replacing(word, with: styled(word, style), maxReplacements: 1)
    }
    let margin = "            "
    if promise.judgement == .broken { lines += terminal.hanging("\(margin)promised: ", promise.meaning) }
    // The last line that shows a kept promise is its result. A broken one is shown by all lines that broke it.
    let shown = promise.judgement == .broken ? promise.evidence.prefix(evidence) : promise.evidence.suffix(evidence)
    return lines + shown.flatMap { terminal.hanging(margin, $0.line(since: report.beganAt)).map { styled($0, .dim) } }
  }

  private func mark(_ judgement: Judgement) -> String {
    guard terminal.usesUnicode else { return "" }
    return switch judgement {
    case .kept: "✓ "
    case .broken: "✗ "
    case .notJudged, .notReached: "– "
    }
  }

  /// The outcome of the run, and where it took place.
  private var outcome: [String] {
    let style: TextStyle = report.kept ? .green : .red
    func told(_ text: String) -> [String] {
      var lines = terminal.hanging("  ", text)
      if let colon = report.verdict.firstIndex(of: ":"), terminal.usesColor {
        let word = String(report.verdict[..<colon])
        lines[0] = lines[0].replacing(word, with: terminal.styled(word, .bold, style), maxReplacements: 1)
      }
      return lines
    }
    let wall = DurationText.format(.nanoseconds(Int64(report.wallSeconds * 1e9)))
    if let journals = report.journals {
      let files = journals.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value))" }.joined(separator: ", ")
      return told(report.verdict) + terminal.hanging("  ", "from the journals of \(files): \(wall) of them")
    }
    var lines = told("\(report.verdict), seed \(report.seed), \(count(report.days, "day")) a chapter")
    if let fingerprint = report.fingerprint {
      lines += terminal.hanging(
        "  ", "fingerprint \(fingerprint.digest) (\(count(fingerprint.events, "event")))")
    }
    guard report.radio.events > 0 else {
      // On machines, no seed decides what happens.
      return lines + ["  on machines, in \(wall)"]
    }
    let virtual = DurationText.format(.nanoseconds(Int64(report.virtualSeconds * 1e9)))
    return lines
      + terminal.hanging(
        "  ",
        "radio \(report.radio.digest) (\(count(report.radio.events, "event"))), \(virtual) of virtual time in \(wall)")
  }

  private func styled(_ text: String, _ style: TextStyle) -> String { terminal.styled(text, style) }
}

/// The timeline for a developer: every event of the run, one line each, not wrapped.
package struct TimelineScreen: Sendable {
  private let report: Report

  package init(_ report: Report) { self.report = report }

  package var lines: [String] {
    let times = report.journals == nil ? "virtual time, wall time" : "since the story began, the same in seconds"
    return ["", "Timeline (\(times), where, who, what)", ""]
      + report.timeline.map { Terminal.printable($0.line(since: report.beganAt)) } + energy
  }

  /// What a day of the story cost each machine.
  private var energy: [String] {
    guard let energy = report.energy, !energy.isEmpty else { return [] }
    return ["", "Energy a day (the radio's time is computed: docs/arrival.md)", ""]
      + energy.map { use in
        let days = max(use.seconds / 86_400, 1.0 / 86_400)
        func text(_ seconds: Double) -> String { DurationText.format(.nanoseconds(Int64(seconds / days * 1e9))) }
        return "\(Terminal.printable(use.machine)): woken \((Double(use.wakes) / days * 10).rounded() / 10) times, "
          + "for \(text(use.awakeSeconds)); radio on \(text(use.radioSeconds)): "
          + "waiting for a link \(text(use.scanSeconds * EnergyUse.scanShare)), "
          + "linked \(text(use.linkSeconds * EnergyUse.linkShare)), "
          + "advertising \(text(use.advertisingSeconds * EnergyUse.advertisingShare))"
      }
  }
}
