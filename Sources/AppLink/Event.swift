import BluetoothTypes
import FoundationEssentials

/// One thing that an app is told. Events are delivered in order, each once.
package struct Event: Sendable, Hashable {
  package var sequence: EventSequence
  /// The manager that is told, or `nil` for the app itself.
  package var manager: ManagerIdentifier?
  package var body: Body
  package init(sequence: EventSequence, manager: ManagerIdentifier?, body: Body) {
    self.sequence = sequence
    self.manager = manager
    self.body = body
  }

  /// What happened.
  package enum Body: Sendable, Hashable {
    // Managers
    case managerRejected(AppLinkError)
    case stateChanged(ManagerState)
    case willRestoreCentral(CentralRestoration)
    /// Some of the peripherals to restore. The last of them come with the `willRestoreCentral` that follows.
    case restoredPeripherals([PeripheralSnapshot])
    case willRestorePeripheral(PeripheralRestoration)

    // Central role
    case discovered(PeripheralSnapshot, AdvertisementData, rssi: Int8)
    case connected(PeripheralSnapshot)
    case failedToConnect(PeerIdentifier, PeerError)
    /// `error` is `nil` if the app asked for it. `unixSeconds` is when the link ended.
    case disconnected(PeerIdentifier, error: PeerError?, unixSeconds: Double, isReconnecting: Bool)
    case operationCompleted(PeerIdentifier, OperationIdentifier, OperationResult)
    /// A notification or an indication arrived.
    case valueUpdated(PeerIdentifier, characteristic: AttributeHandle, value: [UInt8])
    case nameChanged(PeerIdentifier, String?)
    /// A link's MTU in bytes, if it differs from what the app was told with the connection or the subscription. For
    /// both roles. It wakes no app.
    case mtuChanged(PeerIdentifier, mtu: UInt16)
    /// These services have changed since they were discovered.
    case servicesModified(PeerIdentifier, invalidated: [AttributeHandle])

    /// A peripheral of the app's `watchConnections` was connected to this machine, or no longer is.
    case connectionEvent(PeripheralSnapshot, isConnected: Bool)

    // Peripheral role
    case serviceAdded(LocalAttributeIdentifier, error: PeerError?)
    case advertisingStarted(error: PeerError?)
    case subscribed(CentralSnapshot, LocalAttributeIdentifier)
    case unsubscribed(CentralSnapshot, LocalAttributeIdentifier)
    case readRequested(RemoteRequestIdentifier, CentralSnapshot, LocalAttributeIdentifier, offset: Int)
    case writeRequested(
      RemoteRequestIdentifier, CentralSnapshot, LocalAttributeIdentifier, offset: Int, value: [UInt8],
      withResponse: Bool)
    /// The app did not answer in time. The system has answered with an ATT error in its place.
    case requestExpired(RemoteRequestIdentifier)
    /// This many more values may be pushed (`updateValue`). The first credit comes with `serviceAdded`.
    case updateCredit(Int)
    /// An L2CAP channel's PSM; 0 if it could not be published.
    case channelPublished(psm: UInt16, error: PeerError?)
    case channelUnpublished(psm: UInt16, error: PeerError?)
    /// A central has opened a channel.
    case channelOpened(CentralSnapshot, psm: UInt16, ChannelDescriptor, mtu: UInt16)

    // The user; these events are for the app itself
    /// The user asks the app for an action, by name. The app ends it with one `completeAction`.
    case actionRequested(ActionIdentifier, name: String)
    /// The user asks the app something, by name. The app ends it with one `answerQuestion`, or with a `completeAction` that
    /// says why there is no answer. The argument may be secret: nothing but the app reads it.
    case questionAsked(ActionIdentifier, name: String, argument: String)
    /// Who asked for this has given it up or is gone, or has waited for almost as long as they wait. The app begins nothing more for
    /// it, and ends it soon: with what it was asked for if that is done, or with what became of it.
    case actionWithdrawn(ActionIdentifier)
  }
}

/// `CBManagerState`, with its raw values.
package enum ManagerState: UInt8, Sendable, Hashable, Codable, CaseIterable {
  case unknown = 0
  case resetting, unsupported, unauthorized, poweredOff, poweredOn
}

/// How an operation on a peripheral ended.
package enum OperationResult: Sendable, Hashable {
  case failed(PeerError)
  case done
  /// All services of the peripheral that have been discovered so far.
  case services([ServiceSnapshot])
  case includedServices(of: AttributeHandle, [ServiceSnapshot])
  case characteristics(of: AttributeHandle, [CharacteristicSnapshot])
  case descriptors(of: AttributeHandle, [DescriptorSnapshot])
  case value([UInt8])
  case notifying(Bool)
  /// In dBm.
  case rssi(Int8)
  /// An L2CAP channel: its socket, and the longest packet that may be sent, in bytes.
  case channel(ChannelDescriptor, mtu: UInt16)
}

/// What a central manager of a relaunched app gets back: its peripherals, and its scan if it had one.
package struct CentralRestoration: Sendable, Hashable, Codable {
  package var peripherals: [PeripheralSnapshot]
  package var scan: ScanRequest?
  package init(peripherals: [PeripheralSnapshot], scan: ScanRequest? = nil) {
    self.peripherals = peripherals
    self.scan = scan
  }
}

/// What a peripheral manager of a relaunched app gets back: its services, its advertisement if it had one, and the
/// subscribed centrals of each characteristic.
package struct PeripheralRestoration: Sendable, Hashable, Codable {
  package var services: [ServiceDefinition]
  package var advertisement: AdvertisementRequest?
  package var subscriptions: [LocalAttributeIdentifier: [CentralSnapshot]]
  package init(
    services: [ServiceDefinition], advertisement: AdvertisementRequest?,
    subscriptions: [LocalAttributeIdentifier: [CentralSnapshot]] = [:]
  ) {
    self.services = services
    self.advertisement = advertisement
    self.subscriptions = subscriptions
  }
}
