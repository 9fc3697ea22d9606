import AppLink
import BlueZ
import BluetoothTypes
import TimeTypes

/// One app: its life, the events queued for it, and what the user wants of it.
struct App: Sendable {
  let declaration: AppDeclaration
  private(set) var life = AppLife.notRunning
  private(set) var quitByUser = false
  private(set) var launches = 0
  /// The user does not let it use Bluetooth.
  private(set) var isDenied = false
  /// The last launch: its reason and the time it was asked for.
  private(set) var launchReason = LaunchReason.opened
  private(set) var launchedAt = Instant.zero
  private(set) var backOff = LaunchBackOff()
  /// The user opened the app while it could not be started at once.
  private var isOpenWanted = false

  var queue: [Waiting] = []
  /// Managers whose delegates have not been told a state, because Bluetooth's state is not known yet. Events queued for
  /// them wait until the state has been told.
  var stateless: Set<ManagerKey> = []
  /// Connection events that were sent to the process and that it has not handled. If the process ends, the next one is
  /// told of them.
  var unhandled = UnhandledConnections()
  /// The queue length at which the queue is tidied again.
  var tidyAt = 0
  /// Lost events and refused requests, counted for the journal.
  var lostEvents = 0
  var refusedRequests = 0
  /// What the app has said about its managers' peripherals before it resumes the managers.
  var heldViews = HeldViews()
  /// User actions that the app has not answered yet.
  var actions = UserActions()
  /// The alert that the app shows the user now.
  var alert: String?
  /// What the app has told its user about the things that it controls.
  var reports = AppReports()
  var wakes = WakeLedger()
  /// Which centrals the app lets in. `nil` if it has not said so.
  var admission: CentralAdmission?
  var provenBefore = ProvenBefore()

  /// An event for a manager that may not yet exist in the app's process. Its number is filled in when the event is
  /// sent.
  struct Waiting: Sendable {
    var manager: ManagerKey
    var body: AppLink.Event.Body
    /// Whether a suspended app is woken for it.
    let wakes: Bool
    /// How many processes have ended after they were sent this event and before they had handled it.
    var deaths = 0

    init(manager: ManagerKey, body: AppLink.Event.Body, wakes: Bool? = nil) {
      self.manager = manager
      self.body = body
      self.wakes = wakes ?? body.wakes
    }
  }

  init(_ declaration: AppDeclaration) { self.declaration = declaration }

  // MARK: On disk

  mutating func load(_ record: AppRecord) {
    quitByUser = record.quitByUser
    launches = record.launches
    wakes = WakeLedger(record.wakes)
    isDenied = record.isDenied
    guard let identity = record.process else { return }
    let process = AppProcess(identity, at: .zero)
    // Also if it was still being started, or an earlier release had suspended it.
    if declaration.keepAlive {
      life = .foreground(process)
      return
    }
    switch record.state {
    case .foreground: life = .foreground(process)
    case .suspended: life = .suspended(process)
    // How far a launch had got is unknown. The process exists and has one wake's time to attach.
    case .launching, .background, .notRunning: life = .background(process, AppLife.Stay(at: .zero, budget: .zero))
    }
  }

  var record: AppRecord {
    AppRecord(
      bundleIdentifier: declaration.bundleIdentifier, state: state, process: process, quitByUser: quitByUser,
      launches: launches, wakes: wakes.ended, isDenied: isDenied)
  }

  // MARK: State

  var state: AppState { life.state }
  var process: ProcessIdentity? { life.process?.identity }
  var link: AppLinkIdentifier? { life.process?.link }
  var lastSequence: UInt64 { life.process?.lastSequence ?? 0 }
  /// The app was killed, and the end of its process has not been reported yet.
  var isEnding: Bool { life.process?.endReason != nil }
  /// Events that the app has received and not yet handled.
  var unhandledEvents: UInt64 { life.process?.unhandledEvents ?? 0 }

  func mayWorkInBackground(_ role: Role) -> Bool { declaration.backgroundModes.contains(role.backgroundMode) }
  var hasBackgroundMode: Bool { mayWorkInBackground(.central) || mayWorkInBackground(.peripheral) }
  /// How long the app may take for what it is told in the background.
  func wakeBudget(_ configuration: BluetoothSystem.Configuration) -> Duration {
    declaration.wakeBudget ?? configuration.wakeBudget
  }
  /// Awake and attached, so events are sent at once.
  var isReceiving: Bool { link != nil && (state == .foreground || state == .background) }

