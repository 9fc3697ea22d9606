import AppLink
import BluetoothTypes
import JournalEvents
import TimeTypes

/// Starts, wakes, suspends and ends apps: carries out what `App` decides.
extension BluetoothSystem {
  mutating func persistApp(_ name: String) {
    if let app = apps[name] { persist(.app(app.record)) }
  }

  func mayWork(_ key: ManagerKey) -> Bool { apps[key.app]?.mayWork(key) ?? false }

  mutating func reconcileApps() {
    let open = apps.takeOpen(at: now)
    for name in open {
      guard let app = apps[name] else { continue }
      if !app.actions.isEmpty { expireActions(name) }
      switch app.state {
      case .notRunning: startIfNeeded(name)
      case .suspended: wakeIfNeeded(name)
      case .launching, .foreground, .background: break
      }
      flush(name)
      restIfDone(name)
    }
    apps.lookedAt(open, at: now, configuration)
  }

  /// The next time at which something about an app is due.
  var appsDeadline: Instant? {
    var earliest = Earliest()
    earliest.consider(apps.alarm)
    for app in apps.awakeApps {
      earliest.consider(app.deadline(after: now, configuration))
      earliest.consider(app.actions.deadline)
    }
    return earliest.instant
  }

  /// latchkeyd has started; processes from its earlier run may still exist.
  mutating func adoptProcesses() {
    for name in appNames {
      guard let process = apps[name]?.process else { continue }
      apps[name]?.adopt(at: now, configuration)
      emit(.adopt(name, process))
      if apps[name]?.quitByUser == true {
        // The last latchkeyd died between storing the user's word and ending the process.
        end(name, because: "quit")
        continue
      }
      // The stored state may not have been carried out yet.
      let state = apps[name]?.state
      if state == .suspended { emit(.suspend(name, process)) } else { emit(.resume(name, process)) }
      if state == .background { wakeBegan(name, because: .adopted) }
    }
  }

  private mutating func startIfNeeded(_ name: String) {
    guard apps[name]?.launchReason(at: now) != nil, let reason = apps[name]?.beginLaunch(at: now) else { return }
    persistApp(name)
    if reason == .restore {
      let event = apps[name]?.queue.first { $0.body.relaunches }?.body.kind
      let action = apps[name]?.actions.isEmpty == false ? AppLink.Event.Kind.actionRequested : nil
      wakeBegan(name, because: (event ?? action).map { .event($0) } ?? .restore)
    }
    let (centrals, peripherals) = reason == .opened ? ([], []) : restorable(name)
    emit(.launch(name, LaunchOptions(reason: reason, centrals: centrals, peripherals: peripherals)))
  }

  private mutating func wakeIfNeeded(_ name: String) {
    guard let process = apps[name]?.process, apps[name]?.wakeReason(at: now) != nil,
      let reason = apps[name]?.wake(at: now, configuration)
    else { return }
    persistApp(name)
    emit(.resume(name, process))
    journal(.appResumed, [.app: name, .because: reason.rawValue])
    wakeBegan(name, because: reason)
  }

  private mutating func restIfDone(_ name: String) {
    guard var app = apps[name] else { return }
    guard let rest = app.rest(at: now, configuration) else { return }
    switch rest {
    case .launchUnanswered: appLaunchFailed(name, "The supervisor has not answered.")
    case .unresponsive(let reason):
      journal(.appUnresponsive, [.app: name])
      end(name, because: reason)
    case .suspended(let overran):
      settleAccount(of: &app, name, overran: overran)
      apps[name] = app
      persistApp(name)
      if let process = app.process { emit(.suspend(name, process)) }
      journal(.appSuspended, [.app: name])
      wakeEnded(name, overran ? "overran" : "suspended")
    case .overranForGood:
      settleAccount(of: &app, name, overran: true)
      apps[name] = app
      end(name, because: "overran its wake budget")
    }
  }

  private mutating func settleAccount(of app: inout App, _ name: String, overran: Bool) {
    if overran { journal(.appOverran, [.app: name, .times: String(app.life.process?.overruns ?? 0)]) }
    if app.hasFailedToRestore(at: now) { journal(.appDidNotRestore, [.app: name]) }
  }

  mutating func end(_ name: String, because reason: String) {
    guard let process = apps[name]?.process else { return }
    apps[name]?.willEnd(because: reason)
    emit(.kill(name, process))
  }

  /// Restore identifiers of the app's managers that have something to restore.
  func restorable(_ name: String) -> (centrals: [String], peripherals: [String]) {
    var centrals: [String] = []
    var peripherals: [String] = []
    for key in managers.keys where key.app == name {
      guard let identifier = key.restoreIdentifier, hasSomethingToRestore(key) else { continue }
      if key.role == .central { centrals.append(identifier) } else { peripherals.append(identifier) }
    }
    return (centrals, peripherals)
  }

  // MARK: Reports of the supervisor

  mutating func appLaunched(_ name: String, _ process: ProcessIdentity) {
    guard let reason = apps[name]?.launchReason else { return }
    apps[name]?.launched(process, at: now)
    persistApp(name)
    let (centrals, peripherals) = reason == .opened ? ([], []) : restorable(name)
    var fields: [JournalField: String] = [
      .app: name, .reason: reason.rawValue, .pid: String(process.processIdentifier),
      .centrals: centrals.joined(separator: ","), .peripherals: peripherals.joined(separator: ","),
    ]
    if reason == .restore { fields[.because] = apps[name]?.wakes.because?.rawValue }
    journal(.appLaunched, fields)
  }

  mutating func appLaunchFailed(_ name: String, _ message: String) {
    guard apps[name]?.launchFailed(at: now) == true else { return }
    persistApp(name)
    journal(.appLaunchFailed, [.app: name, .error: message])
    wakeEnded(name, "not launched")
  }

  mutating func appEnded(_ name: String, _ process: ProcessIdentity, how: String) {
    guard var app = apps[name], app.process == process else { return }
    let reason = app.ended(at: now)
    journal(.appEnded, [.app: name, .how: reason ?? how, .status: how])
    apps[name] = app
    wakeEnded(name, reason ?? how)
    persistApp(name)
    failRemoteRequests(ofApp: name)
    failActions(ofApp: name, onlyTold: true, "The app ended before it was done.")
    forgetOperations(ofApp: name)
    for key in managers.keys where key.app == name {
      if key.restoreIdentifier == nil { removeManager(key) } else { managers[key]?.rest() }
    }
    apps[name]?.stateless = []
    tellAgain(name)
    // What happened is kept for the next process. Answers to the old process's requests are not.
    apps[name]?.queue.removeAll { managers[$0.manager] == nil || !$0.body.outlivesProcess }
    // The next process is told of each peripheral once, and what is queued for it counts.
    for waiting in apps[name]?.queue ?? [] {
      guard case .discovered(let snapshot, let advertisement, _) = waiting.body else { continue }
      managers[waiting.manager]?.scan?.isReported(snapshot.identifier, advertisement)
    }
  }
}
