import Journal
import JournalEvents

/// One owner's absence: from leaving until the return, with what follows until the owner leaves again.
struct Absence: Sendable, Equatable {
  /// The owner's phone.
  var phone: String
  /// The index of the departure's mark.
  var departure: Int
  /// The index of the return's mark, or `nil` if the owner did not come back in this story.
  var arrival: Int?
  /// Until where the return counts: the same owner's next departure, or the end of what is considered.
  var end: Int
  /// The owner came on foot, and did not suddenly appear at the door.
  var hasWay = false

  var away: Range<Int> { departure..<(arrival ?? end) }
  var home: Range<Int>? { arrival.map { $0..<end } }
}

extension Evidence {
  /// Every absence up to the window's end, of every owner, in the order of departures.
  func everyAbsence() -> [Absence] {
    var absences: [Absence] = []
    var latest: [String: Int] = [:]
    for index in 0..<window.upperBound {
      let entry = entries[index]
      guard phones.contains(entry.machine) else { continue }
      let open = latest[entry.machine]
      switch entry.mark {
      case .ownerLeft:
        if let open {
          // An owner who leaves twice without returning is still away.
          guard absences[open].arrival != nil else { continue }
          absences[open].end = index
        }
        latest[entry.machine] = absences.count
        absences.append(Absence(phone: entry.machine, departure: index, end: window.upperBound))
      case .ownerReturned:
        guard let open, absences[open].arrival == nil else { continue }
        absences[open].arrival = index
        absences[open].hasWay = entry.isOnWay
      default: continue
      }
    }
    return absences
  }

  /// Judges each absence that began, went on or ended in this window.
  func eachAbsence(_ judge: (Absence) -> Finding) -> Finding {
    let absences = everyAbsence().filter {
      window.contains($0.departure) || $0.arrival.map(window.contains) ?? true
    }
    guard !absences.isEmpty else { return nobodyLeft() }
    return .all(absences.map(judge), of: "absence")
  }

  /// Judges each return of an owner in this window.
  func eachReturn(_ judge: (_ absence: Absence, _ home: Range<Int>) -> Finding) -> Finding {
    let absences = everyAbsence()
    let returns = absences.filter { $0.arrival.map(window.contains) == true }
    guard !returns.isEmpty else {
      return absences.contains { window.contains($0.departure) } ? notJudged("no owner came home") : nobodyLeft()
    }
    return .all(
      returns.map { absence in
        if let door = elsewhere(absence) { return neverJudged("the owner came to \(door)") }
        if let finding = turnedBack(absence) { return finding }
        return judge(absence, absence.home ?? absence.end..<absence.end)
      }, of: "return")
  }

  /// As `eachReturn`, for promises that the door opens. They are not judged for an owner who suddenly appears at the
  /// door.
  func eachArrival(_ judge: (_ absence: Absence, _ home: Range<Int>) -> Finding) -> Finding {
    if let finding = withoutLock { return finding }
    return eachReturn { absence, home in
      guard absence.hasWay else {
        return neverJudged("the owner appeared at the door without a way; an arrival needs `over:`")
      }
      return judge(absence, home)
    }
  }

  /// A finding if the phone never lost its link because its owner turned back before it was out of range; otherwise
  /// `nil`.
  func turnedBack(_ absence: Absence) -> Finding? {
    guard let arrival = absence.arrival, isLinked(absence.phone, before: absence.departure) == true,
      positions(of: absence.phone, at: arrival) != nil,
      !doors.contains(where: { isFar(absence.phone, from: $0, at: arrival) })
    else { return nil }
    let isLost =
      first(in: absence.departure..<absence.end) {
        $0.t <= entries[arrival].wayEnds && $0.isLink(.linkDown) && $0.isLink(of: absence.phone)
      } != nil
    guard !isLost else { return nil }
    return neverJudged(
      "the phone was connected all the while: its owner turned back before it was out of range", [entries[arrival]])
  }

  private func nobodyLeft() -> Finding {
    let withAgent = machines.filter { $0.apps.contains(.agent) }.map(\.name)
    guard !withAgent.isEmpty else { return neverJudged("no phone in the story has the agent") }
    guard !phones.isEmpty else { return neverJudged("no phone in the story has a key of it") }
    let leavers = Set(all { $0.isMark(.ownerLeft) && !phones.contains($0.machine) }.map(\.machine)).sorted()
    let strangers = leavers.filter { !withAgent.contains($0) }
    guard strangers.isEmpty else {
      return notJudged("no owner left home; \(strangers.joined(separator: ", ")) has no agent")
    }
    guard leavers.isEmpty else {
      return notJudged("no owner left home; \(leavers.joined(separator: ", ")) has no key of it")
    }
    return notJudged("no owner left home")
  }
}

extension JournalEntry {
  /// A return on foot. Otherwise the owner's phone was suddenly there.
  var isOnWay: Bool { self[.way] == "walk" }

  /// When the walk that this entry begins ends, in nanoseconds.
  var wayEnds: Int64 { t + Int64((Double(self[.over] ?? "") ?? 0) * 1e9) }
}
