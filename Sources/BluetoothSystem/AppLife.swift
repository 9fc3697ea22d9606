import AppLink
import BluetoothTypes
import TimeTypes

/// Starting, waking, suspending and ending apps, after every event.
extension BluetoothSystem {
  mutating func reconcileApps() {
    for name in appNames {
      expireActions(name)
      startIfNeeded(name)
      wakeIfNeeded(name)
      flush(name)
      restIfDone(name)
    }
  }

  /// When something about this app is due.
  func deadline(of app: App) -> Instant? {
    switch app.state {
    case .notRunning: wantsStart(app) && app.notBefore > now ? app.notBefore : nil
    case .launching: app.endReason == nil ? app.launchedAt + configuration.launchBudget : nil
    case .background: app.endReason == nil ? restTime(of: app) : nil
    case .foreground: app.link == nil && app.endReason == nil ? app.linklessSince + configuration.launchBudget : nil
    case .suspended: nil
    }
  }

  private func startReason(_ app: App) -> LaunchReason? {
    if app.isOpenWanted { return .opened }
    guard !app.quitByUser else { return nil }
    if app.declaration.keepAlive { return .keepAlive }
    if !app.actions.isEmpty { return .restore }
    return app.queue.contains { $0.body.relaunches && app.mayWorkInBackground($0.manager.role) } ? .restore : nil
  }

  private func wantsStart(_ app: App) -> Bool { startReason(app) != nil }

  private mutating func startIfNeeded(_ name: String) {
    guard var app = apps[name], app.state == .notRunning, let reason = startReason(app), now >= app.notBefore else {
      return
    }
    app.state = .launching
    app.launchReason = reason
    app.isOpenWanted = false
    app.launchedAt = now
    app.launches &+= 1
    apps[name] = app
    persistApp(name)
    if reason == .restore {
      wakeBegan(
        name,
        because: app.queue.first { $0.body.relaunches }?.body.kind
          ?? (app.actions.isEmpty ? "restore" : UserAction.kind))
    }
    let (centrals, peripherals) = reason == .opened ? ([], []) : restorable(name)
    emit(.launch(name, LaunchOptions(reason: reason, centrals: centrals, peripherals: peripherals)))
  }

  private mutating func wakeIfNeeded(_ name: String) {
    guard var app = apps[name], app.state == .suspended, app.endReason == nil, let process = app.process,
      let reason = wakeReason(of: app)
    else { return }
    app.state = .background
    app.backgroundSince = now
    app.lastActivity = now
    app.wakeDeadline = now + configuration.wakeBudget
    apps[name] = app
    persistApp(name)
    emit(.resume(name, process))
    journal("app.resumed", ["app": name, "because": reason])
    wakeBegan(name, because: reason)
  }

  /// What a suspended app is woken for: the user's own wish, whatever its modes; events, where its modes let it.
  private func wakeReason(of app: App) -> String? {
    if app.actions.contains(where: { !$0.isTold }) { return UserAction.kind }
    return app.queue.first { app.mayWorkInBackground($0.manager.role) }?.body.kind
  }

  private func isBusy(_ app: App) -> Bool {
    app.handledSequence < app.lastSequence || app.link == nil || !app.actions.isEmpty
      || hasOpenWork(app.declaration.bundleIdentifier)
  }

  private func restTime(of app: App) -> Instant {
    // Whatever it says: talking is no reason to stay awake (F1).
    guard app.hasBackgroundMode else { return app.backgroundSince + configuration.leaveGrace }
    return isBusy(app) ? app.wakeDeadline : min(app.lastActivity + configuration.idleGrace, app.wakeDeadline)
  }

  private mutating func restIfDone(_ name: String) {
    guard var app = apps[name], app.endReason == nil else { return }
    guard let process = app.process else {
      if app.state == .launching, now >= app.launchedAt + configuration.launchBudget {
        appLaunchFailed(name, "The supervisor has not answered.")
      }
      return
    }
    if app.state == .launching, now >= app.launchedAt + configuration.launchBudget {
      journal("app.unresponsive", ["app": name])
      app.shortLives += 1
      apps[name] = app
      end(name, process, because: "never attached")
      return
    }
    if app.state == .foreground, app.link == nil, now >= app.linklessSince + configuration.launchBudget {
      // It never came back to a system that did, or was refused for good: it neither hears nor is heard.
      journal("app.unresponsive", ["app": name])
      end(name, process, because: "not attached")
      return
    }
    guard app.state == .background, now >= restTime(of: app) else { return }
    let overran = app.hasBackgroundMode && isBusy(app)
    app.overruns = overran ? app.overruns + 1 : 0
    if overran { journal("app.overran", ["app": name, "times": String(app.overruns)]) }
    if let deadline = app.restoreDeadline, deadline <= now {
      app.restoreDeadline = nil
      journal("app.didNotRestore", ["app": name])
    }
    if app.overruns >= configuration.overrunsUntilKilled {
      apps[name] = app
      end(name, process, because: "overran its wake budget")
      return
    }
    app.state = .suspended
    apps[name] = app
    persistApp(name)
    emit(.suspend(name, process))
    journal("app.suspended", ["app": name])
    wakeEnded(name, overran ? "overran" : "suspended")
  }

