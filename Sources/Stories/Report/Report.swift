import Foundation
import Journal
import TimeTypes
import Worlds

/// The result of a scenario's run. Printed for people, and written as JSON with the same content.
package struct Report: Sendable, Codable {
  /// The version of this format.
  package static let currentVersion = 2

  package var version = Self.currentVersion
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
  /// The machines and where they were at first, in the scenario's order.
  package var stage: [StageMachine]?
  /// How far the simulated radio reaches if nothing but distance weakens it, in metres; `nil` on machines.
  package var rangeMetres: Double?
  /// Lines of the journal that could not be read.
  package var damagedLines: Int
  /// What it cost each machine; `nil` in reports of earlier versions, and on machines.
  package var energy: [EnergyUse]?

  /// What every version of the format has.
  package struct Version: Decodable {
    package var version: Int
  }

  package struct StageMachine: Sendable, Codable, Equatable {
    package var name: String
    /// In metres.
    package var x: Double
    package var y: Double

    package init(name: String, x: Double, y: Double) {
      self.name = name
      self.x = x
      self.y = y
    }

    init(_ machine: MachineDescription) { self.init(name: machine.name, x: machine.position.x, y: machine.position.y) }
  }

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
  static func timeline(of entries: [JournalEntry]) -> [JournalEntry] { entries.filter(isInTimeline) }

  static func isInTimeline(_ entry: JournalEntry) -> Bool {
    entry.event != nil || ["warning", "error", "critical"].contains(entry.level)
  }

  package func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self) + [0x0A]
  }

  /// The result of the run in one line.
  package var verdict: String {
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
