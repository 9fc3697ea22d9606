import Journal
import JournalEvents
import TimeTypes
import Worlds

/// Judges what a machine's radio sends, and whether it listens.
enum AirPromises {
  static func judge(_ expectation: Expectation, on machine: String, _ evidence: Evidence) -> Finding {
    let judge = AirJudge(content: expectation.air, machine: machine, evidence: evidence)
    guard judge.isRecorded else {
      return evidence.neverJudged("only the simulator and the air of virtual machines record what is on the air")
    }
    switch expectation.kind {
    case .onTheAir: return judge.advertised
    case .notOnTheAir: return judge.silent
    case .scanned:
      guard let scan = judge.scans.first else {
        let reason = "\(machine) did not scan"
        // As with `at most` of other promises, a limit alone lets it be never.
        let isOnlyLimited = judge.content.scanPercentAtMost != nil && (judge.content.scanPercentAtLeast ?? 0) == 0
        return isOnlyLimited ? .kept(reason) : evidence.missing(reason, since: evidence.window.lowerBound)
      }
      guard judge.content.scanPercentAtLeast != nil || judge.content.scanPercentAtMost != nil else {
        return .kept("\(machine) scanned", [scan])
      }
      return judge.share
    case .notScanned:
      guard judge.scans.isEmpty else { return .broken("\(machine) scanned", judge.scans) }
      return .kept("\(machine) did not scan")
    default: return evidence.neverJudged("this is about an app")
    }
  }
}

private struct AirJudge {
  let content: AirContent
  let machine: String
  let evidence: Evidence

  var isRecorded: Bool {
    let before = 0..<evidence.window.upperBound
    guard evidence.first(in: before, where: { $0.process == Recorded.air }) == nil else {
      // The air's program records every controller that is plugged in, unless a run did not ask for it.
      return evidence.first(in: before) { $0.place == machine && $0.isLink(.scanningChanged) } != nil
    }
    return evidence.first(in: before) { $0.isLink(.bluetoothdStarted) } != nil
  }

  /// The advertising sets or the scan that were on at some time in the window: those from before it, and those that
  /// began in it.
  private func active(_ event: Recorded.Radio) -> [JournalEntry] {
    var before: [String: JournalEntry] = [:]
    var began: [JournalEntry] = []
    for index in 0..<evidence.window.upperBound {
      let entry = evidence.entries[index]
      if index < evidence.window.lowerBound, entry.place == machine, endsAll(entry) { before = [:] }
      guard entry.isLink(event), entry.place == machine else { continue }
      let isOn = entry[.on] == "true"
      if evidence.window.contains(index) {
        if isOn { began.append(entry) }
      } else {
        before[entry[.set] ?? ""] = isOn ? entry : nil
      }
    }
    return before.sorted { $0.key < $1.key }.map(\.value) + began
  }

  /// Whether this entry ends all advertising and scanning on its machine. Only entries before the window matter: within
  /// it, whatever was on at some time counts.
  private func endsAll(_ entry: JournalEntry) -> Bool {
    entry.isMark(.machineDown) || entry.isLink(.bluetoothdStopped)
      || (entry.isLink(.adapterPowered) && entry[.on] == "false")
  }

  var scans: [JournalEntry] { active(.scanningChanged) }

  /// For how much of the window the machine scanned.
  var share: Finding {
    guard let first = evidence.entries[evidence.window].first?.t, let last = evidence.entries[evidence.window].last?.t,
      last > first
    else { return evidence.neverJudged("no time passes in it") }
    var onSince: Int64?
    var scanned: Int64 = 0
    for entry in evidence.entries[..<evidence.window.upperBound] where entry.place == machine {
      if entry.isLink(.scanningChanged), entry[.on] == "true" {
        onSince = onSince ?? entry.t
      } else if entry.isLink(.scanningChanged) || endsAll(entry) {
        if let began = onSince { scanned += max(0, entry.t - max(began, first)) }
        onSince = nil
      }
    }
    if let began = onSince { scanned += last - max(began, first) }
    let percent = Int((Double(scanned) / Double(last - first) * 100).rounded())
    let words = "\(machine) scanned for \(percent) % of the time"
    let range = (content.scanPercentAtLeast ?? 0)...(content.scanPercentAtMost ?? 100)
    return range.contains(percent) ? .kept(words, scans) : .broken(words, scans)
  }

  var silent: Finding {
    let sets = active(.advertisingChanged)
    // Only advertisements of that kind are meant, if the promise says which.
    let such = content == AirContent() ? sets : sets.filter { fault(in: $0) == nil }
    guard such.isEmpty else { return .broken("\(machine) advertised", such) }
    return .kept(sets.isEmpty ? "\(machine) advertised nothing" : "\(machine) advertised nothing of that kind")
  }

  var advertised: Finding {
    let sets = active(.advertisingChanged)
    guard !sets.isEmpty else {
      return evidence.missing("\(machine) advertised nothing", since: evidence.window.lowerBound)
    }
    for set in sets {
      if let fault = fault(in: set) { return .broken(fault, [set]) }
    }
    return .kept(count(sets.count, "advertisement"), sets)
  }

  /// How an advertisement differs from what is promised.
  private func fault(in set: JournalEntry) -> String? {
    let name = set[.name]
    switch content.name {
    case .absent where name != nil: return "its name '\(name ?? "")' is on the air"
    case .present where name == nil: return "no name is on the air"
    case .exactly(let text) where name != text: return "the name on the air is \(name.map { "'\($0)'" } ?? "missing")"
    default: break
    }
    let services = Set((set[.services] ?? "").split(separator: ",").map(String.init))
    if let missing = content.lists.first(where: { !services.contains($0) }) { return "\(missing) is not listed" }
    if let listed = content.omits.first(where: { services.contains($0) }) { return "\(listed) is listed" }
    guard content.intervalAtLeast != nil || content.intervalAtMost != nil else { return nil }
    guard let milliseconds = set[.interval].flatMap({ Double($0) }) else { return "its interval is not recorded" }
    let interval = Duration.nanoseconds(Int64(milliseconds * 1e6))
    if let least = content.intervalAtLeast, interval < least {
      return "it is sent every \(DurationText.format(interval))"
    }
    if let most = content.intervalAtMost, interval > most { return "it is sent every \(DurationText.format(interval))" }
    return nil
  }
}
