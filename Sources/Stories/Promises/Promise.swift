import Journal

/// One promise of the system, with the check that decides from the records whether it was kept.
package struct Promise: Sendable {
  /// Its name in scenarios and verdicts.
  package let name: String
  /// What is promised, in a sentence.
  package let meaning: String
  /// The rows of the requirements that it covers.
  package let rows: [String]
  /// Whether the promise is judged at each lock of a story with several locks.
  private let isAboutDoors: Bool
  private let check: @Sendable (Evidence) -> Finding

  init(
    name: String, rows: [String], meaning: String, isAboutDoors: Bool = true,
    check: @escaping @Sendable (Evidence) -> Finding
  ) {
    self.name = name
    self.rows = rows
    self.meaning = meaning
    self.isAboutDoors = isAboutDoors
    self.check = check
  }

  package static func named(_ name: String) -> Promise? { all.first { $0.name == name } }

  package static let all: [Promise] =
    LeavingPromises.all + AwayPromises.all + ArrivalPromises.all + DoorPromises.all + SafetyPromises.all
    + RefusalPromises.all + LockFaultPromises.all + SoundnessPromises.all

  /// Checks this promise over what was recorded.
  ///
  /// - Parameter unjudged: why it can't be judged in this world. It is then neither kept nor broken.
  package func judge(_ evidence: Evidence, scope: String, unjudged: String? = nil) -> PromiseResult {
    let finding = unjudged.map { Finding(judgement: .notJudged, reason: $0, evidence: []) } ?? find(evidence)
    return PromiseResult(
      name: name, meaning: meaning, rows: rows, scope: scope, judgement: finding.judgement, reason: finding.reason,
      evidence: finding.evidence)
  }

  private func find(_ evidence: Evidence) -> Finding {
    guard isAboutDoors else { return check(evidence) }
    guard evidence.doors.count > 1 else { return check(evidence.aboutDoors()) }
    return .all(evidence.doors.map { check(evidence.about($0)) }, at: evidence.doors)
  }

  /// The result of a promise about a part of the story that was never told.
  func notReached(scope: String, reason: String) -> PromiseResult {
    PromiseResult(
      name: name, meaning: meaning, rows: rows, scope: scope, judgement: .notReached, reason: reason, evidence: [])
  }
}

/// The outcome of a promise.
package enum Judgement: String, Sendable, Codable, Equatable {
  case kept
  case broken
  /// The situation of the promise did not occur in this story, or can't be observed in this world: neither kept nor
  /// broken.
  case notJudged = "not judged"
  /// The story stopped before the promise could be judged: neither kept nor broken.
  case notReached = "not reached"
}

/// What a checker found, and the lines that show it.
package struct Finding: Sendable, Equatable {
  package var judgement: Judgement
  package var reason: String
  package var evidence: [JournalEntry]

  static func kept(_ reason: String, _ evidence: [JournalEntry] = []) -> Finding {
    Finding(judgement: .kept, reason: reason, evidence: evidence)
  }
  static func broken(_ reason: String, _ evidence: [JournalEntry] = []) -> Finding {
    Finding(judgement: .broken, reason: reason, evidence: evidence)
  }

  /// Combines the findings about each time that something happened. One broken finding breaks the promise, and one that
  /// was not reached leaves it open. Findings that were not judged are ignored.
  ///
  /// - Parameter what: the word for one such time, such as "absence".
  static func all(_ findings: [Finding], of what: String, plural: String? = nil) -> Finding {
    guard findings.count > 1 else {
      return findings.first ?? Finding(judgement: .notJudged, reason: "there is no \(what)", evidence: [])
    }
    return all(findings, of: what, plural: plural) { "\(what) \($0 + 1) of \(findings.count)" }
  }

  /// Combines the findings about each of several locks in the same way.
  static func all(_ findings: [Finding], at doors: [String]) -> Finding {
    all(findings, of: "lock", plural: nil) { doors[$0] }
  }

  private static func all(
    _ findings: [Finding], of what: String, plural: String?, _ place: (Int) -> String
  ) -> Finding {
    for judgement in [Judgement.broken, .notReached] {
      guard let index = findings.firstIndex(where: { $0.judgement == judgement }) else { continue }
      var finding = findings[index]
      finding.reason = "\(place(index)): \(finding.reason)"
      return finding
    }
    let kept = findings.filter { $0.judgement == .kept }
    guard let last = kept.last else { return findings[0] }
    var reason = "\(count(kept.count, what, plural: plural)): " + kept.prefix(3).map(\.reason).joined(separator: "; ")
    if kept.count > 3 { reason += "; …" }
    if let index = findings.firstIndex(where: { $0.judgement == .notJudged }) {
      reason += " (not judged: \(place(index)): \(findings[index].reason))"
    }
    return .kept(reason, last.evidence)
  }
}

package struct PromiseResult: Sendable, Codable, Equatable {
  package var name: String
  package var meaning: String
  package var rows: [String]
  /// The chapter over which it was checked, or the whole run.
  package var scope: String
  package var judgement: Judgement
  package var reason: String
  package var evidence: [JournalEntry]

  package var kept: Bool { judgement == .kept }
}

/// The virtual time between two events, for people: `10.999 s`, or from ten minutes on `4 d 23 h 49 min`.
func elapsed(from earlier: JournalEntry, to later: JournalEntry) -> String {
  let milliseconds = max(0, later.t - earlier.t) / 1_000_000
  guard milliseconds >= 600_000 else {
    let fraction = String(milliseconds % 1000)
    return "\(milliseconds / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction) s"
  }
  let minutes = milliseconds / 60_000
  let parts = [(minutes / 1440, "d"), (minutes / 60 % 24, "h"), (minutes % 60, "min")]
  return parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: " ")
}

/// A number of things that may have a fraction, for people: "1 day", "2.5 days".
package func count(_ number: Double, _ what: String) -> String {
  let text = number == number.rounded() && abs(number) < 1e15 ? String(Int64(number)) : String(number)
  return "\(text) \(text == "1" ? what : what + "s")"
}

/// A number of things, for people: "1 absence", "2 absences".
package func count(_ number: Int, _ what: String, plural: String? = nil) -> String {
  "\(number) \(number == 1 ? what : plural ?? what + "s")"
}
