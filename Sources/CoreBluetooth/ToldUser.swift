import AppLink

/// What an app tells its user through the system. A system that comes back is told everything that still holds, and
/// what it has missed.
struct ToldUser {
  /// The alert that the app shows the user now.
  private var alert: String?
  /// What the app has said of the things that it controls, in the order of their first mention.
  private var states: [(subject: String, text: String)] = []
  /// Movements that happened while the system was away, and that it has not been told of.
  private var movements: [AppReport] = []

  /// Each change returns what the system has to be told, or `nil` if it knows.
  mutating func showAlert(_ text: String?) -> Request? {
    alert = text
    return .showAlert(text)
  }

  mutating func report(_ report: AppReport) -> Request? {
    guard report.kind != .movement else { return .report(report) }
    if let index = states.firstIndex(where: { $0.subject == report.subject }) {
      guard states[index].text != report.text else { return nil }
      states[index].text = report.text
    } else {
      states.append((report.subject, report.text))
      if states.count > AppReport.Limit.subjects { states.removeFirst() }
    }
    return .report(report)
  }

  private static let powerAlert = "Bluetooth is off. Switch it on, so that this app can use it: latchkey bluetooth on"

  /// Shows that Bluetooth is off to an app's user who has just started it, unless the app shows something itself. Takes it
  /// back when Bluetooth is on.
  mutating func showPowerAlert(after before: ManagerState?, now state: ManagerState) -> Request? {
    if state == .poweredOff, before == nil || before == .unknown, alert == nil { return showAlert(Self.powerAlert) }
    if state == .poweredOn, alert == Self.powerAlert { return showAlert(nil) }
    return nil
  }

  /// The system is away, so this request waits. Only a movement is kept here: alerts and states are stored already.
  mutating func keep(_ request: Request) {
    guard case .report(let report) = request, report.kind == .movement else { return }
    movements.append(report)
    if movements.count > AppReport.Limit.movements { movements.removeFirst() }
  }

  /// What a system that has just come is told.
  mutating func takeUntold() -> [Request] {
    defer { movements = [] }
    return (alert.map { [.showAlert($0)] } ?? [])
      + states.map { .report(AppReport(.knownState, subject: $0.subject, text: $0.text)) }
      + movements.map { .report($0) }
  }
}
