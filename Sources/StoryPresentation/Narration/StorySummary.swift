import Journal
import JournalEvents
import Stories

/// A whole story in a sentence or two: how often people left and came, and what the door did.
enum StorySummary {
  /// `nil` if nobody left or came, and the bolt did not move.
  static func text(_ report: Report) -> String? {
    func number(_ event: Recorded.Story) -> Int { report.timeline.count { $0.is(event) } }
    func moves(to position: String, because cause: String) -> Int {
      report.timeline.count { $0.is(Recorded.Lock.boltMoved) && $0[.to] == position && $0[.cause] == cause }
    }
    let ways = [(number(.ownerLeft), "left"), (number(.ownerReturned), "came home")]
    let hasSeveral = Set(report.timeline.filter { $0.is(Recorded.Lock.boltMoved) }.map(\.machine)).count > 1
    let were = hasSeveral ? "were" : "was"
    let deeds = [
      (
        moves(to: "locked", because: "leaving") + moves(to: "locked", because: "relock"),
        hasSeveral ? "locked themselves" : "locked itself"
      ),
      (moves(to: "locked", because: "phone"), "\(were) locked by a phone"),
      (moves(to: "locked", because: "hand"), "\(were) locked by hand"),
      (moves(to: "unlocked", because: "phone"), "\(were) opened by a phone"),
      (moves(to: "unlocked", because: "hand"), "\(were) opened by hand"),
    ]
    let sentences = [("Somebody", ways), (hasSeveral ? "Doors" : "The door", deeds)].compactMap { subject, parts in
      sentence(subject, parts.filter { $0.0 > 0 })
    }
    let asked = report.timeline.count { $0.is(Recorded.Agent.unlockAsked) }
    let question = asked > 0 ? ["The agent asked its owner \(times(asked)) instead of opening."] : []
    return sentences.isEmpty ? nil : (sentences + question).joined(separator: " ")
  }

  private static func sentence(_ subject: String, _ parts: [(count: Int, verb: String)]) -> String? {
    let parts = parts.map { "\($0.verb) \(times($0.count))" }
    guard let last = parts.last else { return nil }
    let first = parts.dropLast().joined(separator: ", ")
    return "\(subject) \(first.isEmpty ? last : "\(first) and \(last)")."
  }

  private static func times(_ number: Int) -> String {
    switch number {
    case 1: "once"
    case 2: "twice"
    default: "\(number) times"
    }
  }
}