  /// Whether a manager of the app may work now: the app is in the foreground, or its modes let the manager work in
  /// the background. A preserved manager keeps working while its app is not running.
  func mayWork(_ key: ManagerKey) -> Bool {
    guard !isDenied, !quitByUser || process != nil else { return false }
    switch life {
    case .foreground, .launching: return true
    case .background, .suspended: return mayWorkInBackground(key.role)
    case .notRunning: return key.restoreIdentifier != nil && mayWorkInBackground(key.role)
    }
  }

  // MARK: Starting and ending

  /// Why the app should be started if it is not running.
  var startReason: LaunchReason? {
    if isOpenWanted { return .opened }
    guard !quitByUser else { return nil }
    if declaration.keepAlive { return .keepAlive }
    if !actions.isEmpty { return .restore }
    return queue.contains { $0.body.relaunches && mayWorkInBackground($0.manager.role) } ? .restore : nil
  }

  /// Why the app is to be started now.
  func launchReason(at now: Instant) -> LaunchReason? {
    guard case .notRunning = life, let reason = startReason, now >= backOff.notBefore else { return nil }
    return reason
  }

  /// Begins a launch if there is a reason for one now, and returns the reason.
  mutating func beginLaunch(at now: Instant) -> LaunchReason? {
    guard let reason = launchReason(at: now) else { return nil }
    life = .launching(nil)
    launchReason = reason
    isOpenWanted = false
    launchedAt = now
    launches &+= 1
    return reason
  }

  /// The supervisor has started the app's process.
  mutating func launched(_ identity: ProcessIdentity, at now: Instant) {
    guard life.process != nil else {
      life = .launching(AppProcess(identity, at: now))
      return
    }
    life.changeProcess { process in
      process.identity = identity
      process.renewPatience(at: now)
    }
  }

  /// Returns whether the app was being launched.
  mutating func launchFailed(at now: Instant) -> Bool {
    guard case .launching = life else { return false }
    life = .notRunning
    backOff.ended(launchedAt: launchedAt, at: now)
    return true
  }

  /// The app's process has ended. Returns why the system ended it, or `nil` if it ended by itself.
  mutating func ended(at now: Instant) -> String? {
    let reason = life.process?.endReason
    if reason == nil { backOff.ended(launchedAt: launchedAt, at: now) } else { backOff.wasEnded() }
    life = .notRunning
    provenBefore.processEnded(admission?.proven ?? [], at: now)
    admission?.proven = []
    return reason
  }

  /// The system has killed the app.
  mutating func willEnd(because reason: String) { life.changeProcess { $0.endReason = reason } }

  // MARK: Attaching

  /// - Returns: whether the user started the process by hand instead of the system launching it.
  mutating func attach(
    _ link: AppLinkIdentifier, _ identity: ProcessIdentity, lastEvent: EventSequence?, at now: Instant, budget: Duration
  ) -> Bool {
    var process = life.process ?? AppProcess(identity, at: now)
    process.attach(link, lastEvent: lastEvent)
    if launchReason == .restore { process.restoreDeadline = now + budget }
    let stay = AppLife.Stay(at: now, budget: budget)
    switch life {
    case .notRunning:
      life = .foreground(process)
      quitByUser = false
      launchedAt = now
      launches &+= 1
      return true
    case .launching: life = launchReason == .restore ? .background(process, stay) : .foreground(process)
    case .foreground: life = .foreground(process)
    case .background(_, var stay):
      stay.budgetEnds = now + budget
      life = .background(process, stay)
    case .suspended: life = .suspended(process)
    }
    return false
  }

  mutating func detach(at now: Instant) {
    life.changeProcess { $0.detach(at: now) }
    heldViews = HeldViews()
  }

  /// latchkeyd is back, and the process has gone on in the meantime. It gets the time of a new stay.
  mutating func adopt(at now: Instant, _ configuration: BluetoothSystem.Configuration) {
    let budget = wakeBudget(configuration)
    life.changeProcess { $0.renewPatience(at: now) }
    if case .background(let process, _) = life { life = .background(process, AppLife.Stay(at: now, budget: budget)) }
  }

  // MARK: Talking

  /// Returns the number of the next event. The app gets time to handle it.
  mutating func nextSequence(at now: Instant, _ configuration: BluetoothSystem.Configuration) -> EventSequence? {
    var next: (sequence: EventSequence, beginsBudget: Bool)?
    life.changeProcess { next = $0.nextSequence(at: now) }
    guard let next else { return nil }
    if next.beginsBudget { beginBudget(at: now, configuration) }
    wakes.told()
    return next.sequence
  }

  /// Returns the connection events that the process has now handled.
  mutating func handled(
    through sequence: EventSequence, at now: Instant, _ configuration: BluetoothSystem.Configuration
  ) -> [Waiting] {
    var beginsBudget: Bool?
    life.changeProcess { beginsBudget = $0.handled(through: sequence, at: now) }
    guard let beginsBudget else { return [] }
    if beginsBudget { beginBudget(at: now, configuration) }
    return unhandled.handled(through: sequence)
  }

