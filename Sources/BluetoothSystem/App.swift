import AppLink
import BlueZ
import BluetoothTypes
import Timekeeping

/// One app: its process, its place in the life of apps, and what waits to be told to it.
struct App: Sendable {
  let declaration: AppDeclaration
  var state = AppState.notRunning
  var process: ProcessIdentity?
  var quitByUser = false
  var launches = 0

  var link: AppLinkIdentifier?
  var launchReason = LaunchReason.opened
  /// The user opened it while it could not be started at once.
  var isOpenWanted = false
  /// Why the system ends it; `nil` where it ends by itself.
  var endReason: String?

  var queue: [Waiting] = []
  var lastSequence: UInt64 = 0
  var handledSequence: UInt64 = 0
  /// Operations and remote requests that the app is in the middle of.
  var lastActivity = Instant.zero
  var wakeDeadline = Instant.zero
  var overruns = 0
  /// The app is alone with its background: without a mode for it, it is suspended whatever it does.
  var launchedAt = Instant.zero
  /// Since when it is in the background, and since when a process of it has no link.
  var backgroundSince = Instant.zero
  var linklessSince = Instant.zero
  /// From how many waiting events on the queue is looked through again.
  var tidyAt = 0
  /// Events that were lost, and requests that were refused, for the journal.
  var lostEvents = 0
  var refusedRequests = 0
  var shortLives = 0
  var notBefore = Instant.zero
  var restoreDeadline: Instant?
  /// It is awake for Bluetooth, and was before.
  var wake: OpenWake?
  var wakes: [WakeRecord] = []
  /// What the user asked of it and has no answer yet, the oldest first.
  var actions: [UserAction] = []
  /// What it has to say to the user now.
  var alert: String?

  /// An event for a manager that may not exist yet in the app's process; the manager's number is filled in when sent.
  struct Waiting: Sendable {
    var manager: ManagerKey
    var body: AppLink.Event.Body
  }

  init(_ declaration: AppDeclaration) { self.declaration = declaration }

  mutating func load(_ record: AppRecord) {
    state = record.process == nil ? .notRunning : record.state
    if state == .launching { state = .background }
    process = record.process
    quitByUser = record.quitByUser
    launches = record.launches
  }

  var record: AppRecord {
    AppRecord(
      bundleIdentifier: declaration.bundleIdentifier, state: state, process: process, quitByUser: quitByUser,
      launches: launches)
  }

  func mayWorkInBackground(_ role: Role) -> Bool { declaration.backgroundModes.contains(role.backgroundMode) }
  var hasBackgroundMode: Bool { mayWorkInBackground(.central) || mayWorkInBackground(.peripheral) }
  /// Awake and attached: events go to it at once.
  var isReceiving: Bool { link != nil && (state == .foreground || state == .background) }
  /// Events that it has been given and not dealt with.
  var unhandledEvents: UInt64 { lastSequence > handledSequence ? lastSequence - handledSequence : 0 }
}

extension BluetoothSystem {
  var appNames: [String] { apps.keys.sorted() }

  mutating func persistApp(_ name: String) {
    if let app = apps[name] { persist(.app(app.record)) }
  }

  /// Whether a manager's app may work now: it runs in the foreground, or its modes let it work in the background. A
  /// preserved manager works on while its app is not running.
  func mayWork(_ key: ManagerKey) -> Bool {
    guard let app = apps[key.app], !app.quitByUser || app.process != nil else { return false }
    switch app.state {
    case .foreground, .launching: return true
    case .background: return app.mayWorkInBackground(key.role)
    case .suspended: return app.mayWorkInBackground(key.role)
    case .notRunning: return key.restoreIdentifier != nil && app.mayWorkInBackground(key.role)
    }
  }

  // MARK: What the supervisor tells

  mutating func appLaunched(_ name: String, _ process: ProcessIdentity) {
    guard var app = apps[name] else { return }
    app.process = process
    if app.state == .notRunning { app.state = .launching }
    app.linklessSince = now
    apps[name] = app
    persistApp(name)
    let (centrals, peripherals) = restorable(name)
    journal(
      "app.launched",
      [
        "app": name, "reason": app.launchReason.rawValue, "pid": String(process.processIdentifier),
        "centrals": app.launchReason == .opened ? "" : centrals.joined(separator: ","),
        "peripherals": app.launchReason == .opened ? "" : peripherals.joined(separator: ","),
      ])
  }

  mutating func appLaunchFailed(_ name: String, _ message: String) {
    guard var app = apps[name], app.state == .launching else { return }
    app.state = .notRunning
    app.process = nil
    backOff(&app)
    apps[name] = app
    persistApp(name)
    journal("app.launchFailed", ["app": name, "error": message])
    wakeEnded(name, "not launched")
  }

  mutating func appEnded(_ name: String, _ process: ProcessIdentity, how: String) {
    guard var app = apps[name], app.process == process else { return }
    if app.endReason == nil { backOff(&app) } else { app.shortLives = 0 }
    journal("app.ended", ["app": name, "how": app.endReason ?? how, "status": how])
    wakeEnded(name, app.endReason ?? how)
    (app.wake, app.wakes) = (nil, apps[name]?.wakes ?? [])
    app.process = nil
    app.link = nil
    app.state = .notRunning
    app.endReason = nil
    app.restoreDeadline = nil
    app.lastSequence = 0
    app.handledSequence = 0
    app.overruns = 0
    apps[name] = app
    persistApp(name)
    failRemoteRequests(ofApp: name)
    failActions(ofApp: name, onlyTold: true, "The app ended before it was done.")
    forgetOperations(ofApp: name)
    for key in managers.keys.sorted() where key.app == name {
      if key.restoreIdentifier == nil { removeManager(key) } else { managers[key]?.rest() }
    }
    // What happened is kept for the next process; answers to the old one's questions are not.
    apps[name]?.queue.removeAll { managers[$0.manager] == nil || !$0.body.outlivesProcess }
  }

