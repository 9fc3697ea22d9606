import Journal
import JournalEvents
import Worlds

/// How the clocks of a lock's machine and a phone's differ, as the commands between them show: the lock accepts a command after
/// the phone has written it, and before the phone has the answer.
struct ClockDifference {
  /// By how much the lock's clock is ahead of the phone's, in nanoseconds. One command sets the lower limit, and
  /// another the upper one.
  var range: ClosedRange<Int64>?
  var commands = 0
  /// The two limits that contradict each other, if no difference fits all commands.
  var contradiction: (atLeast: Int64, atMost: Int64)?

  /// - Parameters:
  ///   - lock: the lines of the lock's machine, by its clock.
  ///   - phone: the lines of the phone's, by its own.
  init(lock: [JournalEntry], phone: [JournalEntry]) {
    var written: [String: Int64] = [:]
    var answered: [String: Int64] = [:]
    for entry in phone {
      guard let operation = entry[.operation] else { continue }
      switch entry.event(as: Recorded.Agent.self) {
      case .unlockWritten, .statusWritten: written[operation] = min(written[operation] ?? entry.t, entry.t)
      case .unlockAnswered, .statusAnswered: answered[operation] = max(answered[operation] ?? entry.t, entry.t)
      default: continue
      }
    }
    var seen: Set<String> = []
    var (atLeast, atMost) = (Int64.min, Int64.max)
    for entry in lock where entry.isLock(.commandAccepted) {
      // Only the first time counts, because a command that was written once may be accepted again.
      guard let operation = entry[.operation], let asked = written[operation], seen.insert(operation).inserted else {
        continue
      }
      commands += 1
      atMost = min(atMost, entry.t - asked)
      if let told = answered[operation] { atLeast = max(atLeast, entry.t - told) }
    }
    guard commands > 0 else { return }
    if atLeast <= atMost { range = atLeast...atMost } else { contradiction = (atLeast, atMost) }
  }

  /// What must be added to the phone's times to get the lock's times, in nanoseconds. Zero if the clocks may be equal.
  var correction: Int64 {
    guard let range, !range.contains(0) else { return 0 }
    // If there is only one limit, the smallest correction that satisfies it.
    if range.lowerBound == .min { return range.upperBound }
    return range.lowerBound + (range.upperBound - range.lowerBound) / 2
  }
}

/// Brings the journals of several machines to one clock: that of the machine with the lock or, without a lock, of the
/// first.
enum MachineClocks {
  /// - Returns: the journals by one clock, and a remark for each journal whose times were changed.
  /// - Throws: `JournalExportError` if no difference between two clocks fits the commands.
  static func align(
    _ journals: [ExportedJournal], _ machines: [MachineDescription]
  ) throws(JournalExportError) -> (journals: [ExportedJournal], remarks: [String]) {
    var aligned = journals
    var remarks: [String] = []
    let doors = machines.filter { $0.apps.contains(.lock) }.map(\.name)
    guard let lock = journals.first(where: { doors.contains($0.machine) }) else { return (aligned, remarks) }
    for (index, phone) in journals.enumerated() where phone.machine != lock.machine {
      let difference = ClockDifference(lock: lock.entries, phone: phone.entries)
      if let (atLeast, atMost) = difference.contradiction {
        throw JournalExportError(
          file: phone.file, line: nil,
          problem:
            "the clocks of \(lock.machine) and \(phone.machine) do not fit: by one command \(lock.machine)'s is at "
            + "least \(text(atLeast)) ahead, by another at most \(text(atMost)); both machines need to keep the time "
            + "(NTP) while the story is told")
      }
      let correction = difference.correction
      guard correction != 0 else { continue }
      for entry in aligned[index].entries.indices {
        aligned[index].entries[entry].t += correction
        aligned[index].entries[entry].wall += correction
      }
      let (ahead, behind) = correction > 0 ? (lock.machine, phone.machine) : (phone.machine, lock.machine)
      remarks.append(
        "the clock of \(ahead) was \(text(abs(correction))) ahead of \(behind)'s, as "
          + "\(count(difference.commands, "command")) of the phone's \(difference.commands == 1 ? "shows" : "show"); "
          + "the lines of \(phone.machine) were moved by that")
    }
    return (aligned, remarks)
  }

  private static func text(_ nanoseconds: Int64) -> String {
    nanoseconds < 0
      ? "-" + DurationText.format(.nanoseconds(-nanoseconds)) : DurationText.format(.nanoseconds(nanoseconds))
  }
}
