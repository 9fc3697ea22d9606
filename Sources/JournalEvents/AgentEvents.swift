extension Recorded {
  /// The agent's events.
  package enum Agent: String, JournalEvent {
    case started = "agent.started"
    case willRestoreState
    case stateUpdated
    case didConnect
    case didDisconnect
    case discoveryStarted = "discovery.started"
    case servicesChanged = "services.changed"
    case subscribed
    case subscriptionAlive = "subscription.alive"
    case approachBegan = "approach.began"
    case offerAsked = "offer.asked"
    case offerReceived = "offer.received"
    case statusWritten = "status.written"
    case statusAnswered = "status.answered"
    case unlockWritten = "unlock.written"
    case unlockAnswered = "unlock.answered"
    case lockWritten = "lock.written"
    case lockAnswered = "lock.answered"
    case unlockAsked = "unlock.asked"
    /// The lock does not know this phone, or its guest's grant is over or revoked: the link ends, and the next one is asked for
    /// after a pause.
    case turnedAway = "turned.away"
    /// A device that offers the lock's service is not the lock that the keys are for, or did not say so in time.
    case otherLock = "lock.other"
    case questionAsked = "question.asked"
    case questionAnswered = "question.answered"
    case logTrouble = "log.trouble"
    case enrolled = "agent.enrolled"
    case wordGiven = "word.given"
    case wordAnswered = "word.answered"

    package static let processes = [Recorded.agent]

    /// A phone with several doors names the door in each, so that of its start alone has none.
    package var fields: Set<JournalField> { ownFields.union([.door]) }

    private var ownFields: Set<JournalField> {
      switch self {
      case .started: [.centralsToRestore]
      case .willRestoreState: [.peripherals, .states, .services]
      case .stateUpdated: [.state]
      case .didConnect, .discoveryStarted, .servicesChanged, .enrolled, .otherLock: [.peripheral]
      case .didDisconnect: [.peripheral, .error]
      case .subscribed, .subscriptionAlive, .offerAsked, .offerReceived, .wordGiven: []
      case .approachBegan: [.signal]
      case .statusWritten, .lockWritten: [.operation]
      case .unlockWritten: [.operation, .because]
      case .questionAsked: [.about]
      case .questionAnswered: [.about, .outcome]
      case .logTrouble: [.text]
      case .statusAnswered, .unlockAnswered, .lockAnswered: [.result, .lockState, .doorState, .operation, .record]
      case .unlockAsked: [.because]
      case .turnedAway: [.milliseconds]
      case .wordAnswered: [.outcome]
      }
    }
  }
}
