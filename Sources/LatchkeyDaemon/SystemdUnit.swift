import BluetoothSystem

/// What systemd reports about a unit. A member is `nil` if this report does not mention it.
struct UnitReport: Sendable, Hashable {
  /// The unit's present main process. The inner optional is `nil` if it has none.
  var mainProcess: ProcessIdentity??
  /// `active`, `activating`, `deactivating`, `inactive`, `failed` …
  var activeState: String?
  /// `running`, `freezing`, `frozen`, `thawing`.
  var freezerState: String?
  /// `loaded`, `not-found`, `masked` …
  var loadState: String?
  /// Microseconds between two signs of life. 0 and the largest number mean no watchdog.
  var watchdog: UInt64?
  /// The user it runs as; empty for root.
  var user: String?
  /// How its last main process ended: CLD_EXITED, CLD_KILLED or CLD_DUMPED of <signal.h>, and its status or signal.
  var exitCode: Int?
  var exitStatus: Int?
}

/// One app's unit: its wanted state, its state as systemd reports it, and the open call to systemd. There is at most
/// one open call at a time.
struct SystemdUnit: Sendable {
  enum Call: Sendable, Hashable {
    /// Asks for a complete report.
    case inspect
    case start, freeze, thaw, kill, stop
  }

  enum Event: Sendable {
    case launch
    case adopt(ProcessIdentity)
    case suspend(ProcessIdentity)
    case resume(ProcessIdentity)
    case kill(ProcessIdentity)
    case reported(UnitReport)
    /// The open call was answered. `error` is systemd's error, if any.
    case answered(Call, error: String?)
    /// A job of the unit has ended. The text is `done`, or how else it ended.
    case jobEnded(String)
    /// systemd is there, for the first time or again.
    case connected
  }

  enum Effect: Sendable, Hashable {
    case call(Call)
    case launched(ProcessIdentity)
    case launchFailed(String)
    case ended(ProcessIdentity, how: String)
    case warn(String)
  }

  private enum Wish: Sendable { case running, frozen, stopped, dead }

  let name: String
  private var wish = Wish.running
  private var isStartWanted = false
  private var isLaunching = false
  /// The process that the system knows of.
  private var process: ProcessIdentity?
  private var known = UnitReport()
  /// Whether both answers have come: one has the unit's properties, the other those of its service.
  private var isKnown: Bool { known.loadState != nil && known.mainProcess != nil }
  private var open: Call?
  private var isReportWanted = true
  /// The job that started the unit has ended.
  private var isStartDone = false
  /// The report under way was requested after that job had ended.
  private var isReportAfterStart = false
  private var failures = 0
  private var hasWarned = false
  private var output: [Effect] = []

  /// After this many refusals in a row, wait for systemd's next signal instead of retrying.
  private static let failureLimit = 5

  init(name: String) { self.name = name }

  /// The user its processes run as, by name or number, or `nil` until systemd has said.
  var user: String? { isKnown ? (known.user.map { $0.isEmpty ? "root" : $0 }) : nil }

  mutating func handle(_ event: Event) -> [Effect] {
    switch event {
    case .launch:
      (isStartWanted, isLaunching, wish, failures) = (true, true, .running, 0)
      // A report under way was requested after an earlier start and says nothing about this one.
      (isStartDone, isReportAfterStart) = (false, false)
    case .adopt(let adopted):
      process = adopted
      if isKnown { compare() }
    case .suspend(let target): if target == process { want(.frozen) }
    case .resume(let target): if target == process { want(.running) }
    case .kill(let target): if target == process { want(.dead) }
    case .reported(let report): take(report)
    case .answered(let call, let error): answered(call, error)
    case .jobEnded(let result): jobEnded(result)
    case .connected: (open, isReportWanted, failures) = (nil, true, 0)
    }
    if open == nil, let next = nextCall() {
      open = next
      output.append(.call(next))
    }
    defer { output = [] }
    return output
  }

  private mutating func want(_ new: Wish) {
    if wish != new { hasWarned = false }
    // A unit that is to end can't be wanted for anything else.
    if wish != .dead, wish != .stopped || new == .dead { wish = new }
    failures = 0
  }

  // MARK: Messages from systemd

