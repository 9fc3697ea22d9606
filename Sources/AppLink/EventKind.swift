extension Event {
  /// An event's name in the journal and among the reasons of wakes.
  package enum Kind: String, Sendable, Hashable, CaseIterable {
    case managerRejected, stateChanged, willRestoreState
    case discovered, connected, failedToConnect, disconnected, operationCompleted, valueUpdated, nameChanged
    case servicesModified, connectionEvent, mtuChanged
    case serviceAdded, advertisingStarted, subscribed, unsubscribed, readRequested, writeRequested, requestExpired
    case updateCredit
    case channelPublished, channelUnpublished, channelOpened
    case actionRequested = "action"

    /// Those of which a delegate is told. The sizes of links are looked up; of room for values a delegate is told only if it
    /// waits; and a user's command is for `UserActions`.
    package static let toldToDelegates = Set(allCases).subtracting([.mtuChanged, .updateCredit, .actionRequested])
  }
}

extension Event.Body {
  package var kind: Event.Kind {
    switch self {
    case .managerRejected: .managerRejected
    case .stateChanged: .stateChanged
    case .willRestoreCentral, .restoredPeripherals, .willRestorePeripheral: .willRestoreState
    case .discovered: .discovered
    case .connected: .connected
    case .failedToConnect: .failedToConnect
    case .disconnected: .disconnected
    case .operationCompleted: .operationCompleted
    case .valueUpdated: .valueUpdated
    case .nameChanged: .nameChanged
    case .servicesModified: .servicesModified
    case .mtuChanged: .mtuChanged
    case .connectionEvent: .connectionEvent
    case .serviceAdded: .serviceAdded
    case .advertisingStarted: .advertisingStarted
    case .subscribed: .subscribed
    case .unsubscribed: .unsubscribed
    case .readRequested: .readRequested
    case .writeRequested: .writeRequested
    case .requestExpired: .requestExpired
    case .actionRequested, .questionAsked, .actionWithdrawn: .actionRequested
    case .updateCredit: .updateCredit
    case .channelPublished: .channelPublished
    case .channelUnpublished: .channelUnpublished
    case .channelOpened: .channelOpened
    }
  }
}
