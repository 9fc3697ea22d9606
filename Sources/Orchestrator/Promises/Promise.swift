import Journal

/// One promise of the system, with the checker that tells from what was recorded whether it was kept.
public struct Promise: Sendable {
  /// What scenarios and verdicts call it.
  public let name: String
  /// What is promised, in a sentence.
  public let meaning: String
  /// The rows of the requirements that it stands for.
  public let rows: [String]
  private let check: @Sendable (Evidence) throws(MissingMark) -> Finding

  init(
    name: String, rows: [String], meaning: String,
    check: @escaping @Sendable (Evidence) throws(MissingMark) -> Finding
  ) {
    self.name = name
    self.rows = rows
    self.meaning = meaning
    self.check = check
  }

  public static func named(_ name: String) -> Promise? { all.first { $0.name == name } }

  public static let all: [Promise] =
    LeavingPromises.all + AwayPromises.all + ArrivalPromises.all + DoorPromises.all
    + LockFaultPromises.all + SoundnessPromises.all

  /// Checks this promise over what was recorded.
  ///
  /// - Parameter unjudged: why nobody can tell in this world; then it is neither kept nor broken.
  public func judge(_ evidence: Evidence, scope: String, unjudged: String? = nil) -> PromiseResult {
    if let unjudged {
      return PromiseResult(
        name: name, meaning: meaning, rows: rows, scope: scope, kept: false, isUnjudged: true, reason: unjudged,
        evidence: [])
    }
    let finding: Finding
    do {
      finding = try check(evidence)
    } catch {
      finding = .broken("\(error.what), so there is nothing to judge")
    }
    return PromiseResult(
      name: name, meaning: meaning, rows: rows, scope: scope, kept: finding.kept, isUnjudged: false,
      reason: finding.reason, evidence: finding.evidence)
  }
}

/// What a checker found, and the lines that show it.
public struct Finding: Sendable {
  public var kept: Bool
  public var reason: String
  public var evidence: [JournalEntry]

  static func kept(_ reason: String, _ evidence: [JournalEntry] = []) -> Finding {
    Finding(kept: true, reason: reason, evidence: evidence)
  }
  static func broken(_ reason: String, _ evidence: [JournalEntry] = []) -> Finding {
    Finding(kept: false, reason: reason, evidence: evidence)
  }
}

public struct PromiseResult: Sendable, Codable, Equatable {
  public var name: String
  public var meaning: String
  public var rows: [String]
  /// The chapter it was checked over, or the whole run.
  public var scope: String
  public var kept: Bool
  /// Nobody could tell in this world; `kept` is false then, and it is not broken.
  public var isUnjudged: Bool
  public var reason: String
  public var evidence: [JournalEntry]
}

/// What was recorded, in order, and the part of it that a promise is about.
public struct Evidence: Sendable {
  public let entries: [JournalEntry]
  /// The chapter's part of `entries`.
  public let window: Range<Int>

  public init(_ entries: [JournalEntry], window: Range<Int>? = nil) {
    self.entries = entries
    self.window = window ?? 0..<entries.count
  }

  func first(in range: Range<Int>? = nil, where matches: (JournalEntry) -> Bool) -> Int? {
    let range = (range ?? window).clamped(to: window)
    return entries[range].firstIndex(where: matches)
  }

  func all(in range: Range<Int>? = nil, where matches: (JournalEntry) -> Bool) -> [JournalEntry] {
    let range = (range ?? window).clamped(to: window)
    return entries[range].filter(matches)
  }

  func first(_ event: String, of process: String, in range: Range<Int>? = nil) -> Int? {
    first(in: range) { $0.event == event && $0.process == process }
  }

  func all(_ event: String, of process: String, in range: Range<Int>? = nil) -> [JournalEntry] {
    all(in: range) { $0.event == event && $0.process == process }
  }

  func firstMark(_ event: String, in range: Range<Int>? = nil) -> Int? { first(event, of: Marks.process, in: range) }

  /// From the owner's leaving to the owner's return; each promise about being away needs both.
  func away() throws(MissingMark) -> Range<Int> {
    guard let left = firstMark(Marks.ownerLeft) else { throw MissingMark(what: "nobody left home") }
    guard let returned = firstMark(Marks.ownerReturned, in: left..<window.upperBound) else {
      throw MissingMark(what: "nobody came home")
    }
    return left..<returned
  }

  /// From the owner's return to the end.
  func home() throws(MissingMark) -> Range<Int> { try away().upperBound..<window.upperBound }
}

/// A promise was asked about a story that it does not fit; that breaks it, so that it is never kept by accident.
struct MissingMark: Error {
  var what: String
}

/// Virtual seconds between two events, for people.
func seconds(from earlier: JournalEntry, to later: JournalEntry) -> String {
  let milliseconds = max(0, later.t - earlier.t) / 1_000_000
  let fraction = String(milliseconds % 1000)
  return "\(milliseconds / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)"
}

/// Names that the checkers read: who records what.
enum Recorded {
  static let agent = "latchkey-agent"
  static let lock = "latchkey-lock"
  static let daemon = "latchkeyd"
  static let simulator = "bluez-simulator"
  /// Who sees links from outside: the simulator's radio, the air between virtual machines, bluetoothd itself.
  static let air = "air"
  static let bluetoothd = "bluetoothd"
  static let radios: Set = [simulator, air, bluetoothd]
  static let agentIdentifier = InstalledApp.agent.bundleIdentifier
  static let lockIdentifier = InstalledApp.lock.bundleIdentifier
}

extension JournalEntry {
  /// Whether a daemon's or the orchestrator's line is about this app.
  func concerns(_ app: String) -> Bool { fields["app"] == app }
}