  private mutating func take(_ report: UnitReport) {
    known.mainProcess = report.mainProcess ?? known.mainProcess
    known.activeState = report.activeState ?? known.activeState
    known.freezerState = report.freezerState ?? known.freezerState
    known.loadState = report.loadState ?? known.loadState
    known.watchdog = report.watchdog ?? known.watchdog
    known.user = report.user ?? known.user
    known.exitCode = report.exitCode ?? known.exitCode
    known.exitStatus = report.exitStatus ?? known.exitStatus
    guard isKnown else { return }
    compare()
  }

  private var main: ProcessIdentity? { known.mainProcess ?? nil }

  private mutating func compare() {
    if let process, process != main {
      self.process = nil
      wish = .running
      // systemd never answers a freeze or thaw of a process that has died in the meantime. A new process is not
      // frozen.
      if open == .freeze || open == .thaw || open == .kill || open == .stop { open = nil }
      known.freezerState = nil
      output.append(.ended(process, how: main == nil ? how : "gone"))
      // systemd reports separately that the process is gone and that the unit is stopping.
      isReportWanted = true
    }
    // A process that existed before the start was requested is the app's as well.
    if isLaunching, !isStartWanted, open != .start, let main, wish != .dead, wish != .stopped {
      isLaunching = false
      process = main
      output.append(.launched(main))
    }
  }

  private var how: String {
    switch (known.exitCode, known.exitStatus) {
    case (1, let status?): "exit \(status)"
    case (2, let signal?), (3, let signal?): "signal \(signal)"
    default: "gone"
    }
  }

  private mutating func jobEnded(_ result: String) {
    // The properties may have been reported before it was known that they matter.
    isReportWanted = true
    // Something wants the unit to stop, but systemd (256 and later) does not stop a frozen unit. So it is thawed
    // first.
    if result == "frozen", !isLaunching, process != nil { want(.stopped) }
    // A job that ended before the start was answered was an earlier one.
    guard isLaunching, !isStartWanted, open != .start else { return }
    if result == "done" {
      isStartDone = true
      return
    }
    failLaunch("The start of \(name) ended as \"\(result)\"; systemctl status \(name) says more.")
  }

  private mutating func failLaunch(_ reason: String) {
    isLaunching = false
    isStartWanted = false
    output.append(.launchFailed(reason))
  }

  private mutating func answered(_ call: Call, _ error: String?) {
    guard open == call else { return }
    open = nil
    guard let error else {
      if call != .inspect { failures = 0 }
      switch call {
      case .start: isReportWanted = true
      case .freeze: known.freezerState = "frozen"
      case .thaw: known.freezerState = "running"
      // The end is reported when it has happened. Until then there is nothing to do about it.
      case .kill, .stop: wish = .running
      case .inspect:
        if isLaunching, isReportAfterStart, main == nil { failLaunch("\(name) ended as soon as it was started.") }
      }
      return
    }
    failures += 1
    if call == .start { return failLaunch("\(name) can't be started: \(error)") }
    if failures == Self.failureLimit { output.append(.warn("\(name): \(call) failed \(failures) times: \(error)")) }
    if call != .inspect { isReportWanted = true }
  }

  // MARK: The next call

  private mutating func nextCall() -> Call? {
    if isReportWanted {
      isReportWanted = false
      isReportAfterStart = isStartDone
      return .inspect
    }
    guard isKnown, failures < Self.failureLimit else { return nil }
    if isStartWanted {
      guard known.loadState == "loaded" else {
        failLaunch("systemd has no usable unit \(name) (\(known.loadState ?? "unknown")); install it.")
        return nil
      }
      // A start now would be merged with the job that ends the dead process, and would fail with it.
      guard known.activeState != "deactivating" || main != nil else { return nil }
      isStartWanted = false
      return .start
    }
    guard process != nil, process == main else { return nil }
    let isThawed = known.freezerState == nil || known.freezerState == "running"
    switch wish {
    case .running: return isThawed ? nil : .thaw
    // A frozen unit that is killed can't be started again (systemd before 258).
    case .dead: return isThawed || failures >= 3 ? .kill : .thaw
    case .stopped: return isThawed ? .stop : .thaw
    case .frozen:
      guard isThawed, known.activeState == "active" else { return nil }
      guard !hasWatchdog else {
        if !hasWarned {
          output.append(
            .warn(
              "\(name) is not frozen: it has a watchdog (WatchdogSec=), which would kill it. "
                + "Take the watchdog out of the unit."))
        }
        hasWarned = true
        return nil
      }
      return .freeze
    }
  }

  private var hasWatchdog: Bool { (known.watchdog ?? 0) != 0 && known.watchdog != .max }
}
