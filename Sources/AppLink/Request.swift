import BluetoothTypes
import FoundationEssentials

/// What an app sends to the system. `attach` comes first and is answered by `AttachReply`. The rest may come in any
/// order.
public enum Request: Sendable, Hashable {
  // Managers
  /// Answered by `.managerRejected`, or by `.stateChanged`, which follows a `.willRestoreCentral` or
  /// `.willRestorePeripheral` if there is something to restore.
  case createManager(ManagerIdentifier, ManagerCreation)
  /// The same manager after the system came back. Nothing is restored; the app gets what it missed, as events.
  case resumeManager(ManagerIdentifier, ManagerCreation, ManagerView)
  case destroyManager(ManagerIdentifier)

  // The roles; a request that does not fit the manager's role, or names an unknown manager, changes nothing
  case central(ManagerIdentifier, CentralRequest)
  case peripheral(ManagerIdentifier, PeripheralRequest)
  /// Answers a read (with its value) or a write.
  case respond(RemoteRequestIdentifier, result: ATTError?, value: [UInt8]?)

  // The user
  /// The user's action is over. `error` says in a line for a person why it could not be done.
  case completeAction(ActionIdentifier, error: String?)
  /// Shows the user a line for as long as it matters, or takes it back with `nil`. An app has one line.
  case showAlert(String?)

  /// The app's delegates have returned from every event up to this one, and the library is idle.
  case handled(through: EventSequence)
}

/// What a central manager asks for.
public enum CentralRequest: Sendable, Hashable {
  case scan(ScanRequest)
  case stopScan
  case connect(PeerIdentifier, ConnectOptions)
  case cancelConnection(PeerIdentifier)
  /// One operation on a connected peripheral. It ends in one `.operationCompleted`.
  case perform(PeerIdentifier, OperationIdentifier, PeripheralOperation)
}

/// What a peripheral manager asks for.
public enum PeripheralRequest: Sendable, Hashable {
  case addService(ServiceDefinition)
  case removeService(LocalAttributeIdentifier)
  case removeAllServices
  case startAdvertising(AdvertisementRequest)
  case stopAdvertising
  /// Pushes a value to subscribers, or to all of them if `centrals` is `nil`. The library waits when its credit is
  /// spent.
  case updateValue(LocalAttributeIdentifier, value: [UInt8], centrals: [PeerIdentifier]?)
}

/// A question that `CBCentralManager` answers to its caller at once.
public enum Query: Sendable, Hashable {
  case retrievePeripherals(ManagerIdentifier, [PeerIdentifier])
  case retrieveConnectedPeripherals(ManagerIdentifier, withServices: [BluetoothUUID])
}

public typealias QueryReply = [PeripheralSnapshot]

/// How an app introduces itself.
public struct Attachment: Sendable, Hashable {
  /// The version of this vocabulary. The system refuses any version but its own, with a clear error.
  public var protocolVersion: UInt32
  /// `CFBundleIdentifier` of its Info.plist. The system checks that the caller is that app.
  public var bundleIdentifier: String
  /// The last event that this process received, if it was attached before the system went away.
  public var lastEvent: EventSequence?
  public static let currentProtocolVersion: UInt32 = 1
  public init(
    protocolVersion: UInt32 = Attachment.currentProtocolVersion, bundleIdentifier: String,
    lastEvent: EventSequence? = nil
  ) {
    self.protocolVersion = protocolVersion
    self.bundleIdentifier = bundleIdentifier
    self.lastEvent = lastEvent
  }
}

/// What an app is told when it attaches.
public struct AttachReply: Sendable, Hashable {
  /// Restore identifiers of the managers for which the system relaunched the app.
  public var centralsToRestore: [String]
  public var peripheralsToRestore: [String]
  /// Background modes that its Info.plist declares, as the system read them.
  public var backgroundModes: [String]
  public init(centralsToRestore: [String] = [], peripheralsToRestore: [String] = [], backgroundModes: [String] = []) {
    self.centralsToRestore = centralsToRestore
    self.peripheralsToRestore = peripheralsToRestore
    self.backgroundModes = backgroundModes
  }
}

