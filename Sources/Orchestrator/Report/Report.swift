import Foundation
import Journal
import Timekeeping

/// What a run of a scenario came to. Printed for people, and written as JSON with the same content.
public struct Report: Sendable, Codable {
  /// The version of this format.
  public var version = 1
  public var scenario: String
  public var title: String
  public var seed: UInt64
  /// Days of a chapter in this run.
  public var days: Double
  /// Every promise was kept, and the story ran to its end.
  public var kept: Bool
  /// Why the story stopped before its end.
  public var problem: String?
  /// How the world differed from the story's, a line each: what stood in for what, and what was not done.
  public var remarks: [String] = []
  /// Steps that their machines can't do.
  public var stepsNotDone = 0
  public var promises: [PromiseResult]
  public var timeline: [JournalEntry]
  public var radio: RadioSummary
  /// Of all that happened; `nil` on machines, where no seed decides it.
  public var fingerprint: Fingerprint?
  public var virtualSeconds: Double
  public var wallSeconds: Double
  /// When the run began, in Unix nanoseconds: the timeline's wall times count from there in print.
  public var beganAt: Int64
  /// Lines of the journal that could not be read.
  public var damagedLines: Int

  public struct RadioSummary: Sendable, Codable, Equatable {
    /// Of every radio event and its virtual time; the same for the same seed.
    public var digest: String
    public var events: Int
  }

  public struct Fingerprint: Sendable, Codable, Equatable {
    /// Of every event and its virtual time (`RunDigest`); the same for the same seed.
    public var digest: String
    public var events: Int
  }

  public func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self) + [0x0A]
  }

  /// The timeline and the verdict, for a person to read.
  public func text() -> String {
    var lines = ["", "Timeline (virtual time, wall time, where, who, what)", ""]
    lines += timeline.map { $0.line(since: beganAt) }
    lines += ["", "Verdict"]
    var scope: String?
    for promise in promises {
      if promise.scope != scope {
        scope = promise.scope
        lines += ["", "  \(promise.scope)"]
      }
      let word = promise.kept ? "kept  " : promise.isUnjudged ? "unjudged" : "BROKEN"
      lines.append("    \(word)  \(promise.name): \(promise.reason)")
      if !promise.kept, !promise.isUnjudged { lines.append("            promised: \(promise.meaning)") }
      // A kept promise is shown by its last line, which is what it came to; a broken one by all that broke it.
      let shown = promise.kept ? Array(promise.evidence.suffix(1)) : Array(promise.evidence.prefix(5))
      lines += shown.map { "            \($0.line(since: beganAt))" }
    }
    lines.append("")
    if let problem { lines += ["  The story stopped: \(problem)", ""] }
    if !remarks.isEmpty { lines += ["  Otherwise than written:"] + remarks.map { "    \($0)" } + [""] }
    let unjudged = promises.count { $0.isUnjudged }
    var verdict =
      "  \(kept ? "KEPT" : "BROKEN"): \(promises.count { $0.kept }) of \(promises.count) promises kept in \(scenario), "
    if unjudged > 0 { verdict += "\(unjudged) unjudged, " }
    if stepsNotDone > 0 { verdict += "\(stepsNotDone) steps not done, " }
    lines.append(verdict + "seed \(seed), \(Self.number(days)) days a chapter")
    guard radio.events > 0 else {
      // Nobody's seed decides what happens on machines.
      lines.append("  on machines, in \(DurationText.format(.nanoseconds(Int64(wallSeconds * 1e9))))")
      return lines.joined(separator: "\n")
    }
    if let fingerprint {
      lines.append("  fingerprint \(fingerprint.digest) (\(fingerprint.events) events)")
    }
    lines.append(
      "  radio \(radio.digest) (\(radio.events) events), "
        + "\(DurationText.format(.nanoseconds(Int64(virtualSeconds * 1e9)))) of virtual time in "
        + "\(DurationText.format(.nanoseconds(Int64(wallSeconds * 1e9))))")
    return lines.joined(separator: "\n")
  }

  private static func number(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
  }
}