  mutating func endStay(at now: Instant) { life.changeStay { $0.budgetEnds = min($0.budgetEnds, now) } }

  /// The app may run for a whole budget from now on.
  mutating func beginBudget(at now: Instant, _ configuration: BluetoothSystem.Configuration) {
    let budget = wakeBudget(configuration)
    life.changeStay { $0.budgetEnds = now + budget }
  }

  /// A connection event was sent.
  mutating func sent(_ waiting: Waiting) { unhandled.append(waiting, as: EventSequence(lastSequence)) }

  /// The app has created a manager, so it does restore its state.
  mutating func restored() { life.changeProcess { $0.restoreDeadline = nil } }

  // MARK: The user

  /// The user opened the app. Returns whether its process has to be resumed.
  mutating func open(at now: Instant) -> Bool {
    quitByUser = false
    backOff.waive(at: now)
    switch life {
    case .notRunning: isOpenWanted = true
    case .launching: launchReason = .opened
    case .foreground(var process), .background(var process, _), .suspended(var process):
      guard process.endReason == nil else {
        isOpenWanted = true
        return false
      }
      let wasSuspended = state == .suspended
      process.renewPatience(at: now)
      process.overruns = 0
      process.wakeNotBefore = now
      life = .foreground(process)
      return wasSuspended
    }
    return false
  }

  /// The user switched to another app. Returns whether this one goes to the background. One that always runs stays where
  /// it is: a lock that is suspended would lock behind nobody.
  mutating func leave(at now: Instant, _ configuration: BluetoothSystem.Configuration) -> Bool {
    guard !declaration.keepAlive, case .foreground(var process) = life else { return false }
    process.startsAfresh()
    process.resumesWork(at: now)
    life = .background(process, AppLife.Stay(at: now, budget: wakeBudget(configuration)))
    return true
  }

  /// The user swiped the app away. It is not started again until the user opens it or asks it for an action.
  mutating func quit() {
    quitByUser = true
    isOpenWanted = false
    queue.removeAll()
    alert = nil
  }

  /// The user's answer to whether the app may use Bluetooth. Returns whether it is news.
  mutating func allow(_ isAllowed: Bool) -> Bool {
    defer { isDenied = !isAllowed }
    return isDenied == isAllowed
  }

  /// The user asks the app for an action. That also lifts an earlier quit.
  mutating func wasAsked(at now: Instant) {
    quitByUser = false
    backOff.waive(at: now)
  }
}

// MARK: Waking and resting

extension App {
  /// Wakes the app if there is a reason, and returns the reason.
  mutating func wake(at now: Instant, _ configuration: BluetoothSystem.Configuration) -> WakeReason? {
    guard case .suspended(var process) = life, process.endReason == nil, let reason = wakeReason(at: now, process)
    else {
      return nil
    }
    process.resumesWork(at: now)
    life = .background(process, AppLife.Stay(at: now, budget: wakeBudget(configuration)))
    return reason
  }

  /// Applies what is due now, and returns it; `nil` if nothing is due.
  mutating func rest(at now: Instant, _ configuration: BluetoothSystem.Configuration) -> Rest? {
    guard !isEnding else { return nil }
    switch life {
    case .notRunning, .suspended: return nil
    case .launching(let process):
      guard now >= launchedAt + configuration.launchBudget else { return nil }
      return process == nil ? .launchUnanswered : .unresponsive(because: "never attached")
    case .foreground(let process):
      // The process never reconnected after latchkeyd came back, or was refused for good.
      guard case .lost(let since) = process.contact, now >= since + configuration.launchBudget else { return nil }
      return .unresponsive(because: "not attached")
    case .background(var process, let stay):
      guard now >= restTime(process, stay, configuration) else { return nil }
      let overran = hasBackgroundMode && isBusy(process)
      let exhausted = process.work.exhausted(budget: wakeBudget(configuration))
      process.overruns = overran ? process.overruns + 1 : 0
      guard process.overruns < configuration.overrunsUntilKilled else {
        life = .background(process, stay)
        return .overranForGood
      }
      process.stopsWork(at: now)
      process.suspendedAt = now
      if hasBackgroundMode, let exhausted, exhausted <= now {
        process.startsAfresh()
        process.wakeNotBefore = now + configuration.throttleRest
      }
      life = .suspended(process)
      return .suspended(overran: overran)
    }
  }

  /// Whether the app should have restored its managers by now and has not. This is reported once.
  mutating func hasFailedToRestore(at now: Instant) -> Bool {
    guard let deadline = life.process?.restoreDeadline, deadline <= now else { return false }
    restored()
    return true
  }
}
