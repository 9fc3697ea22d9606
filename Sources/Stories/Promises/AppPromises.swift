import Journal
import JournalEvents
import TimeTypes
import Worlds

/// Judges the promises about any app.
enum AppPromises {
  static func judge(_ expectation: Expectation, on machine: String, _ evidence: Evidence) -> Finding {
    guard let app = expectation.app else { return AirPromises.judge(expectation, on: machine, evidence) }
    let judge = AppJudge(expectation: expectation, app: app, machine: machine, evidence: evidence)
    guard judge.hasRun else {
      let reason = "\(app) never ran on \(machine)"
      // These two promises are about how the app is told things, and not about whether it is told any.
      if [.restoredInOrder, .toldNothingTwice].contains(expectation.kind) { return evidence.notJudged(reason) }
      // What may happen never did not go otherwise, and was not put to the test.
      return expectation.times.atLeast == 0
        ? evidence.neverJudged(reason) : evidence.missing(reason, since: evidence.window.lowerBound)
    }
    return judge.finding
  }
}

/// One promise about one app on one machine.
private struct AppJudge {
  let expectation: Expectation
  let app: InstalledApp
  let machine: String
  let evidence: Evidence

  /// What latchkeyd records about this app.
  private func isAbout(_ entry: JournalEntry) -> Bool {
    entry.machine == machine && entry.concerns(app.bundleIdentifier)
  }

  /// What the app itself records.
  private func isOwn(_ entry: JournalEntry) -> Bool { entry.machine == machine && entry.process == app.process }

  private func isTold(_ entry: JournalEntry) -> Bool { isOwn(entry) && entry.event == DelegateRecord.event }

  var hasRun: Bool {
    evidence.first(in: 0..<evidence.window.upperBound) { isAbout($0) && $0.isDaemon(.appLaunched) } != nil
  }

  var finding: Finding {
    switch expectation.kind {
    case .restoredInOrder: restoredInOrder
    case .toldNothingTwice: toldNothingTwice
    case .told, .notTold: counted(told, "told")
    case .woken, .notWoken: counted(wakes, "woken")
    case .relaunched, .notRelaunched: relaunched
    case .alerted, .notAlerted: counted(alerts, "alerted")
    case .recorded, .notRecorded: counted(records, "recorded")
    case .onTheAir, .notOnTheAir, .scanned, .notScanned, .openedOnlyFor: evidence.neverJudged("this is about a radio")
    }
  }

  /// - Parameter what: what happened, as in "told 3 times".
  private func counted(_ lines: [JournalEntry], _ what: String) -> Finding {
    let times = expectation.times
    let reason = "\(what) \(count(lines.count, "time"))"
    if let most = times.atMost, lines.count > most { return .broken("\(reason), not \(times.words)", lines) }
    guard lines.count >= times.atLeast else {
      return evidence.missing("\(reason), not \(times.words)", since: evidence.window.lowerBound, lines)
    }
    return .kept(lines.isEmpty ? "never \(what)" : reason, lines)
  }

  // MARK: What happened

  private var told: [JournalEntry] {
    evidence.all { isTold($0) && (expectation.event == nil || $0.fields[call] == expectation.event) }
  }

  private let call = DelegateRecord.Field.call.rawValue

  private var alerts: [JournalEntry] {
    evidence.all { entry in
      isAbout(entry) && entry.isDaemon(.userAlert)
        && (expectation.text.map { (entry[.text] ?? entry[.about] ?? "").contains($0) } ?? true)
    }
  }

  private var records: [JournalEntry] {
    evidence.all { entry in
      isOwn(entry) && entry.event == expectation.event
        && expectation.fields.allSatisfy { entry.fields[$0.key] == $0.value }
    }
  }

  /// The reasons of launches and resumptions that come from the user. They don't count as wakes unless the promise
  /// names them.
  private static let users = ["opened", "action"]

  private var wakes: [JournalEntry] {
    evidence.all { isAbout($0) && ($0.isDaemon(.appResumed) || isRelaunch($0)) }.filter { entry in
      guard let wanted = expectation.event else { return !Self.users.contains(entry[.because] ?? "") }
      return entry[.because] == wanted
    }
  }

  private func isRelaunch(_ entry: JournalEntry) -> Bool {
    isAbout(entry) && entry.isDaemon(.appLaunched) && entry[.reason] == "restore"
  }

  /// A start that restores the app's state. An app that always runs is not started for an event, and still finds what
  /// its managers had if it has run before.
  private func isRestoration(_ entry: JournalEntry) -> Bool {
    if isRelaunch(entry) { return true }
    return isAbout(entry) && entry.isDaemon(.appLaunched) && entry[.reason] == "keep-alive"
      && !Self.identifiers(of: entry).isEmpty
  }

  private var relaunched: Finding {
    let launches = evidence.all(where: isRestoration)
    let wanted = Set(expectation.identifiers)
    if let wrong = launches.first(where: { !wanted.isSubset(of: Self.identifiers(of: $0).map(\.name)) }) {
      let missing = wanted.subtracting(Self.identifiers(of: wrong).map(\.name)).sorted()
      return .broken("the launch options do not list \(missing.joined(separator: ", "))", [wrong])
    }
    return counted(launches, "relaunched")
  }

  // MARK: Restoration

  /// A manager that a launch is to restore.
  private struct Restorable: Hashable {
    var role: String
    var name: String
  }