  /// Restore identifiers of this app's managers that have something to restore.
  func restorable(_ name: String) -> (centrals: [String], peripherals: [String]) {
    var centrals: [String] = []
    var peripherals: [String] = []
    for key in managers.keys.sorted() where key.app == name {
      guard let identifier = key.restoreIdentifier, managers[key]?.hasSomethingToRestore == true else { continue }
      if key.role == .central { centrals.append(identifier) } else { peripherals.append(identifier) }
    }
    return (centrals, peripherals)
  }

  // MARK: Attaching

  mutating func attach(
    _ link: AppLinkIdentifier, _ process: ProcessIdentity, _ attachment: Attachment, _ token: AnswerToken
  ) {
    if let error = refusal(link, process, attachment) {
      emit(.attachReply(token, .failure(error)))
      return
    }
    let name = attachment.bundleIdentifier
    guard var app = apps[name] else { return }
    if app.process == nil {
      // The user started it by hand, or the answer to our own launch is still under way.
      app.process = process
      if app.state == .notRunning {
        app.state = .foreground
        app.quitByUser = false
        app.launchedAt = now
        app.launches &+= 1
        emit(.adopt(name, process))
      }
    }
    if app.state == .launching {
      app.state = app.launchReason == .restore ? .background : .foreground
      app.backgroundSince = now
    }
    if app.launchReason == .restore { app.restoreDeadline = now + configuration.wakeBudget }
    app.link = link
    app.lastSequence = attachment.lastEvent?.rawValue ?? 0
    app.handledSequence = app.lastSequence
    app.lastActivity = now
    app.wakeDeadline = now + configuration.wakeBudget
    apps[name] = app
    persistApp(name)
    let (centrals, peripherals) = app.launchReason == .opened ? ([], []) : restorable(name)
    emit(
      .attachReply(
        token,
        .success(
          AttachReply(
            centralsToRestore: centrals, peripheralsToRestore: peripherals,
            backgroundModes: app.declaration.backgroundModes))))
  }

  /// Beyond it no process gets in its life, a million events a second.
  private static let sequenceLimit: UInt64 = 1 << 62

  private func refusal(_ link: AppLinkIdentifier, _ process: ProcessIdentity, _ attachment: Attachment) -> AppLinkError?
  {
    guard attachment.protocolVersion == Attachment.currentProtocolVersion else {
      return AppLinkError(
        .wrongVersion,
        "The app speaks version \(attachment.protocolVersion), the system \(Attachment.currentProtocolVersion); "
          + "install both from one release.")
    }
    let name = attachment.bundleIdentifier
    guard let app = apps[name] else {
      return AppLinkError(
        .unknownApp, "No Info.plist in the system's apps folder declares \"\(name)\"; put one there and restart it.")
    }
    guard attachment.lastEvent.map({ $0.rawValue <= Self.sequenceLimit }) ?? true else {
      return AppLinkError(
        .invalidArguments,
        "The last event that \"\(name)\" claims to have heard can't have been told; attach without it.")
    }
    if let running = app.process, running.processIdentifier != process.processIdentifier {
      return AppLinkError(
        .notThatApp,
        "\"\(name)\" already runs as process \(running.processIdentifier); quit that one before starting another.")
    }
    if let other = app.link, other != link {
      return AppLinkError(.alreadyAttached, "\"\(name)\" is attached already; a process attaches once.")
    }
    return nil
  }

  mutating func detach(_ link: AppLinkIdentifier) {
    guard let name = appName(of: link) else { return }
    apps[name]?.link = nil
    apps[name]?.linklessSince = now
    forgetOperations(ofApp: name)
    failActions(ofApp: name, onlyTold: true, "The app lost its connection to latchkeyd before it was done.")
    failRemoteRequests(ofApp: name)
    for key in managers.keys where key.app == name { managers[key]?.rest() }
  }

  func appName(of link: AppLinkIdentifier) -> String? { apps.first { $0.value.link == link }?.key }
}