/// Why the system refuses an app or a request.
public struct AppLinkError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Code: String, Sendable, Hashable, Codable {
    case wrongVersion, unknownApp, notThatApp, notAttached, alreadyAttached, invalidArguments, limitReached,
      notFound, unavailable
  }
  public var code: Code
  /// What was wrong and what to do about it.
  public var message: String
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
  public var description: String { "\(code.rawValue): \(message)" }
}

public struct ManagerCreation: Sendable, Hashable, Codable {
  public var role: Role
  /// Opts in to preservation.
  public var restoreIdentifier: String?
  public init(role: Role, restoreIdentifier: String? = nil) {
    self.role = role
    self.restoreIdentifier = restoreIdentifier
  }
}

public struct ScanRequest: Sendable, Hashable, Codable {
  /// `nil`: every peripheral.
  public var services: [BluetoothUUID]?
  public var allowDuplicates: Bool
  public var solicitedServices: [BluetoothUUID]
  public init(services: [BluetoothUUID]?, allowDuplicates: Bool = false, solicitedServices: [BluetoothUUID] = []) {
    self.services = services
    self.allowDuplicates = allowDuplicates
    self.solicitedServices = solicitedServices
  }
}

public struct ConnectOptions: Sendable, Hashable, Codable {
  public var notifyOnConnection: Bool
  public var notifyOnDisconnection: Bool
  public var notifyOnNotification: Bool
  public var enableAutoReconnect: Bool
  /// Seconds to wait before the attempt starts.
  public var startDelaySeconds: Double
  public init(
    notifyOnConnection: Bool = false, notifyOnDisconnection: Bool = false, notifyOnNotification: Bool = false,
    enableAutoReconnect: Bool = false, startDelaySeconds: Double = 0
  ) {
    self.notifyOnConnection = notifyOnConnection
    self.notifyOnDisconnection = notifyOnDisconnection
    self.notifyOnNotification = notifyOnNotification
    self.enableAutoReconnect = enableAutoReconnect
    self.startDelaySeconds = startDelaySeconds
  }
}

/// An operation on a connected peripheral's attributes. Attributes are identified by their handles.
public enum PeripheralOperation: Sendable, Hashable, Codable {
  case discoverServices([BluetoothUUID]?)
  case discoverIncludedServices([BluetoothUUID]?, service: AttributeHandle)
  case discoverCharacteristics([BluetoothUUID]?, service: AttributeHandle)
  case discoverDescriptors(characteristic: AttributeHandle)
  case readCharacteristic(AttributeHandle)
  case writeCharacteristic(AttributeHandle, value: [UInt8], withResponse: Bool)
  case setNotify(Bool, characteristic: AttributeHandle)
  case readDescriptor(AttributeHandle)
  case writeDescriptor(AttributeHandle, value: [UInt8])
  case readRSSI
}

/// What a manager's delegate has been told so far. With it, a system that came back can tell the app what it missed,
/// and nothing twice.
public struct ManagerView: Sendable, Hashable, Codable {
  /// The state last told, or `nil` before the first.
  public var state: ManagerState?
  /// Every peripheral that the app has a connection to or a request for, as the app sees it.
  public var peripherals: [PeripheralSnapshot]
  /// The connection options of the requested ones.
  public var connectOptions: [PeerIdentifier: ConnectOptions]
  public var scan: ScanRequest?
  /// Discovered peripherals that a scan without duplicates has already reported.
  public var discovered: [PeerIdentifier]
  public var services: [ServiceDefinition]
  public var advertisement: AdvertisementRequest?
  /// Centrals that the app believes subscribed, by characteristic.
  public var subscriptions: [LocalAttributeIdentifier: [PeerIdentifier]]
  public init(
    state: ManagerState? = nil, peripherals: [PeripheralSnapshot] = [],
    connectOptions: [PeerIdentifier: ConnectOptions] = [:], scan: ScanRequest? = nil,
    discovered: [PeerIdentifier] = [], services: [ServiceDefinition] = [],
    advertisement: AdvertisementRequest? = nil,
    subscriptions: [LocalAttributeIdentifier: [PeerIdentifier]] = [:]
  ) {
    self.state = state
    self.peripherals = peripherals
    self.connectOptions = connectOptions
    self.scan = scan
    self.discovered = discovered
    self.services = services
    self.advertisement = advertisement
    self.subscriptions = subscriptions
  }
}
