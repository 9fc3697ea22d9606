import Foundation
import Journal
import TimeTypes
import Worlds

/// The result of a scenario's run. Printed for people, and written as JSON with the same content.
package struct Report: Sendable, Codable {
  /// The version of this format.
  package var version = 2
  package var scenario: String
  package var title: String
  package var seed: UInt64
  /// Days of a chapter in this run.
  package var days: Double
  /// The story ran to its end, no promise was broken, and at least one was kept.
  package var kept: Bool
  /// Why the story stopped before its end.
  package var problem: String?
  /// How the world differed from the story's, one line each: substitutes, and steps that were not done.
  package var remarks: [String] = []
  /// How many steps the machines could not do.
  package var stepsNotDone = 0
  package var promises: [PromiseResult]
  package var timeline: [JournalEntry]
  package var radio: RadioSummary
  /// Of everything that happened, or `nil` on machines, where no seed decides it.
  package var fingerprint: Fingerprint?
  /// The journals from which it was judged, by their machines, if the story ran elsewhere (`latchkey judge`).
  package var journals: [String: String]?
  package var virtualSeconds: Double
  package var wallSeconds: Double
  /// When the run began, in Unix nanoseconds. Printed wall times count from there.
  package var beganAt: Int64
  /// Lines of the journal that could not be read.
  package var damagedLines: Int

  package struct RadioSummary: Sendable, Codable, Equatable {
    /// Of every radio event and its virtual time. The same for the same seed.
    package var digest: String
    package var events: Int
  }

  package struct Fingerprint: Sendable, Codable, Equatable {
    /// Of every event and its virtual time (`RunDigest`). The same for the same seed.
    package var digest: String
    package var events: Int
  }

  /// The entries that are shown to a person.
  static func timeline(of entries: [JournalEntry]) -> [JournalEntry] {
    entries.filter { $0.event != nil || ["warning", "error", "critical"].contains($0.level) }
  }

  package func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self) + [0x0A]
  }

  /// The timeline and the verdict, for a person to read.
  package func text() -> String {
    let times = journals == nil ? "virtual time, wall time" : "since the story began, the same in seconds"
    var lines = ["", "Timeline (\(times), where, who, what)", ""]
    lines += timeline.map { $0.line(since: beganAt) }
    lines += ["", "Verdict"]
    var scope: String?
    for promise in promises {
      if promise.scope != scope {
        scope = promise.scope
        lines += ["", "  \(promise.scope)"]
      }
      lines += told(promise)
    }
    lines.append("")
    if !remarks.isEmpty { lines += ["  Otherwise than written:"] + remarks.map { "    \($0)" } + [""] }
    lines += world
    // The most important part comes last, where a reader looks first.
    if let problem { lines += ["", "  The story stopped: \(problem)"] }
    if let broken = promises.first(where: { $0.judgement == .broken }) {
      lines += ["", "  First broken, in \(broken.scope):"] + told(broken)
    }
    return lines.joined(separator: "\n")
  }

  /// The outcome of the run, and where it took place.
  private var world: [String] {
    let wall = DurationText.format(.nanoseconds(Int64(wallSeconds * 1e9)))
    if let journals {
      let files = journals.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value))" }.joined(separator: ", ")
      return ["  \(verdict)", "  from the journals of \(files): \(wall) of them"]
    }
    var lines = ["  \(verdict), seed \(seed), \(count(days, "day")) a chapter"]
    if let fingerprint {
      lines.append("  fingerprint \(fingerprint.digest) (\(count(fingerprint.events, "event")))")
    }
    if radio.events > 0 {
      lines.append(
        "  radio \(radio.digest) (\(count(radio.events, "event"))), "
          + "\(DurationText.format(.nanoseconds(Int64(virtualSeconds * 1e9)))) of virtual time in \(wall)")
    } else {
      // On machines, no seed decides what happens.
      lines.append("  on machines, in \(wall)")
    }
    return lines
  }

  /// One promise: its outcome, the reason, and the lines that show it.
  private func told(_ promise: PromiseResult) -> [String] {
    let word =
      switch promise.judgement {
      case .kept: "kept  "
      case .broken: "BROKEN"
      case .notJudged, .notReached: promise.judgement.rawValue
      }
    var lines = ["    \(word)  \(promise.name): \(promise.reason)"]
    if promise.judgement == .broken { lines.append("            promised: \(promise.meaning)") }
    // A kept promise is shown by its last line, which is its result; a broken one by all lines that broke it.
    let shown =
      promise.judgement == .broken ? Array(promise.evidence.prefix(5)) : Array(promise.evidence.suffix(1))
    return lines + shown.map { "            \($0.line(since: beganAt))" }
  }

  /// The result of the run in one line.
  var verdict: String {
    func number(_ judgement: Judgement) -> Int { promises.count { $0.judgement == judgement } }
    let total = promises.count
    var parts: [String] = []
    let word: String
    if kept {
      word = "KEPT"
      parts.append("\(number(.kept)) of \(count(total, "promise")) kept in \(scenario)")
    } else if number(.broken) > 0 {
      word = "BROKEN"
      parts.append("\(number(.broken)) of \(count(total, "promise")) broken in \(scenario)")
      if number(.kept) > 0 { parts.append("\(number(.kept)) kept") }
    } else {
      word = "NOT PROVEN"
      if total == 0 {
        parts.append("\(scenario) checks no promise")
      } else if problem != nil {
        parts.append("\(scenario) stopped before its end")
        if number(.kept) > 0 { parts.append("\(number(.kept)) of \(count(total, "promise")) kept up to there") }
      } else {
        parts.append("nothing was judged in \(scenario)")
      }
    }
    for judgement in [Judgement.notJudged, .notReached] where number(judgement) > 0 {
      parts.append("\(number(judgement)) \(judgement.rawValue)")
    }
    if stepsNotDone > 0 { parts.append("\(count(stepsNotDone, "step")) not done") }
    return "\(word): \(parts.joined(separator: ", "))"
  }
}
