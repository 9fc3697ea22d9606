import Journal
import JournalEvents

/// Who gets in, and what becomes of those who don't.
enum RefusalPromises {
  static let all = [
    Promise(
      name: "refusals-logged", rows: ["L5"],
      meaning:
        "Whenever the lock refuses a phone that it knows, its log gets a record of that before the phone has the answer."
    ) { evidence in
      evidence.withoutLock ?? refusalsLogged(evidence)
    }
  ]

  /// The results of a command that the lock did not refuse: it did the command, or the bolt could not.
  private static let tried: Set = ["done", "notNeeded", "jammed", "failed", "busy", "doorOpen", "unknownOperation"]

  private static func refusalsLogged(_ evidence: Evidence) -> Finding {
    // The highest record number that any line has named so far.
    var newest: Int64 = 0
    var told: Set<String> = []
    var refused: [JournalEntry] = []
    for index in 0..<evidence.window.upperBound {
      let entry = evidence.entries[index]
      let record = Int64(entry[.record] ?? "")
      if entry.isAgent(.unlockAnswered) || entry.isAgent(.lockAnswered),
        let result = entry[.result], !tried.contains(result),
        // A phone that asks again gets the same answer, for which there is a record already.
        told.insert("\(entry.machine) \(entry[.operation] ?? "")").inserted, evidence.window.contains(index)
      {
        refused.append(entry)
        guard let record, record > newest else {
          return .broken("\(entry.machine) was refused (\(result)), and the log has no record of it", [entry])
        }
      }
      if entry.isAgent(.unlockAnswered) || entry.isAgent(.lockAnswered) || entry.isAgent(.statusAnswered)
        || entry.process == Recorded.lock
      {
        newest = max(newest, record ?? 0)
      }
    }
    guard !refused.isEmpty else { return evidence.notJudged("the lock refused no phone that it knows") }
    return .kept("\(count(refused.count, "refusal")), each with a record", refused)
  }

  /// `opened only for: [alice, ben]`.
  static func openedOnlyFor(_ phones: [String], _ evidence: Evidence) -> Finding {
    if let finding = evidence.withoutLock { return finding }
    var opened: [JournalEntry] = []
    for index in evidence.window {
      let entry = evidence.entries[index]
      // A hand is at the lock itself.
      guard entry.isOpening, !entry.isByHand else { continue }
      opened.append(entry)
      let cause = SafetyPromises.cause(evidence, of: index, door: entry.machine)
      guard let cause else { return .broken("the door opened, and no phone of the story had asked for it", [entry]) }
      guard phones.contains(cause.machine) else {
        return .broken("the door opened for \(cause.machine)", [cause, entry])
      }
    }
    return .kept(opened.isEmpty ? "it opened for nobody" : "it opened \(count(opened.count, "time"))", opened)
  }
}