  /// An app that keeps ending early is started ever more rarely: at once, then after 1, 2, 4 … 64 s.
  private func backOff(_ app: inout App) {
    app.shortLives = now - app.launchedAt < .seconds(10) ? min(app.shortLives + 1, 8) : 0
    app.notBefore = app.shortLives < 2 ? now : now + BackOff.standard.wait(afterFailures: app.shortLives - 1)
  }

  // MARK: What the user says

  mutating func control(_ request: ControlRequest, _ token: AnswerToken) {
    switch request {
    case .status: break
    case .setBluetooth(let on): setBluetooth(on)
    case .attendPairings: return attendPairings(token)
    case .answerPairing(let answer): answerPairing(answer)
    case .pair(let device): return pair(device, token)
    case .performAction(let name, let action):
      guard isKnown(name, token) else { return }
      return performAction(action, app: name, token)
    case .openApp(let name), .leaveApp(let name), .quitApp(let name), .reclaimApp(let name):
      guard isKnown(name, token) else { return }
      control(request, app: name)
    }
    emit(.controlReply(token, .success(status)))
  }

  /// Refuses the request where there is no such app.
  private mutating func isKnown(_ name: String, _ token: AnswerToken) -> Bool {
    if apps[name] != nil { return true }
    let known = appNames.isEmpty ? "none" : appNames.joined(separator: ", ")
    emit(
      .controlReply(
        token, .failure(AppLinkError(.unknownApp, "There is no app \"\(name)\" here; there are: \(known)."))))
    return false
  }

  private mutating func control(_ request: ControlRequest, app name: String) {
    switch request {
    case .openApp: open(name)
    case .leaveApp:
      guard var app = apps[name], app.state == .foreground else { return }
      app.state = .background
      app.backgroundSince = now
      app.lastActivity = now
      app.wakeDeadline = now + configuration.wakeBudget
      apps[name] = app
      persistApp(name)
    case .quitApp: quit(name)
    case .reclaimApp: if let process = apps[name]?.process { end(name, process, because: "reclaimed") }
    case .performAction, .setBluetooth, .status, .attendPairings, .answerPairing, .pair: break
    }
  }

  private mutating func open(_ name: String) {
    guard var app = apps[name] else { return }
    app.quitByUser = false
    app.notBefore = now
    wakeEnded(name, "opened")
    (app.wake, app.wakes) = (nil, apps[name]?.wakes ?? [])
    switch app.state {
    case .notRunning: app.isOpenWanted = true
    case .launching: app.launchReason = .opened
    case .suspended, .background, .foreground:
      if app.endReason != nil {
        app.isOpenWanted = true
      } else {
        let wasSuspended = app.state == .suspended
        app.state = .foreground
        if app.link == nil { app.linklessSince = now }
        app.overruns = 0
        if wasSuspended, let process = app.process {
          emit(.resume(name, process))
          journal("app.resumed", ["app": name, "because": "opened"])
        }
      }
    }
    apps[name] = app
    persistApp(name)
  }

  private mutating func quit(_ name: String) {
    apps[name]?.quitByUser = true
    apps[name]?.isOpenWanted = false
    apps[name]?.queue.removeAll()
    apps[name]?.alert = nil
    failActions(ofApp: name, onlyTold: false, "The app was quit.")
    persistApp(name)
    if let process = apps[name]?.process { end(name, process, because: "quit") }
    for key in managers.keys.sorted() where key.app == name { removeManager(key) }
  }

  mutating func end(_ name: String, _ process: ProcessIdentity, because reason: String) {
    apps[name]?.endReason = reason
    emit(.kill(name, process))
  }

  /// The switch in Settings: apps that are not running then lose what they were preserved for.
  private mutating func setBluetooth(_ on: Bool) {
    settings.bluetoothOn = on
    persist(.settings(settings))
    if let adapter = bluez.adapter {
      call(
        adapter, .setProperty(interface: InterfaceName.adapter, name: "Powered", value: .bool(on)), for: .ignored)
    }
    guard !on else { return }
    for key in managers.keys.sorted() {
      guard let app = apps[key.app], app.process == nil, app.state == .notRunning, !app.declaration.keepAlive else {
        continue
      }
      removeManager(key)
      apps[key.app]?.queue.removeAll { $0.manager == key }
    }
  }

  var status: SystemStatus {
    SystemStatus(
      bluetooth: bluez.state,
      apps: appNames.compactMap { name in
        guard let app = apps[name] else { return nil }
        let peripherals = managers.values.filter { $0.key.app == name }.flatMap { $0.peripherals.values }
        return AppStatus(
          bundleIdentifier: name, state: app.state, processIdentifier: app.process?.processIdentifier,
          quitByUser: app.quitByUser,
          pendingConnections: peripherals.count { $0.isWanted && $0.told != .connected },
          connections: peripherals.count { $0.isWanted && $0.told == .connected }, launches: app.launches,
          alert: app.alert)
      }, pairings: pairing.openQuestions, wakes: ledger)
  }
}
