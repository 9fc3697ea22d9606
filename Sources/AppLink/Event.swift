import BluetoothTypes
import FoundationEssentials

/// One thing an app is told, in order and once.
public struct Event: Sendable, Hashable {
  public var sequence: EventSequence
  /// The manager that is told; `nil` where the app itself is.
  public var manager: ManagerIdentifier?
  public var body: Body
  public init(sequence: EventSequence, manager: ManagerIdentifier?, body: Body) {
    self.sequence = sequence
    self.manager = manager
    self.body = body
  }

  /// What happened.
  public enum Body: Sendable, Hashable {
    // Managers
    case managerRejected(AppLinkError)
    case stateChanged(ManagerState)
    case willRestoreCentral(CentralRestoration)
    case willRestorePeripheral(PeripheralRestoration)

    // Central role
    case discovered(PeripheralSnapshot, AdvertisementData, rssi: Int8)
    case connected(PeripheralSnapshot)
    case failedToConnect(PeerIdentifier, PeerError)
    /// `error` is `nil` where the app asked for it. `unixSeconds` is when the link ended.
    case disconnected(PeerIdentifier, error: PeerError?, unixSeconds: Double, isReconnecting: Bool)
    case operationCompleted(PeerIdentifier, OperationIdentifier, OperationResult)
    /// A notification or an indication arrived.
    case valueUpdated(PeerIdentifier, characteristic: AttributeHandle, value: [UInt8])
    case nameChanged(PeerIdentifier, String?)
    /// These services are no longer as they were discovered.
    case servicesModified(PeerIdentifier, invalidated: [AttributeHandle])

    // Peripheral role
    case serviceAdded(LocalAttributeIdentifier, error: PeerError?)
    case advertisingStarted(error: PeerError?)
    case subscribed(CentralSnapshot, LocalAttributeIdentifier)
    case unsubscribed(CentralSnapshot, LocalAttributeIdentifier)
    case readRequested(RemoteRequestIdentifier, CentralSnapshot, LocalAttributeIdentifier, offset: Int)
    case writeRequested(
      RemoteRequestIdentifier, CentralSnapshot, LocalAttributeIdentifier, offset: Int, value: [UInt8],
      withResponse: Bool)
    /// The app did not answer in time; the system answered with an ATT error for it.
    case requestExpired(RemoteRequestIdentifier)
    /// This many more values may be pushed (`updateValue`); the first credit comes with `serviceAdded`.
    case updateCredit(Int)

    // The user; the app itself is told
    /// The user asks the app itself for something, by name; it ends in one `completeAction`.
    case actionRequested(ActionIdentifier, name: String)
  }
}

/// `CBManagerState`, with its raw values.
public enum ManagerState: UInt8, Sendable, Hashable, Codable {
  case unknown = 0
  case resetting, unsupported, unauthorized, poweredOff, poweredOn
}

/// How an operation on a peripheral ended.
public enum OperationResult: Sendable, Hashable {
  case failed(PeerError)
  case done
  /// Services of the peripheral as far as discovered now, all of them.
  case services([ServiceSnapshot])
  case includedServices(of: AttributeHandle, [ServiceSnapshot])
  case characteristics(of: AttributeHandle, [CharacteristicSnapshot])
  case descriptors(of: AttributeHandle, [DescriptorSnapshot])
  case value([UInt8])
  case notifying(Bool)
  /// In dBm.
  case rssi(Int8)
}

public struct CentralRestoration: Sendable, Hashable, Codable {
  public var peripherals: [PeripheralSnapshot]
  public var scan: ScanRequest?
  public init(peripherals: [PeripheralSnapshot], scan: ScanRequest? = nil) {
    self.peripherals = peripherals
    self.scan = scan
  }
}

public struct PeripheralRestoration: Sendable, Hashable, Codable {
  public var services: [ServiceDefinition]
  public var advertisement: AdvertisementRequest?
  public var subscriptions: [LocalAttributeIdentifier: [CentralSnapshot]]
  public init(
    services: [ServiceDefinition], advertisement: AdvertisementRequest?,
    subscriptions: [LocalAttributeIdentifier: [CentralSnapshot]] = [:]
  ) {
    self.services = services
    self.advertisement = advertisement
    self.subscriptions = subscriptions
  }
}
