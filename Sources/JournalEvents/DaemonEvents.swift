extension Recorded {
  /// latchkeyd's events.
  package enum Daemon: String, JournalEvent {
    case started = "daemon.started"
    case stopped = "daemon.stopped"
    case storeFailed = "store.failed"
    case storeRecovered = "store.recovered"
    case deadlineOverdue = "deadline.overdue"
    case machineResumed = "machine.resumed"

    // The lives of apps.
    case appLaunched = "app.launched"
    case appLaunchFailed = "app.launchFailed"
    case appResumed = "app.resumed"
    case appSuspended = "app.suspended"
    case appUnresponsive = "app.unresponsive"
    case appOverran = "app.overran"
    case appDidNotRestore = "app.didNotRestore"
    case appEnded = "app.ended"
    case wakeEnded = "wake.ended"
    case eventDropped = "event.dropped"
    case actionRequested = "action.requested"
    case actionCompleted = "action.completed"
    case actionExpired = "action.expired"
    case userAlert = "user.alert"
    case userReport = "user.report"
    case appAuthorization = "app.authorization"
    case managerCreated = "manager.created"

    // Apps' requests.
    case requestHeld = "request.held"
    case requestCompleted = "request.completed"
    case requestExpired = "request.expired"
    case requestAbandoned = "request.abandoned"
    case requestMisplaced = "request.misplaced"
    case subscriptionFailed = "subscription.failed"
    case valueRefused = "value.refused"
    case serviceRefused = "service.refused"
    case advertisementRefused = "advertisement.refused"
    case databaseMarked = "database.marked"
    case databaseMarkRefused = "database.markRefused"

    // bluetoothd and its adapters.
    case bluetoothState = "bluetooth.state"
    case bluetoothCrowded = "bluetooth.crowded"
    case adapterMissing = "adapter.missing"
    case profileRegistered = "profile.registered"
    case profileRefused = "profile.refused"
    case connectFailed = "connect.failed"
    case connectCancelled = "connect.cancelled"
    case discoveryRefused = "discovery.refused"
    case discoveryFilterRefused = "discovery.filterRefused"

    // Links, and the state behind them.
    case linkBarren = "link.barren"
    case linksBrief = "links.brief"
    case linkPhantom = "link.phantom"
    case linkStuck = "link.stuck"
    case linkUnheard = "link.unheard"
    case linkUnresolved = "link.unresolved"
    case operationUnanswered = "operation.unanswered"
    case operationsRefused = "operations.refused"
    case servicesMissing = "services.missing"
    case servicesGone = "services.gone"
    case servicesBack = "services.back"
    case subscriptionsUnrenewed = "subscriptions.unrenewed"

    // Pairing.
    case agentRegistered = "agent.registered"
    case agentRefused = "agent.refused"
    case pairingAsks = "pairing.asks"
    case pairingAnswered = "pairing.answered"
    case pairingRefused = "pairing.refused"
    case linkUnproven = "link.unproven"
    case pairingGone = "pairing.gone"
    case bondHalfMade = "bond.halfMade"
    case bondLost = "bond.lost"

    package static let processes = [Recorded.daemon]

    package var fields: Set<JournalField> {
      switch self {
      case .started: [.state]
      case .stopped, .storeRecovered, .machineResumed: []
      case .storeFailed: [.reason]
      case .deadlineOverdue: [.deadline]
      case .appLaunched: [.app, .reason, .because, .pid, .centrals, .peripherals]
      case .appResumed: [.app, .because]
      case .appSuspended, .appUnresponsive, .appDidNotRestore: [.app]
      case .appOverran: [.app, .times]
      case .appEnded: [.app, .how, .status]
      case .wakeEnded: [.app, .because, .milliseconds, .told, .said, .outcome]
      case .eventDropped: [.app, .kind, .times]
      case .actionRequested, .actionExpired: [.app, .action]
      case .actionCompleted: [.app, .action, .succeeded]
      case .appAuthorization: [.app, .state]
      case .userAlert: [.app, .text, .peripheral, .about]
      case .userReport: [.app, .about, .text, .untold]
      case .managerCreated: [.app, .role, .restoreIdentifier]
      case .requestHeld: [.app, .peripheral, .milliseconds]
      case .requestCompleted: [.app, .peripheral]
      case .requestExpired, .requestAbandoned: [.app]
      case .requestMisplaced: [.app, .reason, .times]
      case .subscriptionFailed, .connectFailed: [.peripheral, .error]
      case .valueRefused: [.peripheral, .bytes]
      case .appLaunchFailed, .serviceRefused, .advertisementRefused: [.app, .error]
      case .subscriptionsUnrenewed: [.central]
      case .databaseMarked: [.central, .mark]
      case .databaseMarkRefused, .profileRefused, .discoveryRefused, .discoveryFilterRefused, .agentRefused: [.error]
      case .bluetoothState: [.state, .because]
      case .bluetoothCrowded: [.devices, .refused]
      case .adapterMissing: [.wanted, .present]
      case .profileRegistered: [.peripherals]
      case .connectCancelled: [.peripheral, .because]
      case .linkBarren, .linksBrief, .pairingGone: [.peripheral, .advice]
      case .linkPhantom, .linkUnresolved, .operationUnanswered: [.peripheral]
      case .linkStuck: [.peripheral, .times]
      case .operationsRefused: [.app, .times, .advice]
      case .linkUnheard: [.peripheral, .connected]
      case .servicesMissing: [.peripheral, .services, .attempt]
      case .servicesGone: [.peripheral, .services, .advice]
      case .servicesBack: [.peripheral, .attempts]
      case .agentRegistered: [.capability]
      case .pairingAsks: [.address, .kind]
      case .pairingAnswered: [.address, .answer]
      case .pairingRefused: [.address, .untold]
      case .linkUnproven: [.peripheral, .untold]
      case .bondHalfMade, .bondLost: [.peripheral, .links, .because]
      }
    }
  }
}
