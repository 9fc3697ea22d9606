import AppLink
import BlueZ
import BluetoothTypes
import TimeTypes

/// One app: its life, what waits to be told to it, and what the user wants of it.
struct App: Sendable {
  let declaration: AppDeclaration
  private(set) var life = AppLife.notRunning
  private(set) var quitByUser = false
  private(set) var launches = 0
  /// The last launch: what for, and when it was asked for.
  private(set) var launchReason = LaunchReason.opened
  private var launchedAt = Instant.zero
  private var backOff = LaunchBackOff()
  /// The user opened it while it could not be started at once.
  private var isOpenWanted = false

  var queue: [Waiting] = []
  /// From how many waiting events on the queue is looked through again.
  var tidyAt = 0
  /// Events that were lost, and requests that were refused, for the journal.
  var lostEvents = 0
  var refusedRequests = 0
  /// What the user asked of it and has no answer yet.
  var actions = UserActions()
  /// What it has to say to the user now.
  var alert: String?
  var wakes = WakeLedger()

  /// An event for a manager that may not exist yet in the app's process; the manager's number is filled in when sent.
  struct Waiting: Sendable {
    var manager: ManagerKey
    var body: AppLink.Event.Body
  }

  init(_ declaration: AppDeclaration) { self.declaration = declaration }

  // MARK: On disk

  mutating func load(_ record: AppRecord) {
    quitByUser = record.quitByUser
    launches = record.launches
    guard let identity = record.process else { return }
    let process = AppProcess(identity, at: .zero)
    switch record.state {
    case .foreground: life = .foreground(process)
    case .suspended: life = .suspended(process)
    // Where a launch stood is not known; the process is there, and has a wake's time to show itself.
    case .launching, .background, .notRunning: life = .background(process, AppLife.Stay(at: .zero, budget: .zero))
    }
  }

  var record: AppRecord {
    AppRecord(
      bundleIdentifier: declaration.bundleIdentifier, state: state, process: process, quitByUser: quitByUser,
      launches: launches)
  }

  // MARK: What it is

  var state: AppState { life.state }
  var process: ProcessIdentity? { life.process?.identity }
  var link: AppLinkIdentifier? { life.process?.link }
  var lastSequence: UInt64 { life.process?.lastSequence ?? 0 }
  /// It was killed, and its end has not been reported.
  var isEnding: Bool { life.process?.endReason != nil }
  /// Events that it has been given and not dealt with.
  var unhandledEvents: UInt64 { life.process?.unhandledEvents ?? 0 }

  func mayWorkInBackground(_ role: Role) -> Bool { declaration.backgroundModes.contains(role.backgroundMode) }
  var hasBackgroundMode: Bool { mayWorkInBackground(.central) || mayWorkInBackground(.peripheral) }
  /// Awake and attached: events go to it at once.
  var isReceiving: Bool { link != nil && (state == .foreground || state == .background) }

  /// Whether a manager of it may work now: it runs in the foreground, or its modes let it work in the background. A
  /// preserved manager works on while its app is not running.
  func mayWork(_ key: ManagerKey) -> Bool {
    guard !quitByUser || process != nil else { return false }
    switch life {
    case .foreground, .launching: return true
    case .background, .suspended: return mayWorkInBackground(key.role)
    case .notRunning: return key.restoreIdentifier != nil && mayWorkInBackground(key.role)
    }
  }

  // MARK: Starting and ending

  /// Why it is to be started, where it does not run.
  var startReason: LaunchReason? {
    if isOpenWanted { return .opened }
    guard !quitByUser else { return nil }
    if declaration.keepAlive { return .keepAlive }
    if !actions.isEmpty { return .restore }
    return queue.contains { $0.body.relaunches && mayWorkInBackground($0.manager.role) } ? .restore : nil
  }

  /// Begins a launch where there is a reason for one now, and returns the reason.
  mutating func beginLaunch(at now: Instant) -> LaunchReason? {
    guard case .notRunning = life, let reason = startReason, now >= backOff.notBefore else { return nil }
    life = .launching(nil)
    launchReason = reason
    isOpenWanted = false
    launchedAt = now
    launches &+= 1
    return reason
  }

  /// The supervisor has started its process.
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

  /// Returns whether it was being launched.
  mutating func launchFailed(at now: Instant) -> Bool {
    guard case .launching = life else { return false }
    life = .notRunning
    backOff.ended(launchedAt: launchedAt, at: now)
    return true
  }

  /// Its process has ended. Returns why the system ended it; `nil` where it ended by itself.
  mutating func ended(at now: Instant) -> String? {
    let reason = life.process?.endReason
    if reason == nil { backOff.ended(launchedAt: launchedAt, at: now) } else { backOff.wasEnded() }
    life = .notRunning
    return reason
  }

  /// The system has killed it.
  mutating func willEnd(because reason: String) { life.changeProcess { $0.endReason = reason } }

  // MARK: Attaching

