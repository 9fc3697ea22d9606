import Journal

/// Names that the checkers read: who records what. A test compares them with what the processes do record.
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

  /// What the agent records.
  enum Agent: String, CaseIterable {
    case started = "agent.started"
    case willRestoreState
    case stateUpdated
    case didConnect
    case didDisconnect
    case discoveryStarted = "discovery.started"
    case servicesChanged = "services.changed"
    case subscribed
    case subscriptionAlive = "subscription.alive"
    case offerAsked = "offer.asked"
    case offerReceived = "offer.received"
    case statusWritten = "status.written"
    case statusAnswered = "status.answered"
    case unlockWritten = "unlock.written"
    case unlockAnswered = "unlock.answered"
    case unlockAsked = "unlock.asked"
  }

  /// What the lock records.
  enum Lock: String, CaseIterable {
    case started = "lock.started"
    case willRestoreState
    case offerSent = "offer.sent"
    case commandAccepted = "command.accepted"
    case commandRefused = "command.refused"
    case boltMoved = "bolt.moved"
  }

  /// What latchkeyd records.
  enum Daemon: String, CaseIterable {
    case started = "daemon.started"
    case bluetoothState = "bluetooth.state"
    case appLaunched = "app.launched"
    case appResumed = "app.resumed"
    case appSuspended = "app.suspended"
    case appEnded = "app.ended"
    case requestCompleted = "request.completed"
    case requestExpired = "request.expired"
    case requestAbandoned = "request.abandoned"
  }

  /// What the radio's witnesses record.
  enum Link: String, CaseIterable {
    case up = "link.up"
    case down = "link.down"
  }
}

extension JournalEntry {
  func isMark(_ event: String) -> Bool { process == Marks.process && self.event == event }
  func isAgent(_ event: Recorded.Agent) -> Bool { process == Recorded.agent && self.event == event.rawValue }
  func isLock(_ event: Recorded.Lock) -> Bool { process == Recorded.lock && self.event == event.rawValue }
  func isDaemon(_ event: Recorded.Daemon) -> Bool { process == Recorded.daemon && self.event == event.rawValue }
  func isLink(_ event: Recorded.Link) -> Bool { Recorded.radios.contains(process) && self.event == event.rawValue }

  /// Whether a daemon's or the orchestrator's line is about this app.
  func concerns(_ app: String) -> Bool { fields["app"] == app }

  /// The user opens the app, or says something to it, for which its system starts it.
  var isUsersCall: Bool { isMark(Marks.appOpened) || isMark(Marks.userUnlocked) }

  /// Whether a line about a link is about one of this machine's. The simulator and the air name both ends; a bluetoothd
  /// tells of its own machine's links.
  func isLink(of machine: String) -> Bool {
    let ends = [fields["central"], fields["peripheral"]].compactMap { $0 }
    if !ends.isEmpty { return ends.contains(machine) }
    return process != Recorded.bluetoothd || self.machine == machine
  }

  /// The bolt was moved to its open end.
  var isOpening: Bool { isLock(.boltMoved) && fields["to"] == "unlocked" }
  var isOpeningByPhone: Bool { isOpening && fields["cause"] == "phone" }
  var isByHand: Bool { fields["cause"] == "hand" }
}