  private static func identifiers(of launch: JournalEntry) -> [Restorable] {
    func list(_ field: JournalField, _ role: String) -> [Restorable] {
      (launch[field] ?? "").split(separator: ",").map { Restorable(role: role, name: String($0)) }
    }
    return list(.centrals, "central") + list(.peripherals, "peripheral")
  }

  private var restoredInOrder: Finding {
    let launches = evidence.indices(where: isRestoration)
    guard !launches.isEmpty else { return evidence.notJudged("\(app) was not relaunched to restore its state") }
    return .all(launches.map(restored), of: "relaunch", plural: "relaunches")
  }

  private func restored(by index: Int) -> Finding {
    let launch = evidence.entries[index]
    let pid = launch[.pid].flatMap { Int32($0) }
    let lines = evidence.all(in: evidence.rest(from: index)) { isTold($0) && $0.pid == pid }
    var byManager: [Restorable: [JournalEntry]] = [:]
    for line in lines {
      let manager = Restorable(
        role: line.fields[DelegateRecord.Field.role.rawValue] ?? "",
        name: line.fields[DelegateRecord.Field.manager.rawValue] ?? "")
      byManager[manager, default: []].append(line)
    }
    let listed = Self.identifiers(of: launch)
    for (manager, lines) in byManager.sorted(by: { $0.key.name < $1.key.name }) {
      if let finding = outOfOrder(lines, manager.name, isListed: listed.contains(manager)) { return finding }
    }
    if let finding = toldTwice(lines) { return finding }
    for manager in listed where (byManager[manager] ?? []).count < 2 {
      let shown = [launch] + (byManager[manager] ?? [])
      if let end = earlyEnd(ofLaunch: index) {
        return evidence.neverJudged("the story ended it before it could be told", shown + [end])
      }
      let reason = "the manager '\(manager.name)' was not restored, or not told its state"
      return evidence.missing(reason, since: index, shown)
    }
    guard !listed.isEmpty else { return .broken("the launch options list no restore identifier", [launch]) }
    return .kept("restored \(listed.map(\.name).joined(separator: ", "))", [launch] + lines.prefix(8))
  }

  /// How long a relaunched app may take to make its managers. One that takes longer is not restored.
  private static let allowance = Duration.seconds(10)

  /// The story's own step that ended the process, or made it hang, before the allowance was over.
  private func earlyEnd(ofLaunch index: Int) -> JournalEntry? {
    let launch = evidence.entries[index]
    let end = evidence.first(in: evidence.rest(from: index + 1)) { entry in
      guard entry.machine == machine else { return false }
      switch entry.mark {
      case .machineDown?: return true
      case .appKilled?, .appReclaimed?, .appQuit?, .appHung?: return entry.concerns(app.bundleIdentifier)
      default: return isAbout(entry) && entry.isDaemon(.appLaunched)
      }
    }
    guard let end, evidence.entries[end].mark != nil else { return nil }
    let isEarly = evidence.entries[end].t - launch.t < Self.allowance.wholeNanoseconds
    return isEarly ? evidence.entries[end] : nil
  }

  /// The fault in the order of what a manager was told, or `nil` if it begins as promised.
  private func outOfOrder(_ lines: [JournalEntry], _ manager: String, isListed: Bool) -> Finding? {
    let calls = lines.map { $0.fields[call] ?? "" }
    let restorations = calls.indices.filter { calls[$0] == "willRestoreState" }
    func broken(_ reason: String) -> Finding {
      .broken("the manager '\(manager)' \(reason); told \(calls.prefix(6).joined(separator: ", "))", lines)
    }
    if restorations.count > 1 { return broken("was told willRestoreState \(count(restorations.count, "time"))") }
    if let place = restorations.first, place > 0 { return broken("was told something before willRestoreState") }
    if isListed, restorations.isEmpty, let first = calls.first {
      return broken("was told \(first) and never willRestoreState")
    }
    if !restorations.isEmpty, calls.count > 1, calls[1] != "stateChanged" {
      return broken("was told \(calls[1]) before its state")
    }
    return nil
  }

  private var toldNothingTwice: Finding {
    let lines = evidence.all(where: isTold)
    if let finding = toldTwice(lines) { return finding }
    let connections = lines.filter { ["connected", "disconnected"].contains($0.fields[call] ?? "") }
    guard !connections.isEmpty else { return evidence.notJudged("\(app) was told of no connection") }
    return .kept("\(count(connections.count, "event")), each once", connections)
  }

  /// The manager and the peripheral that a process is told about.
  private struct Listener: Hashable {
    var pid: Int32
    var manager: String
    var peer: String
  }

  private func toldTwice(_ lines: [JournalEntry]) -> Finding? {
    var latest: [Listener: JournalEntry] = [:]
    for line in lines {
      let manager = line.fields[DelegateRecord.Field.manager.rawValue] ?? ""
      switch line.fields[call] {
      case "stateChanged":
        // When the radio goes off, its links end without being reported.
        latest = latest.filter { $0.key.pid != line.pid || $0.key.manager != manager }
      case "connected", "disconnected":
        let peer = line.fields[DelegateRecord.Field.peer.rawValue] ?? ""
        let listener = Listener(pid: line.pid, manager: manager, peer: peer)
        let isAsked = line.fields[DelegateRecord.Field.asked.rawValue] != nil
        if !isAsked, let earlier = latest[listener], earlier.fields[call] == line.fields[call] {
          return .broken("told '\(line.fields[call] ?? "")' twice in a row", [earlier, line])
        }
        latest[listener] = line
      default: break
      }
    }
    return nil
  }
}

extension InstalledApp {
  /// The name of its processes in the journal.
  var process: String { isDescribed ? name : program }
}