  /// - Returns: whether nobody had launched it: the user started it by hand.
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
      stay.lastActivity = now
      stay.budgetEnds = now + budget
      life = .background(process, stay)
    case .suspended: life = .suspended(process)
    }
    return false
  }

  mutating func detach(at now: Instant) { life.changeProcess { $0.detach(at: now) } }

  /// latchkeyd is back, and its process has gone on meanwhile: it has the time of a new stay.
  mutating func adopt(at now: Instant, budget: Duration) {
    life.changeProcess { $0.renewPatience(at: now) }
    if case .background(let process, _) = life { life = .background(process, AppLife.Stay(at: now, budget: budget)) }
  }

  // MARK: Talking

  /// It has said something.
  mutating func spoke(at now: Instant) { life.changeStay { $0.lastActivity = now } }

  /// It is told something: the number of the event. What it is told it gets the time to deal with.
  mutating func nextSequence(at now: Instant, budget: Duration) -> EventSequence? {
    var sequence: EventSequence?
    life.changeProcess { sequence = $0.nextSequence() }
    life.changeStay { stay in
      stay.lastActivity = now
      stay.budgetEnds = now + budget
    }
    wakes.told()
    return sequence
  }

  mutating func handled(through sequence: EventSequence, at now: Instant) {
    var wasTold = false
    life.changeProcess { wasTold = $0.handled(through: sequence) }
    if wasTold { spoke(at: now) }
  }

  /// It has created a manager, and with that restores what it had.
  mutating func restored() { life.changeProcess { $0.restoreDeadline = nil } }

  // MARK: The user

  /// The user opened it. Returns whether it has to be resumed for that.
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
      life = .foreground(process)
      return wasSuspended
    }
    return false
  }

  /// The user left it for another. Returns whether it was in the foreground.
  mutating func leave(at now: Instant, budget: Duration) -> Bool {
    guard case .foreground(let process) = life else { return false }
    life = .background(process, AppLife.Stay(at: now, budget: budget))
    return true
  }

  /// The user swiped it away: it is not started again until the user opens it, or asks something of it.
  mutating func quit() {
    quitByUser = true
    isOpenWanted = false
    queue.removeAll()
    alert = nil
  }

  /// The user asks something of it, whatever it was before.
  mutating func wasAsked(at now: Instant) {
    quitByUser = false
    backOff.waive(at: now)
  }
}

// MARK: Waking and resting

extension App {
  /// What a suspended app is woken for: the user's own wish, whatever its modes; events, where its modes let it.
  private var wakeReason: WakeReason? {
    if actions.hasUntold { return .event(.actionRequested) }
    return queue.first { mayWorkInBackground($0.manager.role) }.map { .event($0.body.kind) }
  }

  /// Wakes it where there is a reason to, and returns the reason.
  mutating func wake(at now: Instant, budget: Duration) -> WakeReason? {
    guard case .suspended(let process) = life, process.endReason == nil, let reason = wakeReason else { return nil }
    life = .background(process, AppLife.Stay(at: now, budget: budget))
    return reason
  }

  /// What time alone does to an app.
  enum Rest: Sendable, Hashable {
    case launchUnanswered
    /// It neither hears nor is heard.
    case unresponsive(because: String)
    case suspended(overran: Bool)
    /// It did not end its wakes in time, once too often.
    case overranForGood
  }

  /// What is due now, and done to this value; `nil`: nothing.
  /// - Parameter hasOpenWork: whether it waits for answers, or others wait for its.
  mutating func rest(at now: Instant, _ configuration: BluetoothSystem.Configuration, hasOpenWork: () -> Bool) -> Rest?
  {
    guard !isEnding else { return nil }
    switch life {
    case .notRunning, .suspended: return nil
    case .launching(let process):
      guard now >= launchedAt + configuration.launchBudget else { return nil }
      return process == nil ? .launchUnanswered : .unresponsive(because: "never attached")
    case .foreground(let process):
      // It never came back to a system that did, or was refused for good.
      guard case .lost(let since) = process.contact, now >= since + configuration.launchBudget else { return nil }
      return .unresponsive(because: "not attached")
    case .background(var process, let stay):
      let isBusy = isBusy(process, hasOpenWork)
      guard now >= restTime(stay, configuration, isBusy: isBusy) else { return nil }
      let overran = hasBackgroundMode && isBusy
      process.overruns = overran ? process.overruns + 1 : 0
      guard process.overruns < configuration.overrunsUntilKilled else {
        life = .background(process, stay)
        return .overranForGood
      }
      life = .suspended(process)
      return .suspended(overran: overran)
    }
  }

  /// Whether it was to restore its managers by now, and has not. That is said once.
  mutating func hasFailedToRestore(at now: Instant) -> Bool {
    guard let deadline = life.process?.restoreDeadline, deadline <= now else { return false }
    restored()
    return true
  }

  private func isBusy(_ process: AppProcess, _ hasOpenWork: () -> Bool) -> Bool {
    process.unhandledEvents > 0 || process.link == nil || !actions.isEmpty || hasOpenWork()
  }

  private func restTime(_ stay: AppLife.Stay, _ configuration: BluetoothSystem.Configuration, isBusy: Bool) -> Instant {
    // Whatever it says: talking is no reason to stay awake (F1).
    guard hasBackgroundMode else { return stay.since + configuration.leaveGrace }
    return isBusy ? stay.budgetEnds : min(stay.lastActivity + configuration.idleGrace, stay.budgetEnds)
  }

  /// When something about it is due.
  func deadline(after now: Instant, _ configuration: BluetoothSystem.Configuration, hasOpenWork: () -> Bool) -> Instant?
  {
    switch life {
    case .notRunning: return startReason != nil && backOff.notBefore > now ? backOff.notBefore : nil
    case _ where isEnding: return nil
    case .launching: return launchedAt + configuration.launchBudget
    case .foreground(let process):
      guard case .lost(let since) = process.contact else { return nil }
      return since + configuration.launchBudget
    case .background(let process, let stay):
      return restTime(stay, configuration, isBusy: isBusy(process, hasOpenWork))
    case .suspended: return nil
    }
  }
}
