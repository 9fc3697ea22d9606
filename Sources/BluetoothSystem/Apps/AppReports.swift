import AppLink
import JournalEvents
import TimeTypes

/// What one app has told its user about the things that it controls, kept in memory only. Nothing in the system depends
/// on it.
struct AppReports: Sendable {
  struct State: Sendable {
    let subject: String
    var text: String
    var sinceUnixSeconds: Double?
  }

  struct Movement: Sendable {
    let subject: String
    let text: String
    let unixSeconds: Double
  }

  /// In the order in which they were first told.
  private(set) var states: [State] = []
  /// Oldest first.
  private(set) var movements: [Movement] = []
  /// When the app's movements could all be in the journal, if they came at the steady pace.
  private var journaledUntil = Instant.zero
  /// How many movements were left out of the journal since the last one that went into it.
  private var untold = 0

  /// How many movements are journaled at once, and how often one is in the long run.
  static let journalBurst = 20
  static let journalInterval: Duration = .seconds(6)

  /// - Parameter sinceUnixSeconds: when this state began; `nil` if that is not known.
  mutating func setState(_ text: String, of subject: String, sinceUnixSeconds: Double?) {
    guard let index = states.firstIndex(where: { $0.subject == subject }) else {
      states.append(State(subject: subject, text: text, sinceUnixSeconds: sinceUnixSeconds))
      if states.count > AppReport.Limit.subjects { states.removeFirst() }
      return
    }
    guard states[index].text != text else { return }
    states[index].text = text
    states[index].sinceUnixSeconds = sinceUnixSeconds
  }

  mutating func addMovement(_ text: String, of subject: String, unixSeconds: Double) {
    movements.append(Movement(subject: subject, text: text, unixSeconds: unixSeconds))
    if movements.count > AppReport.Limit.movements { movements.removeFirst() }
  }

  /// Decides whether the last movement goes into the journal. Returns how many earlier ones were left out before it, or
  /// `nil` if this one is left out as well.
  mutating func takeJournalPlace(at now: Instant) -> Int? {
    let from = max(journaledUntil, now)
    guard from < now + Self.journalInterval * Self.journalBurst else {
      untold += 1
      return nil
    }
    journaledUntil = from + Self.journalInterval
    defer { untold = 0 }
    return untold
  }
}

extension BluetoothSystem {
  mutating func report(_ report: AppReport, app name: String) {
    let subject = report.subject.onOneLine(byteLimit: AppReport.Limit.subjectBytes)
    let text = report.text.onOneLine(byteLimit: AppReport.Limit.textBytes)
    guard !subject.isEmpty, !text.isEmpty else { return misplaced(name, "A report needs a subject and a text.") }
    switch report.kind {
    case .state: apps[name]?.reports.setState(text, of: subject, sinceUnixSeconds: unixSeconds)
    case .knownState: apps[name]?.reports.setState(text, of: subject, sinceUnixSeconds: nil)
    case .movement:
      apps[name]?.reports.addMovement(text, of: subject, unixSeconds: unixSeconds)
      guard let untold = apps[name]?.reports.takeJournalPlace(at: now) else { return }
      var fields: [JournalField: String] = [.app: name, .about: subject, .text: text]
      if untold > 0 { fields[.untold] = String(untold) }
      journal(.userReport, fields)
    }
  }

  var reportedStates: [ReportedState] {
    appNames.flatMap { name in
      (apps[name]?.reports.states ?? []).map { state in
        ReportedState(
          app: name, subject: state.subject, text: state.text, sinceUnixSeconds: state.sinceUnixSeconds)
      }
    }
  }

  /// Oldest first.
  var reportedMovements: [ReportedMovement] {
    appNames.flatMap { name in
      (apps[name]?.reports.movements ?? []).map { movement in
        ReportedMovement(
          app: name, subject: movement.subject, text: movement.text, unixSeconds: movement.unixSeconds)
      }
    }
    .sorted { ($0.unixSeconds, $0.app) < ($1.unixSeconds, $1.app) }
  }
}
